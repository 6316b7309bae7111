package workload

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-dev/holdfast/api/garage/v1beta1"
	"github.com/holdfast-dev/holdfast/api/garage/v1beta2"
	"github.com/holdfast-dev/holdfast/internal/garage/facts"
	"github.com/holdfast-dev/holdfast/internal/garage/render"
)

func name(i int) string { return fmt.Sprintf("g-storage-%d", i) }

// running are so many nodes of the controller's, each with a StatefulSet and a role, of so many that are asked for.
func running(exist, wanted int) *World {
	w := &World{InLayout: map[string]bool{}, Settled: true, Rendered: map[string]render.Node{}}
	for i := range wanted {
		w.Wanted = append(w.Wanted, name(i))
	}
	for i := range exist {
		w.Nodes = append(w.Nodes, facts.Node{
			GarageNode: &v1beta1.GarageNode{ObjectMeta: metav1.ObjectMeta{
				Name: name(i), Labels: map[string]string{v1beta2.LabelAutoNodeSlot: fmt.Sprint(i)},
				OwnerReferences: []metav1.OwnerReference{{Kind: v1beta2.KindGarageCluster, Name: "g", UID: "u", Controller: new(true)}},
			}},
			StatefulSet: &appsv1.StatefulSet{},
		})
		w.InLayout[name(i)] = true
		w.Rendered[name(i)] = render.Node{}
	}
	return w
}

func TestDecide(t *testing.T) {
	for label, c := range map[string]struct {
		given func() *World
		want  Plan
	}{
		"at first all nodes are made": {
			given: func() *World { w := running(0, 3); w.InLayout, w.Settled = nil, false; return w },
			want:  Plan{Add: []string{name(0), name(1), name(2)}},
		},
		"and the rest of them": {
			given: func() *World { w := running(1, 3); w.InLayout, w.Settled = nil, false; return w },
			want:  Plan{Add: []string{name(1), name(2)}},
		},
		"nodes that are to be users' are left to them, none is surplus": {
			given: func() *World { w := running(2, 0); w.Manual = true; return w },
			want:  Plan{Eject: []string{name(0), name(1)}},
		},
		"one that was is left alone": {
			given: func() *World {
				w := running(2, 0)
				w.Manual, w.Nodes[0].GarageNode.OwnerReferences = true, nil
				w.Nodes[1].GarageNode.OwnerReferences[0].Kind = "Other"
				return w
			},
		},
		"as many as asked for rest": {
			given: func() *World { return running(3, 3) },
		},
		"later ones come one at a time": {
			given: func() *World { return running(3, 5) },
			want:  Plan{Add: []string{name(3)}, Later: []string{name(4)}},
		},
		"not while a layout is taken over": {
			given: func() *World { w := running(3, 5); w.Settled = false; return w },
			want:  Plan{Later: []string{name(3), name(4)}},
		},
		"nor before the one before has its role": {
			given: func() *World { w := running(4, 5); w.InLayout[name(3)] = false; return w },
			want:  Plan{Later: []string{name(4)}},
		},
		"a node of a user's is not waited for": {
			given: func() *World {
				w := running(3, 4)
				w.Nodes = append(w.Nodes, facts.Node{GarageNode: &v1beta1.GarageNode{ObjectMeta: metav1.ObjectMeta{Name: "mine"}}})
				return w
			},
			want: Plan{Add: []string{name(3)}},
		},
		"one that is gone comes back": {
			given: func() *World { w := running(3, 3); w.Nodes = slices.Delete(w.Nodes, 1, 2); return w },
			want:  Plan{Add: []string{name(1)}},
		},
		"what is too much is told": {
			given: func() *World { return running(4, 3) },
			want:  Plan{Surplus: []string{name(3)}},
		},
		"but not a user's": {
			given: func() *World { w := running(4, 3); w.Nodes[3].GarageNode.Labels = nil; return w },
		},
		"a node without a StatefulSet gets one": {
			given: func() *World { w := running(3, 3); w.Nodes[1].StatefulSet = nil; return w },
			want:  Plan{Create: []string{name(1)}},
		},
		"not while its Pod runs": {
			given: func() *World {
				w := running(3, 3)
				w.Nodes[1].StatefulSet, w.Nodes[1].Pod = nil, &corev1.Pod{}
				return w
			},
		},
		"nor when it is to go": {
			given: func() *World {
				w := running(3, 3)
				w.Nodes[1].StatefulSet, w.Nodes[1].GarageNode.DeletionTimestamp = nil, &metav1.Time{}
				return w
			},
		},
		"nor when it runs elsewhere": {
			given: func() *World { w := running(3, 3); w.Nodes[1].StatefulSet = nil; delete(w.Rendered, name(1)); return w },
		},
	} {
		t.Run(label, func(t *testing.T) {
			if diff := cmp.Diff(c.want, Decide(*c.given()), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
