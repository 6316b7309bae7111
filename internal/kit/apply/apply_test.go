package apply_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

func (b *bench) kinds() map[string]client.Object {
	return map[string]client.Object{
		"ConfigMap": b.configMap(), "Secret": b.secret(), "Service": b.service(), "StatefulSet": b.statefulSet(),
		"PodDisruptionBudget": b.budget(), "NetworkPolicy": b.networkPolicy(),
	}
}

func TestApplyCreatesAndRests(t *testing.T) {
	for kind := range (&bench{owner: &corev1.ConfigMap{}}).kinds() {
		t.Run(kind, func(t *testing.T) {
			b := newBench(t)
			desired := b.kinds()[kind]
			before := desired.DeepCopyObject()
			b.apply(desired, true)
			if diff := cmp.Diff(before, desired); diff != "" {
				t.Error("Apply changed what was rendered:", diff)
			}
			b.rests(desired)

			got := live(b, desired)
			want := []metav1.OwnerReference{{
				APIVersion: "v1", Kind: "ConfigMap", Name: b.owner.Name, UID: b.owner.UID,
				Controller: new(true), BlockOwnerDeletion: new(true),
			}}
			if diff := cmp.Diff(want, got.GetOwnerReferences()); diff != "" {
				t.Error("owner references:", diff)
			}
			if sum := got.GetAnnotations()[digest]; len(sum) != 16 {
				t.Errorf("digest is %q", sum)
			}

			// An apply after the creation leaves the record of a plain apply, which is read the same way.
			labels := desired.GetLabels()
			delete(labels, "test.holdfast.dev/part")
			b.apply(desired, true)
			b.rests(desired)
			if _, stays := live(b, desired).GetLabels()["test.holdfast.dev/part"]; stays {
				t.Error("a label that is not rendered any more stays")
			}
		})
	}
}

func TestApplyFollowsTheRendering(t *testing.T) {
	b := newBench(t)
	desired := b.statefulSet()
	b.apply(desired, true)

	desired.Spec.Template.Spec.Containers[0].Image = "nats:2.15.4"
	desired.Spec.Template.Spec.Containers[0].Env = desired.Spec.Template.Spec.Containers[0].Env[:1]
	desired.Spec.Template.Spec.Containers = desired.Spec.Template.Spec.Containers[:1]
	b.apply(desired, true)
	b.rests(desired)

	containers := live(b, desired).Spec.Template.Spec.Containers
	if len(containers) != 1 || containers[0].Image != "nats:2.15.4" || len(containers[0].Env) != 1 {
		t.Errorf("containers are %+v", containers)
	}
}

// A user's change of a rendered field is set back.
func TestApplySetsChangesBack(t *testing.T) {
	for name, change := range map[string]func(*appsv1.StatefulSet){
		"zero to another value": func(s *appsv1.StatefulSet) { s.Spec.Replicas = new(int32(2)) },
		"false to true":         func(s *appsv1.StatefulSet) { s.Spec.Template.Spec.AutomountServiceAccountToken = new(true) },
		"field removed":         func(s *appsv1.StatefulSet) { s.Spec.Template.Spec.AutomountServiceAccountToken = nil },
		"label changed":         func(s *appsv1.StatefulSet) { s.Labels["test.holdfast.dev/part"] = "mine" },
		"every label changed": func(s *appsv1.StatefulSet) {
			s.Labels = map[string]string{"test.holdfast.dev/app": "x", "test.holdfast.dev/part": "y"}
		},
		"every label removed": func(s *appsv1.StatefulSet) { s.Labels = nil },
		"owner reference":     func(s *appsv1.StatefulSet) { s.OwnerReferences[0].BlockOwnerDeletion = new(false) },
		"digest removed":      func(s *appsv1.StatefulSet) { s.Annotations = nil },
		"quantity changed": func(s *appsv1.StatefulSet) {
			delete(s.Spec.Template.Spec.Containers[0].Resources.Limits, corev1.ResourceCPU)
		},
		"item removed": func(s *appsv1.StatefulSet) {
			s.Spec.Template.Spec.Containers[0].Env = s.Spec.Template.Spec.Containers[0].Env[:1]
		},
		"item changed":      func(s *appsv1.StatefulSet) { s.Spec.Template.Spec.Containers[0].Env[0].Value = "x" },
		"container removed": func(s *appsv1.StatefulSet) { s.Spec.Template.Spec.Containers = s.Spec.Template.Spec.Containers[:1] },
		"port's name":       func(s *appsv1.StatefulSet) { s.Spec.Template.Spec.Containers[0].Ports[0].Name = "x" },
		"whole list, added to": func(s *appsv1.StatefulSet) {
			s.Spec.Template.Spec.Tolerations = append(s.Spec.Template.Spec.Tolerations, corev1.Toleration{Key: "x", Operator: corev1.TolerationOpExists})
		},
		"argument added": func(s *appsv1.StatefulSet) {
			s.Spec.Template.Spec.Containers[0].Args = append(s.Spec.Template.Spec.Containers[0].Args, "-DV")
		},
	} {
		for _, after := range []string{"creation", "apply"} {
			t.Run(name+" after "+after, func(t *testing.T) {
				b := newBench(t)
				desired := b.statefulSet()
				if after == "apply" {
					desired.Spec.Template.Spec.Containers[0].Image = "nats:2.15.2"
					b.apply(desired, true)
					desired.Spec.Template.Spec.Containers[0].Image = "nats:2.15.3"
				}
				b.apply(desired, true)
				want := live(b, desired)

				edited := want.DeepCopy()
				change(edited)
				b.must(b.user.Update(t.Context(), edited))
				b.apply(desired, true)
				b.rests(desired)

				got := live(b, desired)
				if diff := cmp.Diff(want.Spec, got.Spec); diff != "" {
					t.Error("spec:", diff)
				}
				if diff := cmp.Diff(want.Labels, got.Labels); diff != "" {
					t.Error("labels:", diff)
				}
				if diff := cmp.Diff(want.OwnerReferences, got.OwnerReferences); diff != "" {
					t.Error("owner references:", diff)
				}
			})
		}
	}
}

