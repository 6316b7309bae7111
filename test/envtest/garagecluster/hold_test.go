package garagecluster

import (
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-dev/holdfast/api/garage/v1beta1"
	"github.com/holdfast-dev/holdfast/api/garage/v1beta2"
	"github.com/holdfast-dev/holdfast/internal/garage/adminapi"
)

// A node whose metadata disk comes back empty starts as somebody else, without a complaint. It gets no role, no requests, and
// the identity that is on record stays.
func TestADiskThatComesBackEmpty(t *testing.T) {
	t.Parallel()
	l := start(t)
	cluster := l.cluster()
	l.isReady(cluster)
	before := l.nodes()["garage-storage-1"]
	l.kubelet.EmptyClaim("metadata-garage-storage-1-0")
	l.Expect(l.client.Delete(t.Context(), &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: l.namespace, Name: "garage-storage-1-0"}})).To(gomega.Succeed())
	l.Eventually(func(g gomega.Gomega) {
		node := l.nodes()["garage-storage-1"]
		ready := meta.FindStatusCondition(node.Status.Conditions, v1beta1.ConditionReady)
		g.Expect(ready).NotTo(gomega.BeNil())
		g.Expect(ready.Reason).To(gomega.Equal(v1beta1.ReasonReconcileFailed))
		g.Expect(ready.Message).To(gomega.HavePrefix("its disk is another one"))
		g.Expect(node.Status.NodeID).To(gomega.Equal(before.Status.NodeID))
	}).Should(gomega.Succeed())
	var pod corev1.Pod
	l.Expect(l.client.Get(t.Context(), client.ObjectKey{Namespace: l.namespace, Name: "garage-storage-1-0"}, &pod)).To(gomega.Succeed())
	if pod.Labels[v1beta2.LabelS3Member] != "" {
		t.Error("a process without a role is in the S3 Service")
	}
	layout, err := l.admin("garage-storage-0-0").GetClusterLayout(t.Context())
	if err != nil || layout.Version != 1 || len(layout.Roles) != 3 || len(layout.Staged) != 0 {
		t.Errorf("the layout is %+v, %v", layout, err)
	}
}

// What somebody else has staged is neither applied nor dropped: it is named, and a change waits until it is gone.
func TestSomebodyElseStages(t *testing.T) {
	t.Parallel()
	l := start(t)
	cluster := l.cluster()
	l.isReady(cluster)
	api := l.admin("garage-storage-2-0")
	theirs := adminapi.Assign(adminapi.NodeID("ee00000000000000000000000000000000000000000000000000000000000000"),
		adminapi.Role{Zone: "theirs", Capacity: adminapi.Bytes(1 << 30)})
	if _, err := api.UpdateClusterLayout(t.Context(), adminapi.LayoutChange{Roles: []adminapi.RoleChange{theirs}}); err != nil {
		t.Fatal(err)
	}
	moved := cluster.DeepCopy()
	moved.Spec.Zone = "elsewhere"
	l.Expect(l.client.Patch(t.Context(), moved, client.MergeFrom(cluster))).To(gomega.Succeed())
	l.Eventually(func(g gomega.Gomega) {
		g.Expect(l.client.Get(t.Context(), client.ObjectKeyFromObject(cluster), cluster)).To(gomega.Succeed())
		g.Expect(cluster.Status.LayoutDiagnosis).To(gomega.ContainSubstring("node ee00000000000000 with 1073741824 bytes in zone theirs"))
	}).Should(gomega.Succeed())
	l.Consistently(func(g gomega.Gomega) {
		layout, err := api.GetClusterLayout(t.Context())
		g.Expect(err).NotTo(gomega.HaveOccurred())
		g.Expect(layout.Version).To(gomega.Equal(uint64(1)))
		g.Expect(layout.Staged).To(gomega.HaveLen(1))
	}, 10*time.Second, time.Second).Should(gomega.Succeed())
	if _, err := api.RevertClusterLayout(t.Context()); err != nil {
		t.Fatal(err)
	}
	l.Eventually(func(g gomega.Gomega) {
		for _, node := range l.nodes() {
			g.Expect(node.Status.Zone).To(gomega.Equal("elsewhere"))
		}
	}).Should(gomega.Succeed())
	layout, err := api.GetClusterLayout(t.Context())
	if err != nil || layout.Version != 2 || len(layout.Roles) != 3 {
		t.Errorf("the layout is %+v, %v", layout, err)
	}
}

// A store at rest is looked at, and nothing is written but that the machine's disk has filled up by a percent.
func TestAtRest(t *testing.T) {
	t.Parallel()
	l := start(t)
	cluster := l.cluster()
	l.isReady(cluster)
	l.Eventually(func(g gomega.Gomega) {
		var serving corev1.PodList
		g.Expect(l.client.List(t.Context(), &serving, client.InNamespace(l.namespace), client.HasLabels{v1beta2.LabelS3Member})).To(gomega.Succeed())
		g.Expect(serving.Items).To(gomega.HaveLen(3))
	}).Should(gomega.Succeed())
	// What a member comes to know of others by gossip is told once, at a look that may be a minute later.
	l.Eventually(func(g gomega.Gomega) {
		for _, node := range l.nodes() {
			g.Expect(node.Status.Hostname).NotTo(gomega.BeEmpty())
			g.Expect(node.Status.Address).NotTo(gomega.BeEmpty())
		}
	}).Should(gomega.Succeed())
	l.Eventually(func() int {
		l.requests.Take()
		<-time.After(15 * time.Second)
		return l.writes()
	}).Should(gomega.BeZero())
	before := l.nodes()
	l.requests.Take()
	<-time.After(75 * time.Second) // a look each minute
	disks, after := 0, l.nodes()
	for name, was := range before {
		is := after[name]
		if !reflect.DeepEqual(was.Status.DataPartition, is.Status.DataPartition) || !reflect.DeepEqual(was.Status.MetadataPartition, is.Status.MetadataPartition) {
			disks++
		}
	}
	if n := l.writes(); n != disks {
		t.Errorf("%d writes at rest, and %d for the disk:\n%s", n, disks, cmp.Diff(before, after))
	}
}

// writes are those of the controller since the last look, but for its events.
func (l *lab) writes() int {
	n := 0
	for request, times := range l.requests.Take() {
		if request.Writes() && request.Resource != "events" {
			n += times
			l.Logf("%d times %v", times, request)
		}
	}
	return n
}
