package workload

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-dev/holdfast/api/garage/v1beta1"
	"github.com/holdfast-dev/holdfast/api/garage/v1beta2"
	"github.com/holdfast-dev/holdfast/internal/garage/facts"
	"github.com/holdfast-dev/holdfast/internal/garage/render"
	"github.com/holdfast-dev/holdfast/internal/kit/apply"
)

// Objects are what the plan is carried out with.
type Objects struct {
	// Shared are the Services and the PodDisruptionBudget.
	Shared []client.Object
	// Nodes are the GarageNodes that the controller makes, as they are to be.
	Nodes []*v1beta1.GarageNode
	// Rendered are what nodes run from, by name.
	Rendered map[string]render.Node
}

// Act writes what may always be as it is rendered, and creates what the plan names. It goes on after an error, so that its own
// names every object that belongs to somebody else.
func Act(ctx context.Context, applier *apply.Applier, cluster *v1beta2.GarageCluster, objects Objects, nodes facts.Nodes, plan Plan) error {
	var errs []error
	for _, object := range objects.Shared {
		_, err := applier.Apply(ctx, cluster, object)
		errs = append(errs, err)
	}
	for _, wanted := range objects.Nodes {
		errs = append(errs, writeNode(ctx, applier, cluster, wanted, nodes, plan))
	}
	for _, name := range plan.Create {
		node, exists := nodes.Get(name)
		if !exists {
			return fmt.Errorf("%s is to run and does not exist", name)
		}
		errs = append(errs, createNode(ctx, applier, cluster, node, objects.Rendered[name]))
	}
	return errors.Join(errs...)
}

// writeNode makes a GarageNode whose turn it is, and keeps one that is there as the GarageCluster says: nothing of it restarts
// anything, its role changes through the layout.
func writeNode(ctx context.Context, applier *apply.Applier, cluster *v1beta2.GarageCluster, wanted *v1beta1.GarageNode, nodes facts.Nodes, plan Plan) error {
	if _, exists := nodes.Get(wanted.Name); exists {
		_, err := applier.Apply(ctx, cluster, wanted)
		return err
	}
	if slices.Contains(plan.Add, wanted.Name) {
		return applier.ApplyAt(ctx, cluster, wanted, apply.Precondition{})
	}
	return nil
}

// createNode makes what runs a node. The configuration comes first: a Pod that finds none waits.
func createNode(ctx context.Context, applier *apply.Applier, cluster *v1beta2.GarageCluster, node facts.Node, wanted render.Node) error {
	owner := client.Object(node.GarageNode)
	if wanted.Shared {
		owner = cluster
	}
	if _, err := applier.Apply(ctx, owner, wanted.ConfigMap); err != nil {
		return err
	}
	return applier.ApplyAt(ctx, node.GarageNode, wanted.StatefulSet, apply.Precondition{})
}
