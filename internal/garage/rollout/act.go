package rollout

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/holdfast-dev/holdfast/api/garage/v1beta2"
	"github.com/holdfast-dev/holdfast/internal/garage/facts"
	"github.com/holdfast-dev/holdfast/internal/garage/render"
	"github.com/holdfast-dev/holdfast/internal/garage/serving"
	"github.com/holdfast-dev/holdfast/internal/kit/apply"
	"github.com/holdfast-dev/holdfast/internal/kit/outcome"
)

// Out is for how long a Pod is out of the S3 Service before it is told to stop: until every proxy has heard of it. A Garage that
// is stopping still takes connections for up to ten seconds, and lets them wait (Garage lab, Stopping).
const Out = 2 * time.Second

// retry is how soon a step is tried again after the facts moved under it.
const retry = 500 * time.Millisecond

// An Actor replaces Pods.
type Actor struct {
	// Applier writes.
	Applier *apply.Applier
	// Reread makes the World afresh, with the nodes that it is of: objects from the API server, new answers of every process.
	Reread func(ctx context.Context) (World, facts.Nodes)
	// Now is the time, and Pause waits.
	Now   func() time.Time
	Pause func(ctx context.Context, d time.Duration) error
}

// Act carries out the action if the facts, read once more, still call for it. The journal must have been written before. The
// error is a refusal of the API server.
func (a *Actor) Act(ctx context.Context, cluster *v1beta2.GarageCluster, rendered render.Node, plan Plan) (outcome.Outcome, error) {
	node, same := a.again(ctx, *plan.Action)
	if !same {
		return outcome.Retry(retry, fmt.Sprintf("the facts moved before %s of %s", plan.Action.Kind, plan.Action.Node)), nil
	}
	var err error
	out := outcome.Continue()
	switch plan.Action.Kind {
	case Correct:
		err = a.correct(ctx, node, rendered)
	case Replace:
		out, err = a.replace(ctx, cluster, node, rendered, plan)
	case TakeBack:
		if err = a.mark(ctx, cluster, node.Pod); err == nil {
			err = a.hold(ctx, cluster.Namespace, plan.Journal.PersistentVolumeClaims, false)
		}
	case Release:
		err = a.hold(ctx, cluster.Namespace, plan.Journal.PersistentVolumeClaims, false)
	}
	switch {
	case apierrors.IsConflict(err):
		return outcome.Retry(retry, plan.Action.Node+" was written by somebody else"), nil
	case err != nil:
		return outcome.Continue(), fmt.Errorf("%s of %s: %w", plan.Action.Kind, plan.Action.Node, err)
	}
	return out, nil
}

// again decides once more on new facts.
func (a *Actor) again(ctx context.Context, action Action) (facts.Node, bool) {
	world, nodes := a.Reread(ctx)
	plan := Decide(world, a.Now())
	node, exists := nodes.Get(action.Node)
	return node, plan.Action != nil && *plan.Action == action && (exists || action.Kind == Release)
}

// correct writes the StatefulSet. Its claims' templates cannot change: sizes grow on the claims themselves.
func (a *Actor) correct(ctx context.Context, node facts.Node, rendered render.Node) error {
	return a.Applier.ApplyAt(ctx, node.GarageNode, render.WithClaimsOf(rendered.StatefulSet, node.StatefulSet), apply.At(node.StatefulSet))
}

// replace writes what the new Pod is made from, and then deletes the old one.
func (a *Actor) replace(ctx context.Context, cluster *v1beta2.GarageCluster, node facts.Node, rendered render.Node, plan Plan) (outcome.Outcome, error) {
	if err := a.prepare(ctx, cluster, node, rendered, plan.Journal); err != nil || node.Pod == nil {
		return outcome.Continue(), err
	}
	if node.Pod.Labels[v1beta2.LabelS3Member] != "" {
		if err := serving.Act(ctx, a.Applier.Client, node.Pod, false); err != nil {
			return outcome.Continue(), err
		}
		if err := a.Pause(ctx, Out); err != nil {
			return outcome.Continue(), err
		}
	}
	// Time has passed, and another node may have gone meanwhile: what is about to be destroyed is decided on once more.
	node, same := a.again(ctx, *plan.Action)
	if !same || node.Pod == nil || node.Pod.DeletionTimestamp != nil {
		return outcome.Retry(retry, "the facts moved before the Pod of "+plan.Action.Node+" was deleted"), nil
	}
	return outcome.Continue(), a.Applier.Delete(ctx, node.Pod, apply.At(node.Pod))
}

// prepare writes the configuration, keeps the claims, and writes the template last.
func (a *Actor) prepare(ctx context.Context, cluster *v1beta2.GarageCluster, node facts.Node, rendered render.Node, journal *v1beta2.StorageRollout) error {
	// A template that is refused must leave everything as it is.
	if err := a.Applier.Try(ctx, node.GarageNode, render.WithClaimsOf(rendered.StatefulSet, node.StatefulSet)); err != nil {
		return err
	}
	owner := client.Object(node.GarageNode)
	if rendered.Shared {
		owner = cluster
	}
	if _, err := a.Applier.Apply(ctx, owner, rendered.ConfigMap); err != nil {
		return err
	}
	if journal != nil {
		if err := a.hold(ctx, cluster.Namespace, journal.PersistentVolumeClaims, true); err != nil {
			return err
		}
	}
	return a.correct(ctx, node, rendered)
}

// mark changes the Pod's resourceVersion: an order to delete it that an earlier leader has sent carries the one from before.
func (a *Actor) mark(ctx context.Context, cluster *v1beta2.GarageCluster, pod *corev1.Pod) error {
	if pod == nil {
		return nil // an order for it fails anyway
	}
	marked := pod.DeepCopy()
	metav1.SetMetaDataAnnotation(&marked.ObjectMeta, v1beta2.AnnotationRolloutFence, cluster.ResourceVersion)
	patch := client.MergeFromWithOptions(pod, client.MergeFromWithOptimisticLock{})
	return a.Applier.Client.Patch(ctx, marked, patch, client.FieldOwner(a.Applier.Owner+"-fence"))
}

// hold puts the finalizer on the claims, or takes it off. A claim of the name that is another one is nobody's to hold.
func (a *Actor) hold(ctx context.Context, namespace string, claims []v1beta2.KeptClaim, on bool) error {
	for _, kept := range claims {
		var claim corev1.PersistentVolumeClaim
		err := a.Applier.Reader.Get(ctx, client.ObjectKey{Namespace: namespace, Name: kept.Name}, &claim)
		switch {
		case apierrors.IsNotFound(err) && !on, err == nil && claim.UID != kept.UID && !on:
			continue
		case err != nil:
			return err
		case claim.UID != kept.UID:
			return fmt.Errorf("claim %s is another one by now", kept.Name)
		case slices.Contains(claim.Finalizers, v1beta2.FinalizerStorageRollout) == on:
			continue
		}
		written := claim.DeepCopy()
		if on {
			controllerutil.AddFinalizer(written, v1beta2.FinalizerStorageRollout)
		} else {
			controllerutil.RemoveFinalizer(written, v1beta2.FinalizerStorageRollout)
		}
		patch := client.MergeFromWithOptions(&claim, client.MergeFromWithOptimisticLock{})
		if err := a.Applier.Client.Patch(ctx, written, patch); err != nil {
			return fmt.Errorf("holding claim %s: %w", kept.Name, err)
		}
	}
	return nil
}
