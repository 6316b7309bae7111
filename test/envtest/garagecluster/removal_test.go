package garagecluster

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-dev/holdfast/api/garage/v1beta1"
	"github.com/holdfast-dev/holdfast/api/garage/v1beta2"
	"github.com/holdfast-dev/holdfast/internal/garage/adminapi"
	"github.com/holdfast-dev/holdfast/internal/garage/adminapi/realgarage"
	"github.com/holdfast-dev/holdfast/test/envtest/env"
)

// usePolicy puts the policy on DELETE in force in the lab's namespace alone, and waits until it refuses that of node.
func (l *lab) usePolicy(node string) {
	l.Helper()
	content, err := os.ReadFile("../../../config/admission/garage.rajsingh.info_garagenode-delete.yaml")
	if err != nil {
		l.Fatal(err)
	}
	for _, object := range env.Decode(l.TB, content) {
		if object.GetKind() == "ValidatingAdmissionPolicyBinding" {
			object.SetName(object.GetName() + "." + l.namespace)
			l.Expect(unstructured.SetNestedField(object.Object, l.namespace,
				"spec", "matchResources", "namespaceSelector", "matchLabels", corev1.LabelMetadataName)).To(gomega.Succeed())
		}
		l.Expect(client.IgnoreAlreadyExists(l.client.Create(l.Context(), object))).To(gomega.Succeed())
	}
	l.Eventually(func() error { return l.deleteNode(node, client.DryRunAll) }).Should(gomega.Satisfy(apierrors.IsForbidden))
}

func (l *lab) deleteNode(name string, options ...client.DeleteOption) error {
	return l.client.Delete(l.Context(), &v1beta1.GarageNode{ObjectMeta: metav1.ObjectMeta{Namespace: l.namespace, Name: name}}, options...)
}

// claims are the claims by name.
func (l *lab) claims() map[string]corev1.PersistentVolumeClaim {
	l.Helper()
	var list corev1.PersistentVolumeClaimList
	l.Expect(l.client.List(l.Context(), &list, client.InNamespace(l.namespace))).To(gomega.Succeed())
	found := map[string]corev1.PersistentVolumeClaim{}
	for _, claim := range list.Items {
		found[claim.Name] = claim
	}
	return found
}

// left are the objects in the namespace, but for claims and what was there before.
func (l *lab) left() []string {
	l.Helper()
	var found []string
	for _, list := range []client.ObjectList{
		&v1beta2.GarageClusterList{}, &v1beta1.GarageNodeList{}, &appsv1.StatefulSetList{}, &corev1.PodList{}, &corev1.ServiceList{},
		&corev1.SecretList{}, &corev1.ConfigMapList{}, &policyv1.PodDisruptionBudgetList{},
	} {
		l.Expect(l.client.List(l.Context(), list, client.InNamespace(l.namespace))).To(gomega.Succeed())
		items, err := meta.ExtractList(list)
		l.Expect(err).NotTo(gomega.HaveOccurred())
		for _, item := range items {
			found = append(found, item.(client.Object).GetName())
		}
	}
	return found
}

// isGone waits until a GarageCluster that was deleted is, and everything with it but claims and what is somebody else's.
func (l *lab) isGone(others ...string) {
	l.Helper()
	l.Eventually(func() []string { return l.left() }).Should(gomega.ConsistOf(others))
}

// A deleted member is held, with the policy and without: it runs, keeps its role and says what to do. With the proof it goes, and
// its claims stay.
func TestDeletedMember(t *testing.T) {
	t.Parallel()
	l := start(t)
	cluster := l.cluster()
	l.isReady(cluster)
	l.Expect(l.deleteNode("garage-storage-1")).To(gomega.Succeed())
	l.usePolicy("garage-storage-0")
	if err := l.deleteNode("garage-storage-0"); !apierrors.IsForbidden(err) || !strings.Contains(err.Error(),
		"kubectl annotate garagenode garage-storage-0 -n "+l.namespace+" garage.rajsingh.info/drain=true") {
		t.Errorf("a member was deleted, or the refusal says nothing: %v", err)
	}
	l.Eventually(func(g gomega.Gomega) {
		held := meta.FindStatusCondition(l.nodes()["garage-storage-1"].Status.Conditions, v1beta1.ConditionDrainPrepared)
		g.Expect(held).NotTo(gomega.BeNil())
		g.Expect(held.Reason).To(gomega.Equal(v1beta1.ReasonPreparationBlocked))
		g.Expect(held.Message).To(gomega.HaveSuffix("kubectl annotate garagenode garage-storage-1 garage.rajsingh.info/drain=true"))
	}).Should(gomega.Succeed())
	before := l.claims()
	l.Consistently(func(g gomega.Gomega) {
		layout, err := l.admin("garage-storage-1-0").GetClusterLayout(t.Context())
		g.Expect(err).NotTo(gomega.HaveOccurred())
		g.Expect(layout.Roles).To(gomega.HaveLen(3))
	}, 5*time.Second, time.Second).Should(gomega.Succeed())

	// The role is taken away behind the controller's back: that is no proof. Then there is one.
	grown := cluster.DeepCopy()
	grown.Spec.Storage.Replicas = new(int32(4))
	l.Expect(l.client.Patch(t.Context(), grown, client.MergeFrom(cluster))).To(gomega.Succeed())
	l.Eventually(func() bool { in := l.nodes()["garage-storage-3"].Status.InLayout; return in != nil && *in }).Should(gomega.BeTrue())
	node := l.nodes()["garage-storage-1"]
	l.removeRole(adminapi.NodeID(node.Status.NodeID))
	l.Eventually(func(g gomega.Gomega) {
		held := meta.FindStatusCondition(l.nodes()["garage-storage-1"].Status.Conditions, v1beta1.ConditionDrainPrepared)
		g.Expect(held.Message).To(gomega.HavePrefix("it has had a role in the layout, and nothing shows"))
	}).Should(gomega.Succeed())
	l.Eventually(func() error {
		node := l.nodes()["garage-storage-1"]
		node.Status.DrainProof = v1beta1.DrainProof{
			TransactionID: "t", NodeID: node.Status.NodeID, LayoutVersion: 3, RoleHash: "h", CompletedAt: new(metav1.Now()),
		}
		return l.client.Status().Update(t.Context(), &node)
	}).Should(gomega.Succeed())
	l.Eventually(func() bool { return l.nodes()["garage-storage-1"].UID == node.UID }).Should(gomega.BeFalse())
	for name, was := range before {
		if is := l.claims()[name]; is.UID != was.UID {
			t.Errorf("claim %s is not what it was", name)
		}
	}
}

