package garagecluster

import (
	"testing"
	"time"

	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-dev/holdfast/api/garage/v1beta2"
)

// One manifest becomes a store: three identities, one version of the layout, and every Pod in the S3 Service.
func TestOneManifestBecomesAStore(t *testing.T) {
	t.Parallel()
	l := start(t)
	cluster := l.cluster()
	begun := time.Now()
	l.isReady(cluster)
	t.Logf("ready in %s", time.Since(begun).Round(100*time.Millisecond))
	if version := cluster.Status.LayoutVersion; version == nil || *version != 1 {
		t.Errorf("the layout's version is %v, and all roles come at once", version)
	}
	identities := map[string]bool{}
	for name, node := range l.nodes() {
		identities[node.Status.NodeID] = true
		if node.Status.InLayout == nil || !*node.Status.InLayout || node.Status.Zone != "default" || node.Status.ObservedPodUID == "" {
			t.Errorf("%s: %+v", name, node.Status)
		}
	}
	if len(identities) != 3 {
		t.Errorf("%d identities", len(identities))
	}
	l.Eventually(func(g gomega.Gomega) {
		var pods corev1.PodList
		g.Expect(l.client.List(t.Context(), &pods, client.InNamespace(l.namespace), client.MatchingLabels{v1beta2.LabelS3Member: "true"})).To(gomega.Succeed())
		g.Expect(pods.Items).To(gomega.HaveLen(3))
	}).Should(gomega.Succeed())
}

// More replicas are one edit, and come one version at a time.
func TestGrowth(t *testing.T) {
	t.Parallel()
	l := start(t)
	cluster := l.cluster()
	l.isReady(cluster)
	grown := cluster.DeepCopy()
	grown.Spec.Storage.Replicas = new(int32(5))
	l.Expect(l.client.Patch(t.Context(), grown, client.MergeFrom(cluster))).To(gomega.Succeed())
	l.isReady(grown)
	if version := *grown.Status.LayoutVersion; version != 3 || *grown.Status.ReadyReplicas != 5 {
		t.Errorf("version %d with %d nodes, want 3 with 5", version, *grown.Status.ReadyReplicas)
	}
}