func TestApplySetsBackWhatWouldOpenAPort(t *testing.T) {
	b := newBench(t)
	desired := b.networkPolicy()
	b.apply(desired, true)
	edited := live(b, desired)
	edited.Spec.Ingress = append(edited.Spec.Ingress, networkingv1.NetworkPolicyIngressRule{})
	b.must(b.user.Update(t.Context(), edited))

	b.apply(desired, true)
	b.rests(desired)
	if rules := live(b, desired).Spec.Ingress; len(rules) != 2 {
		t.Errorf("rules are %+v", rules)
	}
}

// What others add, and what is not rendered, is theirs.
func TestApplyLeavesAdditionsAlone(t *testing.T) {
	type statefulSet = appsv1.StatefulSet
	mesh := corev1.Container{
		Name: "mesh", Image: "mesh:1", TerminationMessagePath: "/m", TerminationMessagePolicy: "File", ImagePullPolicy: "Always",
	}
	for name, c := range map[string]struct {
		change func(*statefulSet)
		stays  func(*statefulSet) bool
	}{
		"label": {
			func(s *statefulSet) { s.Labels["mine"] = "x" },
			func(s *statefulSet) bool { return s.Labels["mine"] == "x" },
		},
		"annotation": {
			func(s *statefulSet) { s.Annotations["mine"] = "x" },
			func(s *statefulSet) bool { return s.Annotations["mine"] == "x" },
		},
		"defaulted field": {
			func(s *statefulSet) { s.Spec.RevisionHistoryLimit = new(int32(3)) },
			func(s *statefulSet) bool { return *s.Spec.RevisionHistoryLimit == 3 },
		},
		"container in front": {
			func(s *statefulSet) {
				s.Spec.Template.Spec.Containers = slices.Insert(s.Spec.Template.Spec.Containers, 0, mesh)
			},
			func(s *statefulSet) bool {
				return slices.ContainsFunc(s.Spec.Template.Spec.Containers, func(c corev1.Container) bool { return c.Image == mesh.Image })
			},
		},
		"order": {
			func(s *statefulSet) { slices.Reverse(s.Spec.Template.Spec.Containers) },
			func(*statefulSet) bool { return true },
		},
	} {
		for _, after := range []string{"creation", "apply"} {
			t.Run(name+" after "+after, func(t *testing.T) {
				b := newBench(t)
				desired := b.statefulSet()
				b.apply(desired, true)
				if after == "apply" {
					desired.Spec.Template.Spec.Containers[0].Image = "nats:2.15.4"
					b.apply(desired, true)
				}
				edited := live(b, desired)
				c.change(edited)
				b.must(b.user.Update(t.Context(), edited))
				b.rests(desired)

				desired.Spec.Template.Spec.Containers[1].Image = "exporter:2"
				b.apply(desired, true)
				b.rests(desired)
				if got := live(b, desired); !c.stays(got) {
					t.Errorf("the next change took it away: %+v", got)
				}
			})
		}
	}
}
