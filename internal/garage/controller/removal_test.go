package controller

import (
	"errors"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/holdfast-dev/holdfast/api/garage/v1beta1"
	"github.com/holdfast-dev/holdfast/api/garage/v1beta2"
	"github.com/holdfast-dev/holdfast/internal/garage/removal"
)

// A StatefulSet and a claim whose labels somebody took away are not left to run on, or with a finalizer that nobody takes off.
func TestWhatHasNoLabelsIsLetGo(t *testing.T) {
	size := resource.MustParse("1Gi")
	volume := v1beta1.NodeVolume{NodeVolumeShape: v1beta1.NodeVolumeShape{Size: &size}}
	now := metav1.Now()
	node := &v1beta1.GarageNode{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "n", Finalizers: []string{v1beta2.FinalizerGarageNode}, DeletionTimestamp: &now},
		Spec: v1beta1.GarageNodeSpec{
			ClusterRef: v1beta1.ClusterReference{Name: "garage"}, Storage: &v1beta1.NodeStorage{Metadata: volume, Data: &volume},
		},
		Status: v1beta1.GarageNodeStatus{TeardownSince: &now},
	}
	node.UID = "uid"
	set := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{
		Namespace: "ns", Name: "n", OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(node, v1beta1.GroupVersion.WithKind("GarageNode"))},
	}}
	claim := func(name, finalizer string) client.Object {
		return &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, Finalizers: []string{finalizer}}}
	}
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), v1beta1.AddToScheme(scheme), v1beta2.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	there := fake.NewClientBuilder().WithScheme(scheme).WithObjects(node, set,
		claim("data-n-0", v1beta2.FinalizerClaim), claim("metadata-n-0", "kubernetes.io/pvc-protection"), claim("data-m-0", v1beta2.FinalizerClaim)).Build()
	r := &Reconciler{Client: there, Live: there, Clock: clock.RealClock{}}
	actor := r.removalActor(client.ObjectKey{Namespace: "ns", Name: "garage"}, nil)
	for _, want := range []removal.Action{{Kind: removal.Stop, Node: "n"}, {Kind: removal.FreeClaim, Node: "n", Claim: "data-n-0"}, {Kind: removal.FreeNode, Node: "n"}} {
		if done, err := actor.Act(t.Context(), want); !done || err != nil {
			t.Fatalf("%+v: %t, %v", want, done, err)
		}
	}
	for name, want := range map[string]int{"data-n-0": 0, "metadata-n-0": 1, "data-m-0": 1} {
		var claim corev1.PersistentVolumeClaim
		if err := there.Get(t.Context(), client.ObjectKey{Namespace: "ns", Name: name}, &claim); err != nil || len(claim.Finalizers) != want {
			t.Errorf("%s: %v, %v", name, claim.Finalizers, err)
		}
	}
}
