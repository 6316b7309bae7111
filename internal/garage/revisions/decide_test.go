package revisions

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestDecide(t *testing.T) {
	mounts := func(name string) corev1.PodSpec {
		source := corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: name}}
		return corev1.PodSpec{Volumes: []corev1.Volume{{Name: "data"}, {Name: "config", VolumeSource: corev1.VolumeSource{ConfigMap: &source}}}}
	}
	of := func(names ...string) []corev1.ConfigMap {
		var all []corev1.ConfigMap
		for _, name := range names {
			all = append(all, corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}})
		}
		return all
	}
	leaving := of("leaving")
	leaving[0].DeletionTimestamp = &metav1.Time{}
	w := World{
		Configs:      append(of("old", "set", "pod", "now"), leaving...),
		StatefulSets: []appsv1.StatefulSet{{Spec: appsv1.StatefulSetSpec{Template: corev1.PodTemplateSpec{Spec: mounts("set")}}}},
		Pods:         []corev1.Pod{{Spec: mounts("pod")}},
		Rendered:     map[string]bool{"now": true},
	}
	if diff := cmp.Diff(of("old"), Decide(w)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	w.Rolling = true
	if got := Decide(w); got != nil {
		t.Errorf("during a rollout %v go", got)
	}
}
