package controller

import (
	"context"
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/holdfast-dev/holdfast/api/garage/v1beta1"
	"github.com/holdfast-dev/holdfast/api/garage/v1beta2"
	"github.com/holdfast-dev/holdfast/internal/garage/facts"
	"github.com/holdfast-dev/holdfast/internal/garage/identity"
	"github.com/holdfast-dev/holdfast/internal/garage/render"
	"github.com/holdfast-dev/holdfast/internal/garage/rollout"
	"github.com/holdfast-dev/holdfast/internal/kit/events"
)

// A user's claim that is being deleted is there only as long as the Pod is.
func TestAClaimOfAUsersThatGoesWithThePod(t *testing.T) {
	claim := func(name string, deleted *metav1.Time) client.Object {
		return &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{
			Namespace: "ns", Name: name, DeletionTimestamp: deleted, Finalizers: []string{"kubernetes.io/pvc-protection"},
		}}
	}
	now := metav1.Now()
	there := fake.NewClientBuilder().WithObjects(claim("stays", nil), claim("goes", &now)).Build()
	reader := interceptor.NewClient(there, interceptor.Funcs{
		Get: func(ctx context.Context, under client.WithWatch, key client.ObjectKey, into client.Object, options ...client.GetOption) error {
			if key.Name == "unread" {
				return errors.New("no answer")
			}
			return under.Get(ctx, key, into, options...)
		},
	})
	p := newPass(&Reconciler{Live: reader}, &v1beta2.GarageCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "ns"}})
	node := facts.Node{GarageNode: &v1beta1.GarageNode{ObjectMeta: metav1.ObjectMeta{Name: "a"}}, Pod: &corev1.Pod{}}
	for name, want := range map[string]string{
		"stays":  "",
		"goes":   "claim goes is being deleted, and would be gone with the Pod",
		"gone":   "",
		"unread": "whether claim unread is to stay is not known: no answer",
	} {
		rendered := render.Node{PodSpecHash: "new", Claims: []render.Claim{{Name: "stays", Existing: true}, {Name: name, Existing: true}}}
		one, err := p.rolloutNode(t.Context(), node, rendered, facts.Processes{}, identity.Plan{})
		if err != nil || one.Claims != want {
			t.Errorf("%s: %q, %v; want %q", name, one.Claims, err, want)
		}
	}
}

// related keeps what events are related to.
type related []runtime.Object

func (r *related) Eventf(_, to runtime.Object, _, _, _, _ string, _ ...any) { *r = append(*r, to) }

// The event of a step of a node that has no Pod, or is gone, has nothing that it could trip over.
func TestAStepWithoutAPodIsTold(t *testing.T) {
	var told related
	p := newPass(&Reconciler{Events: events.Recorder{Events: &told}}, &v1beta2.GarageCluster{})
	pod := &corev1.Pod{}
	p.nodes = facts.Nodes{
		{GarageNode: &v1beta1.GarageNode{ObjectMeta: metav1.ObjectMeta{Name: "a"}}, Pod: pod},
		{GarageNode: &v1beta1.GarageNode{ObjectMeta: metav1.ObjectMeta{Name: "b"}}},
	}
	for _, name := range []string{"a", "b", "gone"} {
		p.tellOfStep(rollout.Plan{Action: &rollout.Action{Kind: rollout.Release, Node: name}})
	}
	if len(told) != 3 || told[0] != pod || told[1] != nil || told[2] != nil {
		t.Errorf("%#v", told)
	}
}
