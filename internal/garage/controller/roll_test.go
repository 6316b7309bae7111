package controller

import (
	"context"
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/holdfast-dev/holdfast/api/garage/v1beta1"
	"github.com/holdfast-dev/holdfast/api/garage/v1beta2"
	"github.com/holdfast-dev/holdfast/internal/garage/facts"
	"github.com/holdfast-dev/holdfast/internal/garage/identity"
	"github.com/holdfast-dev/holdfast/internal/garage/render"
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
