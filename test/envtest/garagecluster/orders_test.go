package garagecluster

import (
	"testing"

	"github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-dev/holdfast/api/garage/v1beta2"
	"github.com/holdfast-dev/holdfast/internal/garage/adminapi"
)

// What people ask for by annotation is done once, and they are told how it went.
func TestOrders(t *testing.T) {
	t.Parallel()
	l := start(t)
	cluster := l.cluster()
	l.isReady(cluster)
	l.order(cluster, v1beta2.AnnotationTriggerRepair, "Blocks", "")
	worker, _ := adminapi.RepairBlocks.Worker()
	for _, pod := range []string{"garage-storage-0-0", "garage-storage-1-0", "garage-storage-2-0"} {
		api := l.admin(pod)
		l.Eventually(func(g gomega.Gomega) {
			workers, err := api.ListWorkers(t.Context())
			g.Expect(err).NotTo(gomega.HaveOccurred())
			n := 0
			for _, one := range workers.Value {
				if one.Name == worker {
					n++
				}
			}
			g.Expect(n).To(gomega.Equal(1), pod)
		}).Should(gomega.Succeed())
	}
	l.order(cluster, v1beta2.AnnotationTriggerSnapshot, "true", "")
	l.order(cluster, v1beta2.AnnotationScrubCommand, "stop", "the value has to be one of start, pause, resume, cancel")
	l.order(cluster, v1beta2.AnnotationSkipDeadNodes, "true", "the layout waits for no node that is down")
	l.order(cluster, v1beta2.AnnotationForceLayoutApply, "true", "there is a layout already, and only the first one waits for nodes that are still to come")

	// All that somebody has staged is dropped, and the layout stays.
	api := l.admin("garage-storage-2-0")
	theirs := adminapi.Assign(adminapi.NodeID("ee00000000000000000000000000000000000000000000000000000000000000"), adminapi.Role{Zone: "theirs", Capacity: adminapi.Bytes(1 << 30)})
	if _, err := api.UpdateClusterLayout(t.Context(), adminapi.LayoutChange{Roles: []adminapi.RoleChange{theirs}}); err != nil {
		t.Fatal(err)
	}
	l.Eventually(func(g gomega.Gomega) { // the staging has reached the others
		layout, err := l.admin("garage-storage-0-0").GetClusterLayout(t.Context())
		g.Expect(err).NotTo(gomega.HaveOccurred())
		g.Expect(layout.Staged).To(gomega.HaveLen(1))
	}).Should(gomega.Succeed())
	l.order(cluster, v1beta2.AnnotationRevertLayout, "true", "")
	l.Eventually(func(g gomega.Gomega) {
		layout, err := api.GetClusterLayout(t.Context())
		g.Expect(err).NotTo(gomega.HaveOccurred())
		g.Expect(layout.Staged).To(gomega.BeEmpty())
		g.Expect(layout.Version).To(gomega.Equal(uint64(1)))
	}).Should(gomega.Succeed())
	l.isReady(cluster)
}

// order sets an annotation and waits until it was followed, with that error.
func (l *lab) order(cluster *v1beta2.GarageCluster, annotation, value, fails string) {
	l.Helper()
	l.Expect(l.client.Get(l.Context(), client.ObjectKeyFromObject(cluster), cluster)).To(gomega.Succeed())
	ordered := cluster.DeepCopy()
	ordered.Annotations = map[string]string{annotation: value}
	l.Expect(l.client.Patch(l.Context(), ordered, client.MergeFrom(cluster))).To(gomega.Succeed())
	l.Eventually(func(g gomega.Gomega) {
		g.Expect(l.client.Get(l.Context(), client.ObjectKeyFromObject(cluster), cluster)).To(gomega.Succeed())
		g.Expect(cluster.Annotations).NotTo(gomega.HaveKey(annotation))
		last := cluster.Status.LastOperation
		g.Expect(last).NotTo(gomega.BeNil())
		g.Expect("garage.rajsingh.info/" + last.Type).To(gomega.Equal(annotation))
		g.Expect(last.Consumed).To(gomega.HaveValue(gomega.BeTrue()))
		g.Expect(*last.Succeeded).To(gomega.Equal(fails == ""), last.Error)
		g.Expect(last.Error).To(gomega.Equal(fails))
	}).Should(gomega.Succeed())
}
