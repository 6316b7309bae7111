package garagecluster

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-dev/holdfast/api/garage/v1beta2"
	"github.com/holdfast-dev/holdfast/test/sim/kubelet"
)

// edit changes the GarageCluster's spec.
func (l *lab) edit(cluster *v1beta2.GarageCluster, change func(*v1beta2.GarageClusterSpec)) {
	l.Helper()
	l.Expect(l.client.Get(l.Context(), client.ObjectKeyFromObject(cluster), cluster)).To(gomega.Succeed())
	edited := cluster.DeepCopy()
	change(&edited.Spec)
	l.Expect(l.client.Patch(l.Context(), edited, client.MergeFrom(cluster))).To(gomega.Succeed())
	edited.DeepCopyInto(cluster)
}

// rolled is what StorageRolloutReady says.
func (l *lab) rolled(cluster *v1beta2.GarageCluster) string {
	l.Helper()
	l.Expect(l.client.Get(l.Context(), client.ObjectKeyFromObject(cluster), cluster)).To(gomega.Succeed())
	found := meta.FindStatusCondition(cluster.Status.Conditions, v1beta2.ConditionStorageRolloutReady)
	if found == nil {
		return ""
	}
	return fmt.Sprintf("%s %s: %s", found.Status, found.Reason, found.Message)
}

// Another minor version, then another configuration: one node after the other, each with the identity that it had, and never
// two away at a time.
func TestAnImageAndAConfigurationRollOut(t *testing.T) {
	t.Parallel()
	l := start(t)
	cluster := l.clusterOf("dxflrs/garage:v2.3.0")
	l.isReady(cluster)
	before := l.nodes()
	l.edit(cluster, func(spec *v1beta2.GarageClusterSpec) { spec.Image = "dxflrs/garage:v2.4.1" })
	l.isReady(cluster)
	for name, node := range l.nodes() {
		if node.Status.NodeID != before[name].Status.NodeID || node.Status.ObservedPodUID == before[name].Status.ObservedPodUID {
			t.Errorf("%s: it is %s in Pod %s, and was %s in Pod %s", name, node.Status.NodeID, node.Status.ObservedPodUID,
				before[name].Status.NodeID, before[name].Status.ObservedPodUID)
		}
		if !strings.Contains(node.Status.Version, "2.4.1") {
			t.Errorf("%s runs %s", name, node.Status.Version)
		}
	}
	l.edit(cluster, func(spec *v1beta2.GarageClusterSpec) { spec.Logging.Level = "debug" })
	l.isReady(cluster)
	l.neverTwoAway()
	var claims corev1.PersistentVolumeClaimList
	l.Expect(l.client.List(t.Context(), &claims, client.InNamespace(l.namespace))).To(gomega.Succeed())
	for _, claim := range claims.Items {
		if slices.Contains(claim.Finalizers, v1beta2.FinalizerStorageRollout) {
			t.Errorf("claim %s is still held", claim.Name)
		}
	}
	var configs corev1.ConfigMapList
	l.Expect(l.client.List(t.Context(), &configs, client.InNamespace(l.namespace), client.MatchingLabels{v1beta2.LabelCluster: cluster.Name})).To(gomega.Succeed())
	if len(configs.Items) != 1 {
		t.Errorf("%d configurations are left, and one is run", len(configs.Items))
	}
	if cluster.Status.StorageRollout.GarageNodeName != "" {
		t.Errorf("a step is under way: %+v", cluster.Status.StorageRollout)
	}
}

// An image that is nowhere stops at one node, and a corrected spec goes on with that node.
func TestAnImageThatIsNowhere(t *testing.T) {
	t.Parallel()
	l := start(t)
	cluster := l.cluster()
	l.isReady(cluster)
	l.edit(cluster, func(spec *v1beta2.GarageClusterSpec) { spec.Image = "dxflrs/garage:v2.99.0" })
	l.Eventually(func() string { return l.rolled(cluster) }).Should(gomega.ContainSubstring(
		"False RollingOut: garage-storage-0 is being replaced; still to come are 2 of 3 nodes; waiting: its new Pod is not ready: container garage, ImagePullBackOff"))
	l.Consistently(func(g gomega.Gomega) {
		for _, name := range []string{"garage-storage-1-0", "garage-storage-2-0"} {
			var pod corev1.Pod
			g.Expect(l.client.Get(t.Context(), client.ObjectKey{Namespace: l.namespace, Name: name}, &pod)).To(gomega.Succeed())
			g.Expect(pod.Spec.Containers[0].Image).To(gomega.Equal(image))
		}
	}, 10*time.Second, time.Second).Should(gomega.Succeed())
	l.edit(cluster, func(spec *v1beta2.GarageClusterSpec) { spec.Image = image; spec.Logging.Level = "debug" })
	l.isReady(cluster)
	l.neverTwoAway()
}

// neverTwoAway holds that no Pod was told to stop before every one that was told earlier is back.
func (l *lab) neverTwoAway() {
	l.Helper()
	away := map[string]bool{}
	for _, event := range l.kubelet.History() {
		if event.Kind == kubelet.Ready {
			delete(away, event.Pod)
		}
		if event.Kind != kubelet.Stopping {
			continue
		}
		if away[event.Pod] = true; len(away) > 1 {
			l.Errorf("%s was told to stop while others were away: %v", event.Pod, slices.Sorted(maps.Keys(away)))
		}
	}
}
