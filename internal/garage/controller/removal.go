package controller

import (
	"context"
	"errors"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/holdfast-dev/holdfast/api/garage/v1beta1"
	"github.com/holdfast-dev/holdfast/api/garage/v1beta2"
	"github.com/holdfast-dev/holdfast/internal/garage/adminapi"
	"github.com/holdfast-dev/holdfast/internal/garage/facts"
	"github.com/holdfast-dev/holdfast/internal/garage/removal"
	"github.com/holdfast-dev/holdfast/internal/garage/render"
	"github.com/holdfast-dev/holdfast/internal/garage/status"
	"github.com/holdfast-dev/holdfast/internal/kit/fact"
	"github.com/holdfast-dev/holdfast/internal/kit/outcome"
)

// letGo puts the finalizers on, and takes a step with a node that may go.
func (p *pass) letGo(ctx context.Context) outcome.Outcome {
	nodes, err := p.withUnlabelled(ctx, p.nodes)
	if err != nil {
		return outcome.Failed(err)
	}
	objects := removal.Objects{Cluster: p.cluster, Nodes: nodes}
	plan := removal.Decide(removalWorld(objects, p.report.Processes))
	actor := p.removalActor(client.ObjectKeyFromObject(p.cluster), p.asker)
	if err := actor.Guard(ctx, objects, plan.Guards); err != nil {
		return outcome.Failed(err)
	}
	p.report.Removal = plan
	if plan.Action == nil {
		return outcome.Continue()
	}
	if err := p.take(ctx, actor, objects, *plan.Action); err != nil {
		return outcome.Failed(err)
	}
	// Its status, if it still has one, is for the next pass.
	p.nodes = slices.DeleteFunc(slices.Clone(p.nodes), func(node facts.Node) bool { return node.Name() == plan.Action.Node })
	return outcome.Retry(whenBusy/4, "a node is going")
}

// reconcileName looks at the nodes of a name of which there is no GarageCluster, and reconciles one that there is.
func (r *Reconciler) reconcileName(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	err := r.Client.Get(ctx, request.NamespacedName, &v1beta2.GarageCluster{})
	if !apierrors.IsNotFound(err) {
		return reconcile.AsReconciler(r.Client, r).Reconcile(ctx, request)
	}
	r.Metrics.Forget(v1beta2.KindGarageCluster, request.NamespacedName)
	_, out := r.takeDown(ctx, request.NamespacedName)
	return outcome.Result(out)
}

// tearDown takes a step of the end of a GarageCluster, and says what it waits for.
func (r *Reconciler) tearDown(ctx context.Context, cluster *v1beta2.GarageCluster) (reconcile.Result, error) {
	waits, out := r.takeDown(ctx, client.ObjectKeyFromObject(cluster))
	next := status.Deleting(cluster, waits, r.Clock.Now())
	if waits == "" || equality.Semantic.DeepEqual(cluster.Status, next) {
		return outcome.Result(out)
	}
	cluster.Status = next
	if err := r.Client.Status().Update(ctx, cluster); err != nil {
		return outcome.Result(outcome.Failed(fmt.Errorf("writing what the end of %s waits for: %w", cluster.Name, err)))
	}
	return outcome.Result(out)
}

// mostSteps bounds the actions of one pass: the rest is for the next one.
const mostSteps = 64

// takeDown takes what steps it can towards the end of the nodes of that name, and says what it waits for then. It asks no process.
func (r *Reconciler) takeDown(ctx context.Context, key client.ObjectKey) (waits string, out outcome.Outcome) {
	actor := r.removalActor(key, nil)
	for range mostSteps {
		world, objects, err := actor.Reread(ctx)
		if err != nil {
			return "", outcome.Failed(err)
		}
		if world.Cluster != nil && !world.Cluster.Deleting {
			return "", outcome.Retry(whenBusy, "the GarageCluster is there")
		}
		plan := removal.Decide(world)
		if plan.Action == nil {
			return plan.Waiting(), outcome.Retry(whenUnsettled, plan.Waiting())
		}
		if err := r.take(ctx, actor, objects, *plan.Action); err != nil {
			return "", outcome.Failed(err)
		}
		if plan.Action.Kind == removal.FreeCluster {
			return "", outcome.Continue()
		}
	}
	return "", outcome.Retry(whenBusy/4, "the store is going")
}

// take takes the action, if it is still what is to be done, and tells of it.
func (r *Reconciler) take(ctx context.Context, actor *removal.Actor, objects removal.Objects, action removal.Action) error {
	done, err := actor.Act(ctx, action)
	if err != nil || !done {
		return err
	}
	note := map[removal.Kind]string{
		removal.Stop: "its process is stopped", removal.DropClaim: "claim " + action.Claim + " is deleted, as spec.storage.pvcRetentionPolicy says",
		removal.FreeClaim: "claim " + action.Claim + " is held no more", removal.FreeNode: "it may go",
	}[action.Kind]
	if node, is := objects.Nodes.Get(action.Node); is && note != "" {
		r.Events.Action(node.GarageNode, nil, "NodeRemoval", string(action.Kind), note)
	}
	return nil
}

