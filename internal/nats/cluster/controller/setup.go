package controller

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/holdfast-dev/holdfast/api/nats/cluster/v1beta1"
	natsv1beta1 "github.com/holdfast-dev/holdfast/api/nats/nats/v1beta1"
)

// Cached are the kinds to cache: NatsClusters and what they may refer to, and of the others the objects that carry the
// cluster label. No other ConfigMap, Pod or Service of the Kubernetes cluster is ever listed.
func Cached() map[client.Object]cache.ByObject {
	labelled, err := labels.NewRequirement(v1beta1.LabelCluster, selection.Exists, nil)
	runtime.Must(err) // of a constant
	narrowed := map[client.Object]cache.ByObject{
		&v1beta1.NatsCluster{}: {}, &natsv1beta1.NatsOperatorTrust{}: {}, &natsv1beta1.NatsReferenceGrant{}: {},
	}
	for _, object := range append(owned(), related()...) {
		narrowed[object] = cache.ByObject{Label: labels.NewSelector().Add(*labelled)}
	}
	return narrowed
}

// owned are the kinds that a NatsCluster controls.
func owned() []client.Object {
	return []client.Object{
		&appsv1.StatefulSet{}, &corev1.ConfigMap{}, &corev1.Service{},
		&policyv1.PodDisruptionBudget{}, &networkingv1.NetworkPolicy{},
	}
}

// related are the kinds that carry the cluster label without being controlled by the NatsCluster: a
// StatefulSet's Pods, and claims, which outlive it.
func related() []client.Object {
	return []client.Object{&corev1.Pod{}, &corev1.PersistentVolumeClaim{}}
}

// Setup adds the reconciler to the manager.
func (r *Reconciler) Setup(mgr manager.Manager, options controller.Options) error {
	build := builder.ControllerManagedBy(mgr).
		Named("natscluster").
		WithOptions(options).
		// The status is our own: a change of it is no news. An annotation may be an order. A pass that has to look again says when.
		For(&v1beta1.NatsCluster{}, builder.WithPredicates(predicate.Or(predicate.GenerationChangedPredicate{}, predicate.AnnotationChangedPredicate{}, beingDeleted)))
	for _, object := range owned() {
		build = build.Owns(object)
	}
	for _, object := range related() {
		build = build.Watches(object, handler.EnqueueRequestsFromMapFunc(byLabel))
	}
	for _, object := range []client.Object{&natsv1beta1.NatsOperatorTrust{}, &natsv1beta1.NatsReferenceGrant{}} {
		build = build.Watches(object, handler.EnqueueRequestsFromMapFunc(r.byTrust))
	}
	return build.Complete(reconcile.AsReconciler(r.Client, r))
}

// beingDeleted lets the deletion through, which changes no generation where nothing else does.
var beingDeleted = predicate.NewPredicateFuncs(func(object client.Object) bool { return object.GetDeletionTimestamp() != nil })

// byLabel finds the NatsCluster of an object that it does not control.
func byLabel(_ context.Context, object client.Object) []reconcile.Request {
	name := object.GetLabels()[v1beta1.LabelCluster]
	return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: object.GetNamespace(), Name: name}}}
}

// byTrust finds the NatsClusters whose trust lies in the namespace of a NatsOperatorTrust or NatsReferenceGrant. Such
// objects are few and change seldom, so it does not look which of them is meant.
func (r *Reconciler) byTrust(ctx context.Context, object client.Object) []reconcile.Request {
	var clusters v1beta1.NatsClusterList
	if err := r.Client.List(ctx, &clusters); err != nil {
		log.FromContext(ctx).Error(err, "which NatsClusters trust it is not known, they are looked at within a minute", "object", client.ObjectKeyFromObject(object))
		return nil
	}
	var found []reconcile.Request
	for _, cluster := range clusters.Items {
		if auth := cluster.Spec.Auth; auth != nil && auth.TrustRef.NamespaceFrom(cluster.Namespace) == object.GetNamespace() {
			found = append(found, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&cluster)})
		}
	}
	return found
}
