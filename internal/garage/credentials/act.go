package credentials

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-dev/holdfast/api/garage/v1beta2"
	"github.com/holdfast-dev/holdfast/internal/garage/render"
	"github.com/holdfast-dev/holdfast/internal/kit/apply"
	"github.com/holdfast-dev/holdfast/internal/kit/fact"
)

// maxSteps bounds the writes of one pass: there are three Secrets at most.
const maxSteps = 4

// Keep brings the Secrets of a GarageCluster into being and returns the plan that has nothing left to do, or what it waits
// for. A Secret of a name that is needed and that somebody else controls gives an *apply.ForeignError. Any other error
// is the API server's.
func Keep(ctx context.Context, applier *apply.Applier, cluster *v1beta2.GarageCluster, nodesMayRun bool) (Plan, error) {
	for range maxSteps {
		plan := Decide(observe(ctx, applier.Reader, cluster, nodesMayRun))
		if len(plan.Foreign) > 0 {
			return plan, foreign(cluster, plan.Foreign)
		}
		if plan.Action == nil {
			return plan, nil
		}
		if err := create(ctx, applier, cluster, *plan.Action); err != nil {
			return plan, err
		}
	}
	return Plan{}, fmt.Errorf("the Secrets of %s are not at rest after %d writes: is somebody else deleting them?", cluster.Name, maxSteps)
}

func foreign(cluster *v1beta2.GarageCluster, names []string) error {
	errs := make([]error, 0, len(names))
	for _, name := range names {
		errs = append(errs, &apply.ForeignError{Kind: "Secret", Namespace: cluster.Namespace, Name: name})
	}
	return errors.Join(errs...)
}

// observe reads the Secrets from the API server: they are not cached.
func observe(ctx context.Context, live client.Reader, cluster *v1beta2.GarageCluster, nodesMayRun bool) World {
	read := func(name string) fact.Fact[*corev1.Secret] {
		var secret corev1.Secret
		err := live.Get(ctx, client.ObjectKey{Namespace: cluster.Namespace, Name: name}, &secret)
		switch {
		case apierrors.IsNotFound(err):
			return fact.Known[*corev1.Secret](nil)
		case err != nil:
			return fact.Unknown[*corev1.Secret](fmt.Sprintf("the API server did not give it: %v", err))
		}
		return fact.Known(&secret)
	}
	named := func(ref *v1beta2.SecretKeyRef, key string) *Reference {
		if ref == nil {
			return nil
		}
		if ref.Key != "" {
			key = ref.Key
		}
		return &Reference{Name: ref.Name, Key: key, Secret: read(ref.Name)}
	}
	w := World{Cluster: cluster.Name, UID: cluster.UID, NodesMayRun: nodesMayRun, Static: read}
	if network := cluster.Spec.Network; network != nil {
		w.RPC = named(network.RPCSecretRef, render.KeyRPCSecret)
	}
	if admin := cluster.Spec.Admin; admin != nil {
		w.Admin, w.Metrics = named(admin.AdminTokenSecretRef, render.KeyAdminToken), named(admin.MetricsTokenSecretRef, render.KeyMetricsToken)
	}
	w.OwnRPC = read(RPCName(cluster.Name, w.RPC != nil))
	if w.Admin == nil {
		w.OwnAdmin = read(AdminName(cluster.Name))
	}
	return w
}

// create makes the Secret, which must not exist. What is in it stays: a process that is started again reads it again.
func create(ctx context.Context, applier *apply.Applier, cluster *v1beta2.GarageCluster, action Action) error {
	data := action.Data
	switch action.Kind {
	case GenerateRPC:
		data = map[string][]byte{render.KeyRPCSecret: []byte(random())}
	case GenerateAdmin:
		data = map[string][]byte{render.KeyAdminToken: []byte(random())}
	case TakeRPC, Publish:
	}
	return applier.ApplyAt(ctx, cluster, &corev1.Secret{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"},
		ObjectMeta: metav1.ObjectMeta{Name: action.Name, Namespace: cluster.Namespace, Labels: render.Labels(cluster.Name)},
		Type:       corev1.SecretTypeOpaque,
		Immutable:  new(true),
		Data:       data,
	}, apply.Precondition{})
}

// random is 32 random bytes as 64 hexadecimal digits: what Garage wants of an RPC secret, and more than enough of a token.
func random() string {
	var bytes [32]byte
	_, _ = rand.Read(bytes[:]) // never fails
	return hex.EncodeToString(bytes[:])
}
