package workload

import (
	"context"
	"errors"
	"fmt"
	"slices"

	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-dev/holdfast/api/nats/cluster/v1beta1"
	"github.com/holdfast-dev/holdfast/internal/kit/apply"
	"github.com/holdfast-dev/holdfast/internal/nats/cluster/facts"
	"github.com/holdfast-dev/holdfast/internal/nats/cluster/render"
)

// Act writes the shared objects where they differ and creates the planned servers. It goes on after an error,
// so that its own names every object that belongs to somebody else, and not only the first. But no server comes
// into being while anything is in the way: one would run with somebody else's configuration, or wait for others
// that cannot come.
func Act(ctx context.Context, applier *apply.Applier, cluster *v1beta1.NatsCluster, out render.Output, servers facts.Servers, plan Plan) error {
	var errs []error
	for _, desired := range out.Shared {
		_, err := applier.Apply(ctx, cluster, desired)
		errs = append(errs, err)
	}
	errs = append(errs, dropPolicy(ctx, applier, cluster, out))
	for _, server := range out.Servers {
		errs = append(errs, applier.Check(ctx, cluster, server.ConfigMap), applier.Check(ctx, cluster, server.StatefulSet))
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	for _, server := range out.Servers {
		if slices.Contains(plan.Create, server.Name) {
			errs = append(errs, create(ctx, applier, cluster, server, servers.Get(server.Name)))
		}
	}
	return errors.Join(errs...)
}

// create makes what is missing of a server, and completes what was begun: never more than was seen. The configuration
// first: a Pod that finds none waits, but one that finds an old one, or somebody else's, runs it.
func create(ctx context.Context, applier *apply.Applier, cluster *v1beta1.NatsCluster, wanted render.Server, seen facts.Server) error {
	config, set := apply.Precondition{}, apply.Precondition{}
	if seen.ConfigMap != nil {
		config = apply.At(seen.ConfigMap)
	}
	if seen.StatefulSet != nil {
		set = apply.At(seen.StatefulSet)
	}
	if err := applier.ApplyAt(ctx, cluster, wanted.ConfigMap, config); err != nil {
		return err
	}
	return applier.ApplyAt(ctx, cluster, wanted.StatefulSet, set)
}

// dropPolicy deletes the NetworkPolicy when none is rendered any more.
func dropPolicy(ctx context.Context, applier *apply.Applier, cluster *v1beta1.NatsCluster, out render.Output) error {
	if slices.ContainsFunc(out.Shared, func(o client.Object) bool { _, is := o.(*networkingv1.NetworkPolicy); return is }) {
		return nil
	}
	policy := &networkingv1.NetworkPolicy{}
	err := applier.Client.Get(ctx, client.ObjectKeyFromObject(cluster), policy)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading NetworkPolicy %s: %w", cluster.Name, err)
	}
	if !metav1.IsControlledBy(policy, cluster) {
		return nil
	}
	return applier.Delete(ctx, policy, apply.At(policy))
}
