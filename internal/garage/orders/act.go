package orders

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-dev/holdfast/api/garage/v1beta2"
	"github.com/holdfast-dev/holdfast/internal/garage/adminapi"
)

// Tell has every one of the members do what the order says, all at the same time, and returns what did not come about, each with
// the member's name. That the order is begun must have been written before. Of is the API of a member.
func Tell(ctx context.Context, of func(node string) (API, error), order Order, members []string) error {
	errs := make([]error, len(members))
	var wait sync.WaitGroup
	for i, member := range members {
		wait.Go(func() {
			api, err := of(member)
			if err == nil {
				err = tell(ctx, api, order)
			}
			if err != nil {
				errs[i] = fmt.Errorf("%s: %w", member, err)
			}
		})
	}
	wait.Wait()
	return errors.Join(errs...)
}

func tell(ctx context.Context, api API, order Order) error {
	switch {
	case order.Snapshot:
		_, err := api.CreateMetadataSnapshot(ctx)
		return err
	case order.Repair != "":
		return launch(ctx, api, order.Repair)
	}
	connections, err := api.ConnectClusterNodes(ctx, order.Peers...)
	errs := []error{err}
	for i, connection := range connections {
		if !connection.Connected {
			errs = append(errs, fmt.Errorf("%.80s: %s", order.Peers[i], connection.Problem))
		}
	}
	return errors.Join(errs...)
}

// launch starts a repair unless one of its kind goes on.
func launch(ctx context.Context, api API, repair adminapi.Repair) error {
	if name, starts := repair.Worker(); starts {
		workers, err := api.ListWorkers(ctx)
		if err != nil {
			return err
		}
		for _, worker := range workers.Value {
			if worker.Name == name && worker.State != adminapi.WorkerDone {
				return nil
			}
		}
	}
	_, err := api.LaunchRepairOperation(ctx, repair)
	return err
}

// TakeAway takes the order's annotations away from the GarageCluster, if it is still the one that was written last.
func TakeAway(ctx context.Context, c client.Client, cluster *v1beta2.GarageCluster, order Order) error {
	written := cluster.DeepCopy()
	for _, annotation := range order.Annotations {
		delete(written.Annotations, annotation)
	}
	if err := c.Patch(ctx, written, client.MergeFromWithOptions(cluster.DeepCopy(), client.MergeFromWithOptimisticLock{})); err != nil {
		return fmt.Errorf("taking %s away: %w", strings.Join(order.Annotations, " and "), err)
	}
	cluster.Annotations, cluster.ResourceVersion = written.Annotations, written.ResourceVersion
	return nil
}
