package natscluster

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-dev/holdfast/api/nats/cluster/v1beta1"
)

// inTheWay are objects of somebody else, one of each kind that a NatsCluster demo needs, by what they are called in
// a message. Some look like ours, down to the label that our cache is narrowed by.
func inTheWay() map[string]client.Object {
	selector := metav1.LabelSelector{MatchLabels: map[string]string{"app": "other"}}
	pod := corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: selector.MatchLabels},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "other", Image: "other"}}},
	}
	none := int32(0)
	objects := map[string]client.Object{
		"Service demo":             &corev1.Service{Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}}},
		"Service demo-headless":    &corev1.Service{Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}}},
		"PodDisruptionBudget demo": &policyv1.PodDisruptionBudget{Spec: policyv1.PodDisruptionBudgetSpec{Selector: &selector}},
		"NetworkPolicy demo":       &networkingv1.NetworkPolicy{},
		"Secret demo-routes-ca":    &corev1.Secret{StringData: map[string]string{"ca": "theirs"}},
		"Secret demo-routes-tls":   &corev1.Secret{StringData: map[string]string{"tls": "theirs"}},
		"ConfigMap demo-0-config":  &corev1.ConfigMap{Data: map[string]string{"nats.conf": "{}"}},
		"ConfigMap demo-2-config":  &corev1.ConfigMap{Data: map[string]string{"nats.conf": "{}"}},
		"StatefulSet demo-1":       &appsv1.StatefulSet{Spec: appsv1.StatefulSetSpec{Selector: &selector, Template: pod, Replicas: &none}},
	}
	for called, object := range objects {
		_, name, _ := strings.Cut(called, " ")
		object.SetName(name)
	}
	ours := map[string]string{v1beta1.LabelCluster: "demo"}
	objects["ConfigMap demo-2-config"].SetLabels(ours)
	objects["Service demo-headless"].SetLabels(ours)
	return objects
}

// TestForeignObjects has every name taken but some: each is named, none is touched, and no server comes into being
// beside them. When they are gone, the NatsCluster does.
func TestForeignObjects(t *testing.T) {
	t.Parallel()
	l := start(t)
	objects := inTheWay()
	for _, object := range objects {
		l.create(object)
	}
	created := versionsOf(l, objects)
	l.create(plain("demo", 3))
	cluster := l.until("demo", "refused", reason(v1beta1.ConditionReady, v1beta1.ReasonReconcileFailed))
	for _, kind := range []string{v1beta1.ConditionReady, v1beta1.ConditionProgressing} {
		message := condition(cluster, kind).Message
		for called := range objects {
			if !slices.Contains(strings.Split(strings.SplitN(message, ":", 2)[0], ", "), called) {
				t.Errorf("%s does not name %s: %s", kind, called, message)
			}
		}
	}
	if diff := cmp.Diff(created, versionsOf(l, objects)); diff != "" {
		t.Errorf("somebody else's objects were written:\n%s", diff)
	}
	var sets appsv1.StatefulSetList
	if err := l.client.List(t.Context(), &sets, client.InNamespace(l.namespace)); err != nil || len(sets.Items) != 1 {
		t.Errorf("%d StatefulSets beside foreign objects, %v", len(sets.Items)-1, err)
	}

	for _, called := range slices.Sorted(maps.Keys(objects)) {
		l.delete(objects[called])
	}
	l.untilAtRest("demo")
}

// versionsOf tells the objects apart from what somebody wrote to them since. A status belongs to others.
func versionsOf(l *lab, objects map[string]client.Object) map[string]string {
	l.Helper()
	found := map[string]string{}
	for called, object := range objects {
		live := get(l, object.GetName(), object.DeepCopyObject().(client.Object))
		found[called] = string(live.GetUID())
		for _, entry := range live.GetManagedFields() {
			if entry.Subresource == "" {
				found[called] += fmt.Sprintf(" %s %s %s", entry.Manager, entry.Time, entry.FieldsV1)
			}
		}
	}
	return found
}