// removeRole has the store forget a node, as a person would with Garage's own tool.
func (l *lab) removeRole(id adminapi.NodeID) {
	l.Helper()
	api := l.admin("garage-storage-0-0")
	l.Eventually(func() error {
		layout, err := api.UpdateClusterLayout(l.Context(), adminapi.LayoutChange{Roles: []adminapi.RoleChange{adminapi.Remove(id)}})
		if err != nil {
			return err
		}
		_, err = api.ApplyClusterLayout(l.Context(), layout.Version+1)
		return err
	}).Should(gomega.Succeed())
}

// A deleted store goes as a whole, whatever policies there are, and leaves its claims. One of the same name takes up exactly those: the
// same identities, the same layout, the same objects.
func TestStoreComesBack(t *testing.T) {
	t.Parallel()
	l := start(t)
	l.Expect(l.client.Create(t.Context(), &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: l.namespace, Name: "token"}, StringData: map[string]string{"admin-token": realgarage.Token},
	})).To(gomega.Succeed())
	known := func(cluster *v1beta2.GarageCluster) {
		cluster.Spec.Admin = &v1beta2.AdminSpec{AdminTokenSecretRef: &v1beta2.SecretKeyRef{Name: "token"}}
	}
	cluster := l.cluster(known)
	l.isReady(cluster)
	l.usePolicy("garage-storage-0")
	identities := l.identities()
	object := []byte(strings.Repeat("a block of its own ", 1000))
	bucket, err := realgarage.NewBucket(t.Context(), l.server(0), "bucket")
	l.Expect(err).NotTo(gomega.HaveOccurred())
	l.Eventually(func() error { return bucket.Put(t.Context(), l.server(0), "object", object) }).Should(gomega.Succeed())
	l.Expect(l.client.Delete(t.Context(), cluster)).To(gomega.Succeed())
	l.isGone("token")
	kept := l.claims()
	if len(kept) != 6 {
		t.Errorf("%d claims are left of 6", len(kept))
	}
	for name, claim := range kept {
		if slices.Contains(claim.Finalizers, v1beta2.FinalizerClaim) {
			t.Errorf("claim %s cannot be deleted: %v", name, claim.Finalizers)
		}
	}

	again := l.cluster(known)
	l.isReady(again)
	for i := range 3 {
		if got, err := bucket.Get(t.Context(), l.server(i), "object"); err != nil || string(got) != string(object) {
			t.Errorf("node %d does not have the object: %v", i, err)
		}
	}
	if diff := cmp.Diff(identities, l.identities()); diff != "" {
		t.Errorf("identities (-before +after):\n%s", diff)
	}
	if version := *again.Status.LayoutVersion; version != 2 {
		t.Errorf("the layout is version %d, and the roles were only to change hands after version 1", version)
	}
	for name, claim := range l.claims() {
		if kept[name].UID != claim.UID || claim.Annotations[v1beta2.AnnotationClusterUID] != string(again.UID) {
			t.Errorf("claim %s is not what was kept, or not this GarageCluster's: %v", name, claim.Annotations)
		}
	}

	// With whenDeleted: Delete nothing is left.
	dropping := again.DeepCopy()
	dropping.Spec.Storage.PVCRetentionPolicy = &v1beta2.PVCRetentionPolicy{WhenDeleted: v1beta2.RetentionDelete}
	l.Expect(l.client.Patch(t.Context(), dropping, client.MergeFrom(again))).To(gomega.Succeed())
	l.Expect(l.client.Delete(t.Context(), dropping)).To(gomega.Succeed())
	l.isGone("token")
	l.Eventually(func() []string { return slices.Collect(maps.Keys(l.claims())) }).Should(gomega.BeEmpty())
}

// server is how a client reaches a node.
func (l *lab) server(ordinal int) *realgarage.Server {
	address := "http://" + l.kubelet.Addr(fmt.Sprintf("garage-storage-%d-0", ordinal))
	return &realgarage.Server{Admin: address + ":3903", S3: address + ":3900"}
}

func (l *lab) identities() map[string]string {
	l.Helper()
	found := map[string]string{}
	for name, node := range l.nodes() {
		found[name] = node.Status.NodeID
	}
	return found
}
