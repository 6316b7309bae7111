package garagecluster

import (
	"net"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-dev/holdfast/api/garage/v1beta1"
	"github.com/holdfast-dev/holdfast/api/garage/v1beta2"
	"github.com/holdfast-dev/holdfast/internal/garage/adminapi"
	"github.com/holdfast-dev/holdfast/internal/garage/adminapi/realgarage"
)

const rpcSecret = "5eed5eed5eed5eed5eed5eed5eed5eed5eed5eed5eed5eed5eed5eed5eed5eed"

// elsewhere starts a Garage that is nobody's Pod, and knows of no other.
func (l *lab) elsewhere() *realgarage.Server {
	l.Helper()
	programs, err := realgarage.Programs()
	l.Expect(err).NotTo(gomega.HaveOccurred())
	servers, err := realgarage.New(programs[len(programs)-1], l.TempDir(), realgarage.Options{
		Nodes: 1, Settings: func(int) map[string]any {
			return map[string]any{"rpc_secret": rpcSecret, "bootstrap_peers": []string{}}
		},
	})
	l.Expect(err).NotTo(gomega.HaveOccurred())
	l.Cleanup(func() { l.Expect(servers.Close()).To(gomega.Succeed()) })
	l.Expect(servers[0].Start()).To(gomega.Succeed())
	l.Expect(servers[0].Await(l.Context())).To(gomega.Succeed())
	return servers[0]
}

// userNode is a GarageNode of a user's.
func (l *lab) userNode(name string, change func(*v1beta1.GarageNodeSpec)) {
	l.Helper()
	capacity := resource.MustParse("1Gi")
	node := &v1beta1.GarageNode{
		ObjectMeta: metav1.ObjectMeta{Namespace: l.namespace, Name: name},
		Spec:       v1beta1.GarageNodeSpec{ClusterRef: v1beta1.ClusterReference{Name: clusterName}, Zone: "default", Capacity: &capacity},
	}
	change(&node.Spec)
	l.Expect(l.client.Create(l.Context(), node)).To(gomega.Succeed())
}

// userClaim is a claim of a user's, and a volume of it.
func (l *lab) userClaim(name string) v1beta1.NodeVolume {
	l.Helper()
	l.Expect(l.client.Create(l.Context(), &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: l.namespace, Name: name},
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
		},
	})).To(gomega.Succeed())
	return v1beta1.NodeVolume{NodeVolumeShape: v1beta1.NodeVolumeShape{ExistingClaim: name}}
}

