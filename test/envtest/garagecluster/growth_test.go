package garagecluster

import (
	"testing"
	"time"

	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-dev/holdfast/api/garage/v1beta2"
)

// Larger disks are one edit. While the StorageClass does not let claims grow nothing is written, and that is said; then the claims
// grow, and when all of them have, the layout counts with it, in one version.
func TestDisksGrow(t *testing.T) {
	t.Parallel()
	l := start(t)
	class := &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: l.namespace}, Provisioner: "example.com/none"}
	l.Expect(l.client.Create(t.Context(), class)).To(gomega.Succeed())
	cluster := l.cluster(func(c *v1beta2.GarageCluster) {
		c.Spec.Storage.Metadata.StorageClassName, c.Spec.Storage.Data.StorageClassName = &l.namespace, &l.namespace
	})
	l.isReady(cluster)
	grown := cluster.DeepCopy()
	grown.Spec.Storage.Metadata.Size, grown.Spec.Storage.Data.Size = new(resource.MustParse("2Gi")), new(resource.MustParse("3Gi"))
	l.Expect(l.client.Patch(t.Context(), grown, client.MergeFrom(cluster))).To(gomega.Succeed())
	l.Eventually(func(g gomega.Gomega) {
		g.Expect(l.client.Get(t.Context(), client.ObjectKeyFromObject(grown), grown)).To(gomega.Succeed())
		ready := meta.FindStatusCondition(grown.Status.Conditions, v1beta2.ConditionReady)
		g.Expect(ready.Status).To(gomega.Equal(metav1.ConditionTrue))
		g.Expect(ready.Message).To(gomega.ContainSubstring("garage-storage-0: its claim data-garage-storage-0-0 does not grow from 1Gi to 3Gi: StorageClass " + l.namespace + " does not let it"))
	}).Should(gomega.Succeed())
	l.Consistently(func() string { return l.sizes("metadata") + l.sizes("data") + l.capacities() }, 5*time.Second, time.Second).
		Should(gomega.Equal("1Gi/1Gi 1Gi/1Gi 1Gi/1Gi 1Gi/1Gi 1Gi/1Gi 1Gi/1Gi version 1: 1Gi 1Gi 1Gi"))

	class.AllowVolumeExpansion = new(true)
	l.Expect(l.client.Update(t.Context(), class)).To(gomega.Succeed())
	awake := grown.DeepCopy() // a class is looked at once a minute
	awake.Annotations = map[string]string{"example.com/awake": "true"}
	l.Expect(l.client.Patch(t.Context(), awake, client.MergeFrom(grown))).To(gomega.Succeed())
	l.Eventually(func() string { return l.sizes("metadata") + l.sizes("data") + l.capacities() }).
		Should(gomega.Equal("2Gi/2Gi 2Gi/2Gi 2Gi/2Gi 3Gi/3Gi 3Gi/3Gi 3Gi/3Gi version 2: 3Gi 3Gi 3Gi"))
	l.isReady(grown)
}

// sizes are what the claims for a volume ask for and have, node by node.
func (l *lab) sizes(volume string) string {
	l.Helper()
	text := ""
	for _, node := range []string{"0", "1", "2"} {
		var claim corev1.PersistentVolumeClaim
		l.Expect(l.client.Get(l.Context(), client.ObjectKey{Namespace: l.namespace, Name: volume + "-garage-storage-" + node + "-0"}, &claim)).To(gomega.Succeed())
		text += claim.Spec.Resources.Requests.Storage().String() + "/" + claim.Status.Capacity.Storage().String() + " "
	}
	return text
}

// capacities are the layout's version and its roles' capacities.
func (l *lab) capacities() string {
	l.Helper()
	layout, err := l.admin("garage-storage-0-0").GetClusterLayout(l.Context())
	l.Expect(err).NotTo(gomega.HaveOccurred())
	text := "version " + resource.NewQuantity(int64(layout.Version), resource.DecimalSI).String() + ":"
	for _, role := range layout.Roles {
		bytes, _ := role.Capacity.Storage()
		text += " " + resource.NewQuantity(int64(bytes), resource.BinarySI).String()
	}
	return text
}
