package removal

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/holdfast-dev/holdfast/api/garage/v1beta1"
	"github.com/holdfast-dev/holdfast/api/garage/v1beta2"
	"github.com/holdfast-dev/holdfast/internal/garage/facts"
	"github.com/holdfast-dev/holdfast/internal/kit/apply"
)

// A store that ends while a Pod of it is replaced leaves no claim behind that nobody lets go: its journal goes with it.
func TestAClaimIsLetGoOfTheRolloutToo(t *testing.T) {
	held := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{
		Namespace: "ns", Name: "data-b", Finalizers: []string{v1beta2.FinalizerClaim, v1beta2.FinalizerStorageRollout, "example.com/somebody"},
	}}
	store := fake.NewClientBuilder().WithObjects(held).Build()
	key := client.ObjectKeyFromObject(held)
	actor := Actor{
		Applier: &apply.Applier{Client: store, Reader: store, Owner: "test"},
		Reread: func(ctx context.Context) (World, Objects, error) {
			var claim corev1.PersistentVolumeClaim
			err := store.Get(ctx, key, &claim)
			world := World{Nodes: []Node{{Name: "b", Guarded: true, Deleting: true, Marked: true, Claims: []Claim{{Name: "data-b", Guarded: true}}}}}
			node := facts.Node{GarageNode: &v1beta1.GarageNode{ObjectMeta: metav1.ObjectMeta{Name: "b"}}, Claims: []corev1.PersistentVolumeClaim{claim}}
			return world, Objects{Nodes: facts.Nodes{node}}, err
		},
	}
	if done, err := actor.Act(t.Context(), Action{Kind: FreeClaim, Node: "b", Claim: "data-b"}); !done || err != nil {
		t.Fatalf("%v, %v", done, err)
	}
	var claim corev1.PersistentVolumeClaim
	if err := store.Get(t.Context(), key, &claim); err != nil || len(claim.Finalizers) != 1 || claim.Finalizers[0] != "example.com/somebody" {
		t.Errorf("%v, %v", claim.Finalizers, err)
	}
}
