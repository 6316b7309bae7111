package certificates

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-dev/holdfast/api/nats/cluster/v1beta1"
	"github.com/holdfast-dev/holdfast/internal/kit/fact"
	"github.com/holdfast-dev/holdfast/internal/nats/cluster/facts"
	"github.com/holdfast-dev/holdfast/internal/nats/cluster/render"
)

// World is what the decision rests on.
type World struct {
	// Cluster is the NatsCluster's name, and UID its identity: it decides whose a Secret is.
	Cluster string
	UID     types.UID
	// Replicas is the number of planned servers.
	Replicas int
	// Client and Routes are the named Secrets; nil where the spec names none.
	Client, Routes *Reference
	// Own are the Secrets of the self-signed route certificate; nil when there is nothing to keep.
	Own *Own
	// RouteHosts are the names under which the servers dial each other, where Routes has to be valid for them.
	RouteHosts []string
	// RouteDomain is the domain of all such names.
	RouteDomain string
}

// Reference is a Secret that the spec names.
type Reference struct {
	Name   string
	Secret fact.Fact[*corev1.Secret] // nil when it does not exist
}

// Own are the facts about the self-signed route certificate.
type Own struct {
	// CA and TLS are the two Secrets.
	CA, TLS Reference
	// Edited says that somebody else wrote the certificate in TLS.
	Edited bool
	// Servers are the servers' objects.
	Servers fact.Fact[facts.Servers]
}

// caSecretName is the Secret that no Pod mounts.
func caSecretName(cluster string) string { return cluster + "-routes-ca" }

// observe reads the Secrets from live, which is the API server: they are not cached. The servers come from cached.
func observe(ctx context.Context, cached, live client.Reader, cluster *v1beta1.NatsCluster) World {
	read := func(name string) Reference {
		var secret corev1.Secret
		err := live.Get(ctx, client.ObjectKey{Namespace: cluster.Namespace, Name: name}, &secret)
		switch {
		case apierrors.IsNotFound(err):
			return Reference{Name: name, Secret: fact.Known[*corev1.Secret](nil)}
		case err != nil:
			return Reference{Name: name, Secret: fact.Unknown[*corev1.Secret](fmt.Sprintf("the API server did not give it: %v", err))}
		}
		return Reference{Name: name, Secret: fact.Known(&secret)}
	}
	spec := cluster.Spec
	w := World{
		Cluster:     cluster.Name,
		UID:         cluster.UID,
		Replicas:    int(spec.Replicas),
		RouteDomain: render.RouteDomain(cluster),
	}
	if spec.TLS != nil {
		w.Client = new(read(spec.TLS.SecretRef.Name))
	}
	routes := spec.Routes.TLS
	if spec.Replicas < 2 || !ptr.Deref(routes.Enabled, true) {
		return w // one server has no routes
	}
	if name := routes.SecretRef.Name; name != "" {
		w.Routes = new(read(name))
		for ordinal := range int(spec.Replicas) {
			w.RouteHosts = append(w.RouteHosts, render.RouteHost(cluster, ordinal))
		}
		return w
	}
	w.Own = &Own{
		CA:      read(caSecretName(cluster.Name)),
		TLS:     read(render.RoutesSecretName(cluster.Name)),
		Servers: facts.Read(ctx, cached, cluster),
	}
	return w
}