// One store of a node that the controller makes, one of a user's with claims of the user's own, and one that runs elsewhere. The first
// is left to the user, and nothing restarts. The store is deleted and made again: the GarageNodes are what they were. What is the
// user's is never written.
func TestNodesOfUsers(t *testing.T) {
	t.Parallel()
	l := start(t)
	l.Expect(l.client.Create(t.Context(), &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: l.namespace, Name: "known"},
		StringData: map[string]string{"admin-token": realgarage.Token, "rpc-secret": rpcSecret},
	})).To(gomega.Succeed())
	outside := l.elsewhere()
	id, err := outside.ID()
	l.Expect(err).NotTo(gomega.HaveOccurred())
	mine := l.userClaim("mine-data")
	l.userNode("mine", func(spec *v1beta1.GarageNodeSpec) {
		spec.Storage = &v1beta1.NodeStorage{Metadata: l.userClaim("mine-metadata"), Data: &mine}
	})
	l.userNode("elsewhere", func(spec *v1beta1.GarageNodeSpec) {
		host, port, _ := net.SplitHostPort(outside.RPC)
		number, _ := strconv.ParseInt(port, 10, 32)
		spec.NodeID, spec.External = strings.ToUpper(id), &v1beta1.ExternalNode{Address: host, Port: int32(number)}
	})
	policy := v1beta2.LayoutPolicyAuto
	spec := func(cluster *v1beta2.GarageCluster) {
		cluster.Spec.LayoutPolicy, cluster.Spec.Storage.Replicas = policy, new(int32(1))
		cluster.Spec.Admin = &v1beta2.AdminSpec{AdminTokenSecretRef: &v1beta2.SecretKeyRef{Name: "known"}}
		cluster.Spec.Network = &v1beta2.NetworkSpec{RPCSecretRef: &v1beta2.SecretKeyRef{Name: "known"}}
	}
	cluster := l.cluster(spec)
	l.isReady(cluster)
	l.usePolicy("elsewhere")
	roles := l.roles("mine-0")
	if len(roles) != 3 || *cluster.Status.LayoutVersion != 1 {
		t.Errorf("version %d of the layout is %+v", *cluster.Status.LayoutVersion, roles)
	}
	object := []byte(strings.Repeat("a block of its own ", 1000))
	bucket, err := realgarage.NewBucket(t.Context(), outside, "bucket")
	l.Expect(err).NotTo(gomega.HaveOccurred())
	l.Eventually(func() error { return bucket.Put(t.Context(), outside, "object", object) }).Should(gomega.Succeed())

	before, pods := l.identities(), l.podUIDs()
	left := cluster.DeepCopy()
	left.Spec.LayoutPolicy = v1beta2.LayoutPolicyManual
	l.Expect(l.client.Patch(t.Context(), left, client.MergeFrom(cluster))).To(gomega.Succeed())
	l.Eventually(func() []metav1.OwnerReference { return l.nodes()["garage-storage-0"].OwnerReferences }).Should(gomega.BeEmpty())
	l.isReady(left)
	if diff := cmp.Diff(pods, l.podUIDs()); diff != "" {
		t.Errorf("leaving a node to its user restarted something:\n%s", diff)
	}

	l.Expect(l.client.Delete(t.Context(), left)).To(gomega.Succeed())
	l.isGone("known", "elsewhere", "mine", "garage-storage-0")
	policy = v1beta2.LayoutPolicyManual
	again := l.cluster(spec)
	l.isReady(again)
	if diff := cmp.Diff(before, l.identities()); diff != "" {
		t.Errorf("identities (-before +after):\n%s", diff)
	}
	if got, err := bucket.Get(t.Context(), l.server(0), "object"); err != nil || string(got) != string(object) {
		t.Errorf("the object is not there: %v", err)
	}
	for _, role := range l.roles("mine-0") {
		l.Expect(role.Tags).To(gomega.ContainElement(v1beta2.TagClusterUID + string(again.UID)))
	}
	l.Expect(l.client.Delete(t.Context(), again)).To(gomega.Succeed())
	l.isGone("known", "elsewhere", "mine", "garage-storage-0")
	l.endOfUsers(outside)
}

// endOfUsers deletes the GarageNodes of users whose GarageCluster is gone. Nothing else of theirs goes with them.
func (l *lab) endOfUsers(outside *realgarage.Server) {
	l.Helper()
	for _, name := range []string{"elsewhere", "mine", "garage-storage-0"} {
		l.Expect(l.deleteNode(name)).To(gomega.Succeed())
	}
	l.isGone("known")
	for name, claim := range l.claims() {
		if strings.HasPrefix(name, "mine-") && (len(claim.Labels) > 0 || len(claim.Annotations) > 0) {
			l.Errorf("the user's claim %s was written: %v %v", name, claim.Labels, claim.Annotations)
		}
	}
	if !outside.Running() || len(l.claims()) != 4 {
		l.Errorf("what is the user's is not all there: %d claims", len(l.claims()))
	}
}

// podUIDs are the UIDs of the Pods by name.
func (l *lab) podUIDs() map[string]string {
	l.Helper()
	var list corev1.PodList
	l.Expect(l.client.List(l.Context(), &list, client.InNamespace(l.namespace))).To(gomega.Succeed())
	found := map[string]string{}
	for _, pod := range list.Items {
		found[pod.Name] = string(pod.UID)
	}
	return found
}

// roles are those of the layout that a Pod shows, whose token is known.
func (l *lab) roles(pod string) []adminapi.NodeRole {
	l.Helper()
	api, err := adminapi.New("http://"+l.kubelet.Addr(pod)+":3903", realgarage.Token, nil)
	l.Expect(err).NotTo(gomega.HaveOccurred())
	layout, err := api.GetClusterLayout(l.Context())
	l.Expect(err).NotTo(gomega.HaveOccurred())
	return layout.Roles
}
