package chart

import (
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-dev/holdfast/api/nats/cluster/v1beta1"
	natsv1beta1 "github.com/holdfast-dev/holdfast/api/nats/nats/v1beta1"
	"github.com/holdfast-dev/holdfast/internal/nats/sysapi/minted"
	"github.com/holdfast-dev/holdfast/test/envtest/env"
)

func natsChart() chart {
	return chart{
		name: "holdfast-nats", program: "nats-cluster-controller", of: "cluster",
		groups: []string{"cluster.nats.mikluko.io", "nats.mikluko.io"},
		refused: map[string]refusal{
			"no value of the exporter":   {within("cluster", "exporter", map[string]any{"images": map[string]any{}}), "images"},
			"no value of its image, too": {within("cluster", "exporter", within("image", "x", "y")), "x"},
			"an exporter without a tag":  {within("cluster", "exporter", within("image", "tag", "")), "tag"},
		},
		everythingElse: map[string]any{
			"exporter": map[string]any{"image": map[string]any{"repository": "registry.example.com/e", "tag": "2", "digest": "sha256:" + digits}},
		},
		created:    func(namespace, name string) client.Object { return newCluster(namespace, name) },
		reasons:    []string{v1beta1.ReasonCreating, v1beta1.ReasonQuorumUnavailable},
		metric:     `nats_operator_condition{kind="NatsCluster",name="one"`,
		everywhere: trusts, watching: trustsInWatched,
	}
}

func newCluster(namespace, name string) *v1beta1.NatsCluster {
	return &v1beta1.NatsCluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Spec: v1beta1.NatsClusterSpec{Version: "2.15.3", Replicas: 3},
	}
}

// trusting is a NatsCluster whose servers trust whom the NatsOperatorTrust main of a namespace names.
func trusting(namespace, name, trustee string) *v1beta1.NatsCluster {
	cluster := newCluster(namespace, name)
	cluster.Spec.Auth = &v1beta1.Auth{TrustRef: natsv1beta1.ObjectReference{Name: "main", Namespace: trustee}}
	return cluster
}

// trust makes a NatsOperatorTrust main in a namespace, and a grant to the NatsClusters of the other.
func (in *installation) trust(namespace, from string) {
	in.Helper()
	operator := minted.NewOperator("main")
	meta := metav1.ObjectMeta{Namespace: namespace, Name: "main"}
	in.must(in.env.Client.Create(in.Context(), &natsv1beta1.NatsOperatorTrust{ObjectMeta: meta, Spec: natsv1beta1.NatsOperatorTrustSpec{
		OperatorJWT: operator.JWT, SystemAccountJWT: operator.System.JWT,
	}}))
	in.must(in.env.Client.Create(in.Context(), &natsv1beta1.NatsReferenceGrant{ObjectMeta: meta, Spec: natsv1beta1.NatsReferenceGrantSpec{
		From: []natsv1beta1.ReferenceGrantFrom{{Group: v1beta1.GroupVersion.Group, Kind: v1beta1.KindNatsCluster, Namespace: from}},
		To:   []natsv1beta1.ReferenceGrantTo{{Group: natsv1beta1.GroupVersion.Group, Kind: natsv1beta1.KindNatsOperatorTrust}},
	}}))
}

// placeholders applies the sample for auth as it stands, and nothing comes of it.
func (in *installation) placeholders(namespace string) {
	in.Helper()
	for _, object := range env.Samples(in.TB)["auth.yaml"] {
		object.SetNamespace(namespace)
		if object.GetKind() != v1beta1.KindNatsCluster {
			in.must(in.env.Client.Create(in.Context(), object))
			continue
		}
		cluster := &v1beta1.NatsCluster{}
		in.must(runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, cluster))
		in.says(cluster, v1beta1.ReasonTrustInvalid)
	}
	var sets appsv1.StatefulSetList
	in.must(in.env.Client.List(in.Context(), &sets, client.InNamespace(namespace)))
	if len(sets.Items) != 0 {
		in.Errorf("%d StatefulSets for a trust that is none", len(sets.Items))
	}
}

// trusts has NatsClusters trust whom another namespace names, and nothing come of a sample as it stands.
func trusts(in *installation) {
	in.Helper()
	trustee, apps := in.env.Namespace(in.TB), in.env.Namespace(in.TB)
	in.trust(trustee, apps)
	in.says(trusting(apps, "trusting", trustee), v1beta1.ReasonCreating)
	in.placeholders(in.env.Namespace(in.TB))
}

// trustsInWatched has a NatsCluster held whose NatsOperatorTrust is in none of the namespaces, though a grant there admits it.
// The exporter is the installation's.
func trustsInWatched(in *installation, one, other, elsewhere string) {
	in.Helper()
	in.trust(other, one)
	in.trust(elsewhere, one)
	in.says(trusting(one, "trusting", other), v1beta1.ReasonCreating)
	in.says(trusting(one, "held", elsewhere), v1beta1.ReasonTrustNotReady)
	set := &appsv1.StatefulSet{}
	in.must(in.env.Client.Get(in.Context(), client.ObjectKey{Namespace: one, Name: "one-0"}, set))
	if image := set.Spec.Template.Spec.Containers[1].Image; image != "registry.example.com/e:2@sha256:"+digits {
		in.Errorf("the exporter's image is %s", image)
	}
}