// removalActor carries out what is decided about the GarageCluster of that name and its nodes. Without ask nobody is asked.
func (r *Reconciler) removalActor(key client.ObjectKey, ask facts.Ask) *removal.Actor {
	return &removal.Actor{Applier: r.applier(), Now: metav1.NewTime(r.Clock.Now()), Reread: func(ctx context.Context) (removal.World, removal.Objects, error) {
		var (
			objects   removal.Objects
			cluster   v1beta2.GarageCluster
			processes facts.Processes
		)
		err := r.Live.Get(ctx, key, &cluster)
		switch {
		case err == nil:
			objects.Cluster = &cluster
		case !apierrors.IsNotFound(err):
			return removal.World{}, objects, fmt.Errorf("reading GarageCluster %s: %w", key, err)
		}
		cluster.Namespace, cluster.Name = key.Namespace, key.Name
		read := facts.Read(ctx, r.Live, &cluster)
		nodes, known := read.Get()
		if !known {
			return removal.World{}, objects, errors.New(read.Why())
		}
		if objects.Nodes, err = r.withUnlabelled(ctx, nodes); err != nil {
			return removal.World{}, objects, err
		}
		if ask != nil {
			processes = facts.Observe(ctx, ask, nodes)
		}
		return removalWorld(objects, processes), objects, nil
	}}
}

// withUnlabelled adds the StatefulSets and claims of the nodes' that have lost their labels: nobody else stops those, or takes off the
// finalizer that tells whose they are.
func (r *Reconciler) withUnlabelled(ctx context.Context, nodes facts.Nodes) (facts.Nodes, error) {
	found := slices.Clone(nodes)
	for i := range found {
		if err := errors.Join(r.findStatefulSet(ctx, &found[i]), r.findClaims(ctx, &found[i])); err != nil {
			return nil, err
		}
	}
	return found, nil
}

func (r *Reconciler) findStatefulSet(ctx context.Context, node *facts.Node) error {
	if node.StatefulSet != nil || node.External() {
		return nil
	}
	var set appsv1.StatefulSet
	err := r.Live.Get(ctx, client.ObjectKeyFromObject(node.GarageNode), &set)
	switch {
	case client.IgnoreNotFound(err) != nil:
		return fmt.Errorf("reading StatefulSet %s: %w", node.Name(), err)
	case metav1.IsControlledBy(&set, node.GarageNode):
		node.StatefulSet = &set
	}
	return nil
}

func (r *Reconciler) findClaims(ctx context.Context, node *facts.Node) error {
	for _, name := range render.OwnClaims(node.GarageNode) {
		if slices.ContainsFunc(node.Claims, func(claim corev1.PersistentVolumeClaim) bool { return claim.Name == name }) {
			continue
		}
		var claim corev1.PersistentVolumeClaim
		err := r.Live.Get(ctx, client.ObjectKey{Namespace: node.GarageNode.Namespace, Name: name}, &claim)
		switch {
		case client.IgnoreNotFound(err) != nil:
			return fmt.Errorf("reading claim %s: %w", name, err)
		case slices.Contains(claim.Finalizers, v1beta2.FinalizerClaim):
			node.Claims = append(slices.Clip(node.Claims), claim)
		}
	}
	return nil
}

func removalWorld(objects removal.Objects, processes facts.Processes) removal.World {
	w := removal.World{}
	if cluster := objects.Cluster; cluster != nil {
		w.Cluster = &removal.Cluster{
			UID: string(cluster.UID), Guarded: controllerutil.ContainsFinalizer(cluster, v1beta2.FinalizerGarageCluster), Deleting: cluster.DeletionTimestamp != nil,
		}
	}
	for _, node := range objects.Nodes {
		w.Nodes = append(w.Nodes, removalNode(objects.Cluster, node, processes.Own(node)))
	}
	return w
}

func removalNode(cluster *v1beta2.GarageCluster, node facts.Node, said fact.Fact[facts.Process]) removal.Node {
	one := removal.Node{
		Name: node.Name(), External: node.External(), ID: facts.Recorded(node.GarageNode),
		Guarded:  controllerutil.ContainsFinalizer(node.GarageNode, v1beta2.FinalizerGarageNode),
		Deleting: node.GarageNode.DeletionTimestamp != nil, Marked: node.GarageNode.Status.TeardownSince != nil,
		EverInLayout: node.GarageNode.Status.EverInLayout != nil || node.GarageNode.Status.InLayout != nil && *node.GarageNode.Status.InLayout,
		HasPod:       node.Pod != nil, HasStatefulSet: node.StatefulSet != nil,
		Proof: adminapi.NodeID(node.GarageNode.Status.DrainProof.NodeID), Brought: brought(node.GarageNode), Says: fact.Unknown[adminapi.Layout](said.Why()),
	}
	if owner := metav1.GetControllerOf(node.GarageNode); owner != nil && owner.Kind == v1beta2.KindGarageCluster {
		one.Ours = cluster != nil && owner.UID == cluster.UID
		one.Left = !one.Ours
	}
	if cluster != nil {
		ordinal, auto := render.Ordinal(node.GarageNode)
		one.DropClaims = render.DropsClaims(cluster, one.Ours && auto && ordinal >= int(render.Replicas(cluster)))
	}
	if process, known := said.Get(); known {
		one.Says = fact.Known(process.Layout)
	}
	for _, claim := range node.OwnClaims() {
		one.Claims = append(one.Claims, removal.Claim{
			Name: claim.Name, Deleting: claim.DeletionTimestamp != nil, Store: claim.Annotations[v1beta2.AnnotationClusterUID],
			Guarded:  slices.Contains(claim.Finalizers, v1beta2.FinalizerClaim),
			Recorded: slices.Contains(node.GarageNode.Status.ManagedPVCs, v1beta1.ManagedPVC{Name: claim.Name, UID: claim.UID}),
			Older:    claim.CreationTimestamp.Before(&node.GarageNode.CreationTimestamp),
		})
	}
	return one
}

// brought says that the node runs from a claim of a user's.
func brought(node *v1beta1.GarageNode) bool {
	storage := node.Spec.Storage
	if storage == nil {
		return false
	}
	return storage.Metadata.ExistingClaim != ""
}
