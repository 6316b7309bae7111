package workload

import (
	"context"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
	for _, name := range plan.Eject {
		node, _ := nodes.Get(name) // it was decided on
		errs = append(errs, eject(ctx, applier, cluster, node.GarageNode))
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

// eject leaves a GarageNode to users, as it is: nothing of it restarts, and it does not go with the GarageCluster any more.
func eject(ctx context.Context, applier *apply.Applier, cluster *v1beta2.GarageCluster, node *v1beta1.GarageNode) error {
	if !metav1.IsControlledBy(node, cluster) {
		return nil // another GarageCluster's that is no more: not ours to give away
	}
	next := node.DeepCopy()
	next.OwnerReferences = slices.DeleteFunc(next.OwnerReferences, func(owner metav1.OwnerReference) bool { return owner.UID == cluster.UID })
	if err := applier.Client.Patch(ctx, next, client.MergeFromWithOptions(node, client.MergeFromWithOptimisticLock{})); err != nil {
		return fmt.Errorf("leaving GarageNode %s to users: %w", node.Name, err)
	}
	node.OwnerReferences, node.ResourceVersion = next.OwnerReferences, next.ResourceVersion
	return nil
}

// createNode makes what runs a node. The configuration comes first: a Pod that finds none waits.
func createNode(ctx context.Context, applier *apply.Applier, cluster *v1beta2.GarageCluster, node facts.Node, wanted render.Node) error {
	owner := client.Object(node.GarageNode)
	if wanted.Shared {
		owner = cluster
	}
	if err := refuseForeignClaims(ctx, applier.Reader, node, wanted.Claims); err != nil {
		return err
	}
	if _, err := applier.Apply(ctx, owner, wanted.ConfigMap); err != nil {
		return err
	}
	if err := applier.ApplyAt(ctx, node.GarageNode, wanted.StatefulSet, apply.Precondition{}); err != nil {
		return err
	}
	_, err := applier.Apply(ctx, node.GarageNode, wanted.StatefulSet) // records as applied what was created, and changes nothing
	return err
}

// refuseForeignClaims looks for claims of the names that the StatefulSet would take without asking whose they are. One that was kept of
// a node of this name and GarageCluster has the labels of both.
func refuseForeignClaims(ctx context.Context, live client.Reader, node facts.Node, claims []render.Claim) error {
	var errs []error
	for _, claim := range claims {
		if claim.Existing {
			continue
		}
		var there corev1.PersistentVolumeClaim
		err := live.Get(ctx, client.ObjectKey{Namespace: node.GarageNode.Namespace, Name: claim.Name}, &there)
		switch {
		case apierrors.IsNotFound(err):
		case err != nil:
			errs = append(errs, fmt.Errorf("reading claim %s: %w", claim.Name, err))
		case there.Labels[v1beta2.LabelCluster] != node.GarageNode.Spec.ClusterRef.Name || there.Labels[v1beta2.LabelNode] != node.Name():
			errs = append(errs, &apply.ForeignError{Kind: "PersistentVolumeClaim", Namespace: there.Namespace, Name: there.Name})
		}
	}
	return errors.Join(errs...)
}
