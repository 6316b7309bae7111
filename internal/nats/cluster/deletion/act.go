package deletion

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/holdfast-dev/holdfast/api/nats/cluster/v1beta1"
)

// Act puts the finalizer on, or takes it off, at the resourceVersion that was decided on. The object's resourceVersion and
// finalizers are those after the write then.
func Act(ctx context.Context, writer client.Client, cluster *v1beta1.NatsCluster, action Action) error {
	next := cluster.DeepCopy()
	switch action {
	case Hold:
		controllerutil.AddFinalizer(next, v1beta1.FinalizerJetStreamData)
	case Release:
		controllerutil.RemoveFinalizer(next, v1beta1.FinalizerJetStreamData)
	}
	patch := client.MergeFromWithOptions(cluster, client.MergeFromWithOptimisticLock{})
	if err := writer.Patch(ctx, next, patch); err != nil {
		return fmt.Errorf("%s the finalizer of %s: %w", action, cluster.Name, err)
	}
	cluster.Finalizers, cluster.ResourceVersion = next.Finalizers, next.ResourceVersion
	return nil
}
