package kubelet

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// syncSet takes a StatefulSet one step on, as the StatefulSet controller does for one replica: no Pod, make it;
// a Pod of an old template, delete it and wait until it is gone.
func (k *Kubelet) syncSet(ctx context.Context, set *appsv1.StatefulSet, w *world) error {
	if set.DeletionTimestamp != nil {
		return nil
	}
	replicas := ptr.Deref(set.Spec.Replicas, 1)
	if replicas > 1 {
		return errors.New("a StatefulSet of more than one replica is not simulated")
	}
	revision, err := revisionOf(set)
	if err != nil {
		return err
	}
	pod, foreign := podOf(set, w)
	step := k.ownClaims(ctx, set, pod, w)
	switch {
	case step != nil: // who owns a claim is settled before its Pod goes
	case foreign:
		step = fmt.Errorf("the Pod %s-0 exists and belongs to something else", set.Name)
	case pod == nil && replicas == 1:
		step = k.createPod(ctx, set, revision, w)
	case pod != nil && pod.DeletionTimestamp == nil && (replicas == 0 || outdated(set, pod, revision)):
		step = client.IgnoreNotFound(k.client.Delete(ctx, pod.DeepCopy(), client.Preconditions{UID: &pod.UID}))
	}
	k.complain(set.Name, step)
	return k.reportSet(ctx, set, pod, revision)
}

// revisionOf names the template's content as a ControllerRevision would.
func revisionOf(set *appsv1.StatefulSet) (string, error) {
	template, err := json.Marshal(set.Spec.Template)
	sum := sha256.Sum256(template)
	return set.Name + "-" + hex.EncodeToString(sum[:5]), err
}

func podOf(set *appsv1.StatefulSet, w *world) (pod *corev1.Pod, foreign bool) {
	i := slices.IndexFunc(w.pods.Items, func(p corev1.Pod) bool { return p.Name == set.Name+"-0" })
	if i < 0 {
		return nil, false
	}
	if !metav1.IsControlledBy(&w.pods.Items[i], set) {
		return nil, true
	}
	return &w.pods.Items[i], false
}

func outdated(set *appsv1.StatefulSet, pod *corev1.Pod, revision string) bool {
	return set.Spec.UpdateStrategy.Type == appsv1.RollingUpdateStatefulSetStrategyType &&
		pod.Labels[appsv1.ControllerRevisionHashLabelKey] != revision
}

func (k *Kubelet) createPod(ctx context.Context, set *appsv1.StatefulSet, revision string, w *world) error {
	name := set.Name + "-0"
	spec := *set.Spec.Template.Spec.DeepCopy()
	spec.Hostname, spec.Subdomain = name, set.Spec.ServiceName
	for _, template := range set.Spec.VolumeClaimTemplates {
		claim := template.Name + "-" + name
		if err := k.ensureClaim(ctx, set, template, claim, w); err != nil {
			return err
		}
		// A claim's volume replaces one of the same name in the template.
		spec.Volumes = slices.DeleteFunc(spec.Volumes, func(v corev1.Volume) bool { return v.Name == template.Name })
		spec.Volumes = append(spec.Volumes, corev1.Volume{Name: template.Name, VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim},
		}})
	}
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: set.Namespace, Name: name,
			Labels: maps.Clone(set.Spec.Template.Labels), Annotations: maps.Clone(set.Spec.Template.Annotations),
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(set, appsv1.SchemeGroupVersion.WithKind("StatefulSet"))},
		},
		Spec: spec,
	}
	if pod.Labels == nil {
		pod.Labels = map[string]string{}
	}
	pod.Labels[appsv1.ControllerRevisionHashLabelKey] = revision
	pod.Labels[appsv1.StatefulSetPodNameLabel] = name
	pod.Labels[appsv1.PodIndexLabel] = "0"
	return k.client.Create(ctx, pod)
}

// reportSet writes the status where it differs.
func (k *Kubelet) reportSet(ctx context.Context, set *appsv1.StatefulSet, pod *corev1.Pod, revision string) error {
	status := appsv1.StatefulSetStatus{
		ObservedGeneration: set.Generation, UpdateRevision: revision, CurrentRevision: set.Status.CurrentRevision,
		CollisionCount: new(int32(0)),
	}
	if status.CurrentRevision == "" {
		status.CurrentRevision = revision
	}
	if pod != nil {
		status.Replicas = 1
		if isReady(pod) {
			status.ReadyReplicas, status.AvailableReplicas = 1, 1
		}
		if pod.DeletionTimestamp == nil && pod.Labels[appsv1.ControllerRevisionHashLabelKey] == revision {
			status.UpdatedReplicas = 1
		}
		if pod.DeletionTimestamp == nil && pod.Labels[appsv1.ControllerRevisionHashLabelKey] == status.CurrentRevision {
			status.CurrentReplicas = 1
		}
	}
	if status.UpdatedReplicas == 1 && status.ReadyReplicas == 1 { // the update is complete
		status.CurrentRevision, status.CurrentReplicas = revision, 1
	}
	if equality.Semantic.DeepEqual(status, set.Status) {
		return nil
	}
	updated := set.DeepCopy()
	updated.Status = status
	return client.IgnoreNotFound(k.client.Status().Update(ctx, updated))
}
