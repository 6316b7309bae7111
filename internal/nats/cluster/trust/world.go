package trust

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/nats-io/jwt/v2"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-dev/holdfast/api/nats/cluster/v1beta1"
	natsv1beta1 "github.com/holdfast-dev/holdfast/api/nats/nats/v1beta1"
	"github.com/holdfast-dev/holdfast/internal/kit/fact"
	"github.com/holdfast-dev/holdfast/internal/nats/cluster/facts"
	"github.com/holdfast-dev/holdfast/internal/nats/cluster/render"
	"github.com/holdfast-dev/holdfast/internal/nats/grants"
)

// World is what the decision rests on.
type World struct {
	// Name is the NatsOperatorTrust's, with its namespace.
	Name string
	// Refusal says that no grant admits the reference; known and empty where one does.
	Refusal fact.Fact[string]
	// Trust is the object; known and nil when there is none of that name.
	Trust fact.Fact[*natsv1beta1.NatsOperatorTrust]
	// Operator and SystemAccount are the JWTs that it holds, as far as they can be decoded.
	Operator      Claims[jwt.OperatorClaims]
	SystemAccount Claims[jwt.AccountClaims]
	// Version is the nats-server version of the spec.
	Version string
	// Running are the system accounts that the servers were last given, by server.
	Running map[string]string
}

// Claims are a decoded JWT whose signature is that of its issuer.
type Claims[T any] struct {
	// Token is the JWT, empty when there is none.
	Token string
	// Claims is what it says; nil where Problem says why it cannot be read.
	Claims  *T
	Problem string
}

// Read reads the world of a NatsCluster with spec.auth.
func Read(ctx context.Context, reader client.Reader, cluster *v1beta1.NatsCluster, servers fact.Fact[facts.Servers]) World {
	ref := cluster.Spec.Auth.TrustRef
	key := client.ObjectKey{Namespace: ref.NamespaceFrom(cluster.Namespace), Name: ref.Name}
	w := World{
		Name: key.String(), Version: cluster.Spec.Version, Running: running(servers),
	}
	from := grants.Referrer{Group: v1beta1.GroupVersion.Group, Kind: v1beta1.KindNatsCluster, Namespace: cluster.Namespace}
	to := grants.Referent{Group: natsv1beta1.GroupVersion.Group, Kind: natsv1beta1.KindNatsOperatorTrust, Namespace: key.Namespace, Name: key.Name}
	admitted, err := grants.Admitted(ctx, reader, from, to)
	switch {
	case err != nil:
		w.Refusal = fact.Unknown[string](err.Error())
		return w // what is not admitted is not read
	case !admitted:
		w.Refusal = fact.Known(grants.Refusal(from, to))
		return w
	}
	w.Refusal = fact.Known("")
	var trust natsv1beta1.NatsOperatorTrust
	err = reader.Get(ctx, key, &trust)
	switch {
	case apierrors.IsNotFound(err):
		w.Trust = fact.Known[*natsv1beta1.NatsOperatorTrust](nil)
		return w
	case err != nil:
		w.Trust = fact.Unknown[*natsv1beta1.NatsOperatorTrust](fmt.Sprintf("the API server did not give it: %v", err))
		return w
	}
	w.Trust = fact.Known(&trust)
	w.decode(&trust)
	return w
}

// decode reads the JWTs: the literal ones, or those that the NATS operator's controller has written.
func (w *World) decode(trust *natsv1beta1.NatsOperatorTrust) {
	w.Operator.Token, w.SystemAccount.Token = trust.Spec.OperatorJWT, trust.Spec.SystemAccountJWT
	if trust.Spec.OperatorRef.Name != "" {
		w.Operator.Token, w.SystemAccount.Token = trust.Status.OperatorJWT, trust.Status.SystemAccountJWT
	}
	w.Operator.read(jwt.DecodeOperatorClaims)
	w.SystemAccount.read(jwt.DecodeAccountClaims)
}

func (c *Claims[T]) read(decode func(string) (*T, error)) {
	if c.Token == "" {
		return
	}
	claims, err := decode(c.Token)
	if err != nil {
		c.Problem = err.Error()
		return
	}
	c.Claims = claims
}

// running reads the system accounts from the configurations that the servers have.
func running(servers fact.Fact[facts.Servers]) map[string]string {
	found := map[string]string{}
	known, _ := servers.Get()
	for _, server := range known.Existing() {
		if server.ConfigMap == nil {
			continue
		}
		var config struct {
			SystemAccount string `json:"system_account"`
		}
		if json.Unmarshal([]byte(server.ConfigMap.Data[render.ConfigKey]), &config) == nil && config.SystemAccount != "" {
			found[server.Name] = config.SystemAccount
		}
	}
	return found
}
