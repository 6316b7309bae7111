package kubelet

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

func (k *Kubelet) ensureClaim(
	ctx context.Context, set *appsv1.StatefulSet, template corev1.PersistentVolumeClaim, name string, w *world,
) error {
	i := slices.IndexFunc(w.claims.Items, func(c corev1.PersistentVolumeClaim) bool { return c.Name == name })
	if i >= 0 {
		if w.claims.Items[i].DeletionTimestamp != nil {
			return fmt.Errorf("claim %s is being deleted", name)
		}
		return nil
	}
	labels := maps.Clone(template.Labels)
	if labels == nil {
		labels = map[string]string{}
	}
	maps.Copy(labels, set.Spec.Selector.MatchLabels)
	return client.IgnoreAlreadyExists(k.client.Create(ctx, &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: set.Namespace, Name: name, Labels: labels, Annotations: maps.Clone(template.Annotations),
		},
		Spec: *template.Spec.DeepCopy(),
	}))
}

// ownClaims has the claims of the StatefulSet's Pod belong to whom its retention policy says: to the StatefulSet where
// they go with that, to the Pod that is scaled down where they go with it, else to nobody.
func (k *Kubelet) ownClaims(ctx context.Context, set *appsv1.StatefulSet, pod *corev1.Pod, w *world) error {
	if pod == nil {
		return nil
	}
	owner := claimOwner(set, pod)
	for _, template := range set.Spec.VolumeClaimTemplates {
		name := template.Name + "-" + pod.Name
		i := slices.IndexFunc(w.claims.Items, func(c corev1.PersistentVolumeClaim) bool { return c.Name == name })
		if i < 0 || w.claims.Items[i].DeletionTimestamp != nil {
			continue
		}
		claim := w.claims.Items[i].DeepCopy()
		claim.OwnerReferences = slices.DeleteFunc(claim.OwnerReferences, func(ref metav1.OwnerReference) bool {
			return ref.UID == set.UID || ref.UID == pod.UID
		})
		if owner != nil && metav1.GetControllerOf(claim) == nil {
			claim.OwnerReferences = append(claim.OwnerReferences, *owner)
		}
		if equality.Semantic.DeepEqual(claim.OwnerReferences, w.claims.Items[i].OwnerReferences) {
			continue
		}
		from := client.MergeFromWithOptions(w.claims.Items[i].DeepCopy(), client.MergeFromWithOptimisticLock{})
		if err := client.IgnoreNotFound(k.client.Patch(ctx, claim, from)); err != nil {
			return err
		}
	}
	return nil
}

func claimOwner(set *appsv1.StatefulSet, pod *corev1.Pod) *metav1.OwnerReference {
	policy := ptr.Deref(set.Spec.PersistentVolumeClaimRetentionPolicy, appsv1.StatefulSetPersistentVolumeClaimRetentionPolicy{})
	down := ptr.Deref(set.Spec.Replicas, 1) == 0
	switch {
	case down && policy.WhenScaled == appsv1.DeletePersistentVolumeClaimRetentionPolicyType:
		return metav1.NewControllerRef(pod, corev1.SchemeGroupVersion.WithKind("Pod"))
	case policy.WhenDeleted == appsv1.DeletePersistentVolumeClaimRetentionPolicyType:
		return metav1.NewControllerRef(set, appsv1.SchemeGroupVersion.WithKind("StatefulSet"))
	}
	return nil
}

// syncClaims binds new claims and lets go of deleted ones that no Pod uses.
func (k *Kubelet) syncClaims(ctx context.Context, w *world) {
	for i := range w.claims.Items {
		claim := &w.claims.Items[i]
		var err error
		switch {
		case claim.DeletionTimestamp != nil && !k.inUse(claim.Name, w):
			err = k.releaseClaim(ctx, claim)
		case claim.DeletionTimestamp == nil && claim.Status.Phase != corev1.ClaimBound:
			err = k.bindClaim(ctx, claim)
		case claim.DeletionTimestamp == nil && requested(claim).Cmp(capacity(claim)) > 0:
			err = k.growClaim(ctx, claim)
		}
		k.complain(claim.Name, client.IgnoreNotFound(err))
	}
}

func (k *Kubelet) inUse(claim string, w *world) bool {
	for _, pod := range w.pods.Items {
		for _, volume := range pod.Spec.Volumes {
			if source := volume.PersistentVolumeClaim; source != nil && source.ClaimName == claim {
				return true
			}
		}
	}
	return false
}

func (k *Kubelet) bindClaim(ctx context.Context, claim *corev1.PersistentVolumeClaim) error {
	if err := os.Mkdir(k.disk(claim.UID), 0o777); err != nil && !os.IsExist(err) {
		return err
	}
	bound := claim.DeepCopy()
	bound.Status.Phase, bound.Status.AccessModes = corev1.ClaimBound, claim.Spec.AccessModes
	bound.Status.Capacity = claim.Spec.Resources.Requests
	return k.client.Status().Update(ctx, bound)
}

const claimFinalizer = "kubernetes.io/pvc-protection"

func (k *Kubelet) releaseClaim(ctx context.Context, claim *corev1.PersistentVolumeClaim) error {
	if !slices.Contains(claim.Finalizers, claimFinalizer) {
		return nil
	}
	free := claim.DeepCopy()
	free.Finalizers = slices.DeleteFunc(free.Finalizers, func(f string) bool { return f == claimFinalizer })
	return k.client.Patch(ctx, free, client.MergeFromWithOptions(claim.DeepCopy(), client.MergeFromWithOptimisticLock{}))
}

// growAfter is how long each half of a claim's growth takes: that of its volume, and that of the file system on it. Storage takes
// seconds to minutes.
const growAfter = 250 * time.Millisecond

// growth is what a claim that asks for more will have.
type growth struct {
	size resource.Quantity
	due  time.Time
	// larger says that the volume is, and its file system not yet.
	larger bool
}

func requested(claim *corev1.PersistentVolumeClaim) *resource.Quantity {
	return claim.Spec.Resources.Requests.Storage()
}

func capacity(claim *corev1.PersistentVolumeClaim) resource.Quantity {
	return *claim.Status.Capacity.Storage()
}

// growClaim gives a claim the size that it asks for, once it has asked for that long enough.
func (k *Kubelet) growClaim(ctx context.Context, claim *corev1.PersistentVolumeClaim) error {
	coming, known := k.growing[claim.UID]
	switch {
	case !known || coming.size.Cmp(*requested(claim)) != 0:
		k.grows(claim, false)
		return nil
	case time.Now().Before(coming.due):
		return nil
	}
	grown := claim.DeepCopy()
	if !coming.larger {
		grown.Status.Conditions = []corev1.PersistentVolumeClaimCondition{{Type: corev1.PersistentVolumeClaimFileSystemResizePending, Status: corev1.ConditionTrue}}
		if err := k.client.Status().Update(ctx, grown); err != nil {
			return err
		}
		k.grows(claim, true)
		return nil
	}
	grown.Status.Conditions, grown.Status.Capacity = nil, claim.Spec.Resources.Requests
	return k.client.Status().Update(ctx, grown)
}

// grows begins one half of a claim's growth.
func (k *Kubelet) grows(claim *corev1.PersistentVolumeClaim, larger bool) {
	k.growing[claim.UID] = growth{size: *requested(claim), due: time.Now().Add(growAfter), larger: larger}
	time.AfterFunc(growAfter, k.poke)
}
