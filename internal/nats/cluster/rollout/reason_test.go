package rollout

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/holdfast-dev/holdfast/api/nats/cluster/v1beta1"
	"github.com/holdfast-dev/holdfast/internal/nats/cluster/facts"
	"github.com/holdfast-dev/holdfast/internal/nats/cluster/render"
)

// wanted renders the first of three servers.
func wanted(t *testing.T, change func(*render.Input)) render.Server {
	t.Helper()
	in := render.Input{
		Cluster: &v1beta1.NatsCluster{
			ObjectMeta: metav1.ObjectMeta{Name: "demo", Namespace: "default"},
			Spec: v1beta1.NatsClusterSpec{Version: "2.15.2", Replicas: 3, JetStream: &v1beta1.JetStream{}, Resources: corev1.ResourceRequirements{
				Limits: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("1024Mi")},
			}},
		},
		Exporter:  render.ExporterDefaults{Repository: "exporter", Tag: "1"},
		RoutesTLS: &render.Certificate{SecretName: "demo-routes-tls", Digest: "first", CA: true},
	}
	change(&in)
	out, err := render.Render(in)
	if err != nil {
		t.Fatal(err)
	}
	return out.Servers[0]
}

// running is a server as the API server shows it, with some of what that fills in.
func running(t *testing.T) facts.Server {
	t.Helper()
	rendered := wanted(t, func(*render.Input) {})
	set := rendered.StatefulSet.DeepCopy()
	spec := &set.Spec.Template.Spec
	spec.RestartPolicy, spec.DNSPolicy, spec.SchedulerName = corev1.RestartPolicyAlways, corev1.DNSClusterFirst, "default-scheduler"
	spec.Volumes[0].ConfigMap.DefaultMode = new(int32(0o644))
	for i := range spec.Containers {
		container := &spec.Containers[i]
		container.TerminationMessagePath, container.ImagePullPolicy = "/dev/termination-log", corev1.PullIfNotPresent
		for _, probe := range []*corev1.Probe{container.StartupProbe, container.LivenessProbe, container.ReadinessProbe} {
			if probe != nil {
				probe.SuccessThreshold, probe.HTTPGet.Scheme = 1, corev1.URISchemeHTTP
			}
		}
	}
	return facts.Server{Name: rendered.Name, StatefulSet: set, ConfigMap: rendered.ConfigMap}
}

func TestReason(t *testing.T) {
	spec := func(change func(*v1beta1.NatsClusterSpec)) func(*render.Input) {
		return func(in *render.Input) { change(&in.Cluster.Spec) }
	}
	pod := func(json string) func(*render.Input) {
		return spec(func(s *v1beta1.NatsClusterSpec) { s.PodTemplate.Spec = &runtime.RawExtension{Raw: []byte(json)} })
	}
	for name, tc := range map[string]struct {
		change func(*render.Input)
		want   string
	}{
		"version": {spec(func(s *v1beta1.NatsClusterSpec) { s.Version = "2.15.3" }), "version 2.15.2 -> 2.15.3 is restart-only"},
		"digest":  {spec(func(s *v1beta1.NatsClusterSpec) { s.Image.Digest = "sha256:" + digits }), "the StatefulSet spec is restart-only"},
		"memory": {spec(func(s *v1beta1.NatsClusterSpec) {
			s.Resources.Limits[corev1.ResourceMemory] = resource.MustParse("2Gi")
		}), "the StatefulSet spec is restart-only"},
		"a number":    {pod(`{"priority": 7}`), "the StatefulSet spec is restart-only"},
		"one more":    {pod(`{"containers": [{"name": "beside", "image": "x"}]}`), "the StatefulSet spec is restart-only"},
		"one less":    {spec(func(s *v1beta1.NatsClusterSpec) { s.Exporter.Enabled = new(false) }), "the StatefulSet spec is restart-only"},
		"routes":      {spec(func(s *v1beta1.NatsClusterSpec) { s.Replicas = 5 }), "cluster.routes is restart-only"},
		"tags":        {spec(func(s *v1beta1.NatsClusterSpec) { s.ServerTags = map[string]string{"a": "b"} }), "server_tags is restart-only"},
		"two keys":    {spec(func(s *v1beta1.NatsClusterSpec) { s.Replicas, s.ServerTags = 5, map[string]string{"a": "b"} }), "cluster.routes, server_tags are restart-only"},
		"certificate": {func(in *render.Input) { in.RoutesTLS.Digest = "second" }, "a certificate is restart-only"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Reason(running(t), wanted(t, tc.change)); got != tc.want {
				t.Errorf("%q, want %q", got, tc.want)
			}
		})
	}
	bare := running(t)
	bare.ConfigMap = nil
	if got := Reason(bare, wanted(t, func(*render.Input) {})); got != "ConfigMap demo-0-config does not exist" {
		t.Error(got)
	}
}

const digits = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
