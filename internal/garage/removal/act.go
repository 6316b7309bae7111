package removal

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/holdfast-dev/holdfast/api/garage/v1beta2"
	"github.com/holdfast-dev/holdfast/internal/garage/facts"
	"github.com/holdfast-dev/holdfast/internal/kit/apply"
)

// Objects are what a World was made of.
type Objects struct {
	// Cluster is nil when there is none.
	Cluster *v1beta2.GarageCluster
	Nodes   facts.Nodes
}

// An Actor carries plans out.
type Actor struct {
	Applier *apply.Applier
	// Reread makes the World afresh: objects from the API server, and new answers.
	Reread func(ctx context.Context) (World, Objects, error)
	// Now is the time that a mark says.
	Now metav1.Time
}

// Guard puts the finalizers on, on the objects that were decided on, which get the resourceVersions that come of it.
func (a *Actor) Guard(ctx context.Context, objects Objects, guards []Guard) error {
	for _, guard := range guards {
		if err := a.guard(ctx, objects, guard); err != nil {
			return err
		}
	}
	return nil
}

func (a *Actor) guard(ctx context.Context, objects Objects, guard Guard) error {
	if guard.Node == "" {
		return a.patch(ctx, objects.Cluster, func(cluster client.Object) { controllerutil.AddFinalizer(cluster, v1beta2.FinalizerGarageCluster) })
	}
	node, _ := objects.Nodes.Get(guard.Node) // it was decided on
	if guard.Claim == "" {
		return a.patch(ctx, node.GarageNode, func(node client.Object) { controllerutil.AddFinalizer(node, v1beta2.FinalizerGarageNode) })
	}
	return a.patch(ctx, claimOf(node, guard.Claim), func(claim client.Object) {
		controllerutil.AddFinalizer(claim, v1beta2.FinalizerClaim)
		metav1.SetMetaDataAnnotation(&claim.(*corev1.PersistentVolumeClaim).ObjectMeta, v1beta2.AnnotationClusterUID, guard.Store)
	})
}

// Act takes the action if the facts, read once more, still allow it, and says whether it did.
func (a *Actor) Act(ctx context.Context, action Action) (done bool, err error) {
	world, objects, err := a.Reread(ctx)
	if err != nil {
		return false, err
	}
	if again := Decide(world).Action; again == nil || *again != action {
		return false, nil
	}
	return true, a.take(ctx, objects, action)
}

func (a *Actor) take(ctx context.Context, objects Objects, action Action) error {
	if action.Kind == FreeCluster {
		return a.patch(ctx, objects.Cluster, func(cluster client.Object) { controllerutil.RemoveFinalizer(cluster, v1beta2.FinalizerGarageCluster) })
	}
	node, _ := objects.Nodes.Get(action.Node) // it was decided on
	switch action.Kind {
	case Mark:
		marked := node.GarageNode.DeepCopy()
		marked.Status.TeardownSince = &a.Now
		if err := a.Applier.Client.Status().Update(ctx, marked); err != nil {
			return fmt.Errorf("marking GarageNode %s: %w", marked.Name, err)
		}
		return nil
	case DeleteNode:
		return a.Applier.Delete(ctx, node.GarageNode, apply.At(node.GarageNode))
	case Stop:
		return a.Applier.Delete(ctx, node.StatefulSet, apply.At(node.StatefulSet))
	case DropClaim:
		claim := claimOf(node, action.Claim)
		return a.Applier.Delete(ctx, claim, apply.At(claim))
	case FreeClaim:
		return a.patch(ctx, claimOf(node, action.Claim), func(claim client.Object) {
			controllerutil.RemoveFinalizer(claim, v1beta2.FinalizerClaim)
			controllerutil.RemoveFinalizer(claim, v1beta2.FinalizerStorageRollout) // whose journal may be gone
		})
	default:
		return a.patch(ctx, node.GarageNode, func(node client.Object) { controllerutil.RemoveFinalizer(node, v1beta2.FinalizerGarageNode) })
	}
}

// claimOf is the claim of that name, which was decided on.
func claimOf(node facts.Node, name string) *corev1.PersistentVolumeClaim {
	i := slices.IndexFunc(node.Claims, func(claim corev1.PersistentVolumeClaim) bool { return claim.Name == name })
	return &node.Claims[i]
}

// patch changes an object that is still as it was read. It does so under a name of its own: what an apply does not render, it would
// take for its own to take away.
func (a *Actor) patch(ctx context.Context, object client.Object, change func(client.Object)) error {
	next, is := object.DeepCopyObject().(client.Object)
	gvk, err := apiutil.GVKForObject(object, a.Applier.Client.Scheme())
	if err != nil || !is {
		return fmt.Errorf("%s is no object of a known kind: %w", object.GetName(), err)
	}
	change(next)
	if err := a.Applier.Client.Patch(ctx, next, client.MergeFromWithOptions(object, client.MergeFromWithOptimisticLock{}), client.FieldOwner(a.Applier.Owner+"-finalizers")); err != nil {
		return fmt.Errorf("writing the finalizers of %s %s: %w", gvk.Kind, object.GetName(), err)
	}
	object.SetFinalizers(next.GetFinalizers())
	object.SetAnnotations(next.GetAnnotations())
	object.SetResourceVersion(next.GetResourceVersion())
	return nil
}
