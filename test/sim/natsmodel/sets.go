package natsmodel

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-dev/holdfast/test/sim/apimodel"
)

const (
	setController = "statefulset-controller"
	collector     = "garbage-collector"
)

// setTransitions are what the StatefulSet controller may do next.
func (w *World) setTransitions() []Transition {
	var found []Transition
	add := func(name string, do func()) { found = append(found, Transition{name, do}) }
	for _, name := range w.all() {
		set, exists := peek(w, name, &appsv1.StatefulSet{})
		if !exists {
			continue
		}
		if step := w.setStep(set); step != nil {
			add("the StatefulSet controller sees to "+set.Name, step)
		}
		if status := w.setStatus(set); !equality.Semantic.DeepEqual(status, set.Status) {
			add("the StatefulSet controller reports "+set.Name, func() {
				reported := set.DeepCopy()
				reported.Status = status
				must(w.API.UpdateStatus(setController, reported))
			})
		}
	}
	return found
}

// collectorTransitions are what the garbage collector may do next.
func (w *World) collectorTransitions() []Transition {
	var found []Transition
	add := func(name string, do func()) { found = append(found, Transition{name, do}) }
	for _, name := range w.all() {
		p, has := peek(w, name+"-0", &corev1.Pod{})
		if !has || p.DeletionTimestamp != nil {
			continue
		}
		owner := metav1.GetControllerOf(p)
		set, exists := peek(w, name, &appsv1.StatefulSet{})
		if owner != nil && (!exists || set.UID != owner.UID) {
			add("the owner of "+p.Name+" is gone", func() { w.deletePod(collector, p) })
		}
	}
	if w.Gone() {
		for _, object := range w.owned() {
			add("the owner of "+keyOf(object).String()+" is gone", func() { _ = w.API.Delete(collector, keyOf(object), nil, w.now()) })
		}
	}
	return found
}

// owned are the objects that the NatsCluster controls.
func (w *World) owned() []client.Object {
	var found []client.Object
	for _, like := range []client.Object{
		&appsv1.StatefulSet{}, &corev1.ConfigMap{}, &corev1.Service{}, &policyv1.PodDisruptionBudget{}, &networkingv1.NetworkPolicy{},
	} {
		objects := w.API.List(kindOf(like), Namespace, nil, apimodel.Newest)
		found = append(found, slices.DeleteFunc(objects, func(object client.Object) bool { return !controlled(object) })...)
	}
	return found
}

// setStep is what a StatefulSet's one replica needs; nil for nothing.
func (w *World) setStep(set *appsv1.StatefulSet) func() {
	p, exists := peek(w, set.Name+"-0", &corev1.Pod{})
	wanted := ptr.Deref(set.Spec.Replicas, 1) > 0
	switch {
	case !exists && wanted:
		return func() { w.createPod(set) }
	case !exists, p.DeletionTimestamp != nil:
		return nil
	case metav1.GetControllerOf(p) == nil && selects(set, p):
		return func() {
			adopted := p.DeepCopy()
			adopted.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(set, appsv1.SchemeGroupVersion.WithKind("StatefulSet"))}
			must(w.API.Update(setController, adopted))
		}
	case metav1.IsControlledBy(p, set) && (!wanted || p.Labels[appsv1.ControllerRevisionHashLabelKey] != w.hashOf(set)):
		return func() { w.deletePod(setController, p) }
	}
	return nil
}

func selects(set *appsv1.StatefulSet, p *corev1.Pod) bool {
	for name, value := range set.Spec.Selector.MatchLabels {
		if p.Labels[name] != value {
			return false
		}
	}
	return true
}

func (w *World) createPod(set *appsv1.StatefulSet) {
	for _, template := range set.Spec.VolumeClaimTemplates {
		w.ensureClaim(set, template)
	}
	name := set.Name + "-0"
	labels := maps.Clone(set.Spec.Template.Labels)
	labels[appsv1.ControllerRevisionHashLabelKey] = w.hashOf(set)
	created := must(w.API.Create(setController, setController, &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: Namespace, Name: name, Labels: labels, Annotations: maps.Clone(set.Spec.Template.Annotations),
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(set, appsv1.SchemeGroupVersion.WithKind("StatefulSet"))},
		},
		Spec: *set.Spec.Template.Spec.DeepCopy(),
	}))
	w.made++
	w.pods[created.GetUID()] = &pod{server: set.Name, uid: created.GetUID(), ip: fmt.Sprintf("10.0.%d.%d", w.made/250, w.made%250+1)}
}

func (w *World) ensureClaim(set *appsv1.StatefulSet, template corev1.PersistentVolumeClaim) {
	name := template.Name + "-" + set.Name + "-0"
	if _, exists := peek(w, name, &corev1.PersistentVolumeClaim{}); exists {
		return
	}
	labels := maps.Clone(template.Labels)
	if labels == nil {
		labels = map[string]string{}
	}
	maps.Copy(labels, set.Spec.Selector.MatchLabels)
	must(w.API.Create(setController, setController, &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: Namespace, Name: name, Labels: labels, Annotations: template.Annotations},
		Spec:       *template.Spec.DeepCopy(),
	}))
}

// deletePod asks for a Pod's end. One that was never put on a node is gone at once.
func (w *World) deletePod(by string, p *corev1.Pod) {
	_ = w.API.Delete(by, keyOf(p), nil, w.now())
	if known := w.pods[p.UID]; known == nil || !known.scheduled {
		w.API.Remove(by, keyOf(p))
		delete(w.pods, p.UID)
	}
}

func keyOf(object client.Object) apimodel.Key {
	return apimodel.Key{Kind: kindOf(object), Namespace: object.GetNamespace(), Name: object.GetName()}
}

// hashOf names the content of a StatefulSet's template, as a ControllerRevision does.
func (w *World) hashOf(set *appsv1.StatefulSet) string {
	version := string(set.UID) + "/" + set.ResourceVersion
	if w.hashes[version] == "" {
		w.hashes[version] = set.Name + "-" + sumOf(set.Spec.Template)
	}
	return w.hashes[version]
}

func sumOf(template corev1.PodTemplateSpec) string {
	sum := sha256.Sum256(must(json.Marshal(template)))
	return hex.EncodeToString(sum[:5])
}

// setStatus is what the StatefulSet controller has to report.
func (w *World) setStatus(set *appsv1.StatefulSet) appsv1.StatefulSetStatus {
	status := appsv1.StatefulSetStatus{ObservedGeneration: set.Generation, UpdateRevision: w.hashOf(set), CurrentRevision: w.hashOf(set)}
	if p, exists := peek(w, set.Name+"-0", &corev1.Pod{}); exists && metav1.IsControlledBy(p, set) {
		status.Replicas = 1
		if slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
			return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
		}) {
			status.ReadyReplicas, status.AvailableReplicas = 1, 1
		}
	}
	return status
}
