package controller

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
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
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/holdfast-dev/holdfast/api/garage/v1beta1"
	"github.com/holdfast-dev/holdfast/api/garage/v1beta2"
)

// Cached are the kinds to cache: GarageClusters and GarageNodes, and of the others the objects that carry the cluster label. No
// other ConfigMap, Pod or Service of the Kubernetes cluster is ever listed.
func Cached() map[client.Object]cache.ByObject {
	labelled, err := labels.NewRequirement(v1beta2.LabelCluster, selection.Exists, nil)
	runtime.Must(err) // of a constant
	narrowed := map[client.Object]cache.ByObject{&v1beta2.GarageCluster{}: {}, &v1beta1.GarageNode{}: {}}
	for _, object := range labelledKinds() {
		narrowed[object] = cache.ByObject{Label: labels.NewSelector().Add(*labelled)}
	}
	return narrowed
}

// labelledKinds carry the cluster label, whoever controls them.
func labelledKinds() []client.Object {
	return []client.Object{
		&appsv1.StatefulSet{}, &corev1.ConfigMap{}, &corev1.Service{}, &policyv1.PodDisruptionBudget{},
		&corev1.Pod{}, &corev1.PersistentVolumeClaim{},
	}
}

// Setup adds the reconciler to the manager.
func (r *Reconciler) Setup(mgr manager.Manager, options controller.Options) error {
	build := builder.ControllerManagedBy(mgr).
		Named("garagecluster").
		WithOptions(options).
		// The status is our own: a change of it is no news. An annotation may be an order.
		For(&v1beta2.GarageCluster{}, builder.WithPredicates(predicate.Or(predicate.GenerationChangedPredicate{}, predicate.AnnotationChangedPredicate{}))).
		Watches(&v1beta1.GarageNode{}, handler.EnqueueRequestsFromMapFunc(byReference),
			builder.WithPredicates(predicate.Or(predicate.GenerationChangedPredicate{}, predicate.AnnotationChangedPredicate{})))
	for _, object := range labelledKinds() {
		build = build.Watches(object, handler.EnqueueRequestsFromMapFunc(byLabel))
	}
	return build.Complete(reconcile.Func(r.reconcileName))
}

// byLabel finds the GarageCluster of an object.
func byLabel(_ context.Context, object client.Object) []reconcile.Request {
	name := object.GetLabels()[v1beta2.LabelCluster]
	return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: object.GetNamespace(), Name: name}}}
}

// byReference finds the GarageCluster of a GarageNode.
func byReference(_ context.Context, object client.Object) []reconcile.Request {
	node, is := object.(*v1beta1.GarageNode)
	if !is {
		return nil
	}
	return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: node.Namespace, Name: node.Spec.ClusterRef.Name}}}
}
