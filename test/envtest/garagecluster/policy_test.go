package garagecluster

import (
	"strings"
	"testing"
	"time"

	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-dev/holdfast/api/garage/v1beta1"
	"github.com/holdfast-dev/holdfast/api/garage/v1beta2"
	"github.com/holdfast-dev/holdfast/test/envtest/env"
)

// What the policy on DELETE lets through, by nothing but the object's own status, and by the end of its namespace.
func TestDeletePolicy(t *testing.T) {
	t.Parallel()
	l := &lab{TB: t, WithT: gomega.NewWithT(t), env: env.Start(t)}
	l.SetDefaultEventuallyTimeout(wait)
	l.client, l.namespace = l.env.Client, l.env.Namespace(t)
	id, other := strings.Repeat("0a", 32), strings.Repeat("0b", 32)
	proof := func(id string) v1beta1.DrainProof {
		return v1beta1.DrainProof{TransactionID: "t", NodeID: id, LayoutVersion: 2, RoleHash: "h", CompletedAt: new(metav1.Now())}
	}
	cases := map[string]struct {
		external bool
		status   v1beta1.GarageNodeStatus
		refused  bool
	}{
		"new":       {},
		"known":     {status: v1beta1.GarageNodeStatus{NodeID: id, InLayout: new(false)}},
		"member":    {status: v1beta1.GarageNodeStatus{NodeID: id, InLayout: new(true)}, refused: true},
		"was":       {status: v1beta1.GarageNodeStatus{NodeID: id, InLayout: new(false), EverInLayout: new(true)}, refused: true},
		"drained":   {status: v1beta1.GarageNodeStatus{NodeID: id, EverInLayout: new(true), DrainProof: proof(id)}},
		"exchanged": {status: v1beta1.GarageNodeStatus{NodeID: other, EverInLayout: new(true), DrainProof: proof(id)}, refused: true},
		"nobody":    {status: v1beta1.GarageNodeStatus{EverInLayout: new(true), DrainProof: proof(id)}, refused: true},
		"outside":   {external: true, status: v1beta1.GarageNodeStatus{EverInLayout: new(true)}, refused: true},
		"emptied":   {external: true, status: v1beta1.GarageNodeStatus{EverInLayout: new(true), DrainProof: proof(id)}},
		"torn-down": {status: v1beta1.GarageNodeStatus{NodeID: id, EverInLayout: new(true), TeardownSince: new(metav1.Now())}},
	}
	for name, c := range cases {
		l.userNode(name, func(spec *v1beta1.GarageNodeSpec) {
			if c.external {
				spec.NodeID, spec.External = strings.ToUpper(id), &v1beta1.ExternalNode{Address: "garage.example.com"}
				return
			}
			folder := v1beta1.NodeVolume{NodeVolumeShape: v1beta1.NodeVolumeShape{Type: v1beta2.VolumeTypeEmptyDir}}
			spec.Storage = &v1beta1.NodeStorage{Metadata: folder, Data: &folder}
		})
		node := l.nodes()[name]
		node.Status = c.status
		node.Status.ObservedGeneration = 1
		l.Expect(l.client.Status().Update(t.Context(), &node)).To(gomega.Succeed())
	}
	l.usePolicy("member")
	for name, c := range cases {
		if err := l.deleteNode(name, client.DryRunAll); apierrors.IsForbidden(err) != c.refused || err != nil && !c.refused {
			t.Errorf("%s: %v", name, err)
		}
	}
	everything := &v1beta1.GarageNode{}
	l.Expect(l.client.DeleteAllOf(t.Context(), everything, client.InNamespace(l.namespace))).To(gomega.Satisfy(apierrors.IsForbidden))
	l.Expect(l.client.Delete(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: l.namespace}})).To(gomega.Succeed())
	l.Eventually(func() error {
		return l.client.DeleteAllOf(t.Context(), everything, client.InNamespace(l.namespace))
	}).WithPolling(200 * time.Millisecond).Should(gomega.Succeed())
	l.Expect(l.nodes()).To(gomega.BeEmpty())
}
