package kubelet

import (
	"context"
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// collected are the kinds whose objects go when their owner has gone.
var collected = []schema.GroupVersionKind{
	{Version: "v1", Kind: "ConfigMap"},
	{Version: "v1", Kind: "Secret"},
	{Version: "v1", Kind: "Service"},
	{Version: "v1", Kind: "Pod"},
	{Version: "v1", Kind: "PersistentVolumeClaim"},
	{Group: "apps", Version: "v1", Kind: "StatefulSet"},
	{Group: "policy", Version: "v1", Kind: "PodDisruptionBudget"},
	{Group: "networking.k8s.io", Version: "v1", Kind: "NetworkPolicy"},
}

func collectedObjects() []client.Object {
	var objects []client.Object
	for _, gvk := range collected {
		objects = append(objects, metadataOf(gvk))
	}
	return objects
}

func metadataOf(gvk schema.GroupVersionKind) *metav1.PartialObjectMetadata {
	object := &metav1.PartialObjectMetadata{}
	object.SetGroupVersionKind(gvk)
	return object
}

// collect deletes objects whose controlling owner is gone.
func (k *Kubelet) collect(ctx context.Context) error {
	gone := map[types.UID]bool{}
	var errs []error
	for _, gvk := range collected {
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(gvk)
		if err := k.cache.List(ctx, list, client.InNamespace(k.namespace)); err != nil {
			return err
		}
		for i := range list.Items {
			object := &list.Items[i]
			owner := metav1.GetControllerOf(object)
			if owner == nil || object.DeletionTimestamp != nil {
				continue
			}
			if _, known := gone[owner.UID]; !known {
				dead, err := k.isGone(ctx, owner)
				errs = append(errs, err)
				gone[owner.UID] = dead && err == nil
			}
			if gone[owner.UID] {
				at := client.Preconditions{UID: &object.UID}
				errs = append(errs, client.IgnoreNotFound(k.client.Delete(ctx, object.DeepCopy(), at)))
			}
		}
	}
	return errors.Join(errs...)
}

// isGone asks the cache, and the API server before it says yes.
func (k *Kubelet) isGone(ctx context.Context, owner *metav1.OwnerReference) (bool, error) {
	for _, reader := range []client.Reader{k.cache, k.client} {
		object := metadataOf(schema.FromAPIVersionAndKind(owner.APIVersion, owner.Kind))
		err := reader.Get(ctx, types.NamespacedName{Namespace: k.namespace, Name: owner.Name}, object)
		switch {
		case err == nil && object.UID == owner.UID:
			return false, foregroundRefused(object)
		case err != nil && !apierrors.IsNotFound(err):
			return false, err
		}
	}
	return true, nil
}

// foregroundRefused says that an owner waits for a collector of another kind, which would be for ever.
func foregroundRefused(owner *metav1.PartialObjectMetadata) error {
	for _, finalizer := range owner.Finalizers {
		if finalizer == metav1.FinalizerDeleteDependents || finalizer == metav1.FinalizerOrphanDependents {
			return errors.New(owner.Kind + " " + owner.Name + " was deleted with " + finalizer + ": only background deletion is simulated")
		}
	}
	return nil
}
