package render_test

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	"pgregory.net/rapid"

	"github.com/holdfast-dev/holdfast/api/nats/cluster/v1beta1"
	"github.com/holdfast-dev/holdfast/internal/nats/cluster/render"
)

// restarting draws everything of an Input that reaches a running server. Two that draw alike are the same spec.
func restarting(t *rapid.T) render.Input {
	in := quickstart()
	spec := &in.Cluster.Spec
	spec.Version = rapid.SampledFrom([]string{"2.15.2", "2.15.3"}).Draw(t, "version")
	spec.Replicas = rapid.Int32Range(1, 4).Draw(t, "replicas")
	spec.Image.Repository = rapid.SampledFrom([]string{"", "mirror/nats"}).Draw(t, "repository")
	spec.Resources.Limits = quantities("memory", rapid.SampledFrom([]string{"4Gi", "8Gi"}).Draw(t, "memory"))
	spec.ServerTags = rapid.MapOfN(
		rapid.SampledFrom([]string{"zone", "rack"}), rapid.SampledFrom([]string{"", "a", "b"}), 0, 2).Draw(t, "tags")
	spec.JetStream.Limits.MaxMemoryStore = new(resource.MustParse(rapid.SampledFrom([]string{"1Gi", "2Gi"}).Draw(t, "store")))
	spec.Exporter.Enabled = new(rapid.Bool().Draw(t, "exporter"))
	spec.Routes.TLS.Enabled = new(rapid.Bool().Draw(t, "route TLS"))
	in.RoutesTLS.Digest = rapid.SampledFrom([]string{"r1", "r2"}).Draw(t, "route certificate")
	if rapid.Bool().Draw(t, "TLS") {
		spec.TLS = &v1beta1.ListenerTLS{SecretRef: v1beta1.SecretReference{Name: "demo-cert"}}
		digest := rapid.SampledFrom([]string{"c1", "c2"}).Draw(t, "certificate")
		in.ClientTLS = &render.Certificate{SecretName: "demo-cert", Digest: digest}
	}
	spec.PodTemplate.Metadata.Labels = rapid.MapOfN(
		rapid.Just("team"), rapid.SampledFrom([]string{"a", "b"}), 0, 1).Draw(t, "labels")
	spec.PodTemplate.Spec = patch(rapid.SampledFrom([]string{`{}`, `{"priorityClassName":"high"}`}).Draw(t, "podTemplate"))
	return in
}

// reached is what of an Input reaches the servers, as text: the yardstick of the property below.
func reached(t *rapid.T, in render.Input) string {
	spec := *in.Cluster.Spec.DeepCopy()
	routes := in.RoutesTLS.Digest
	if spec.Replicas == 1 { // alone, it has no routes
		spec.Routes, routes = v1beta1.Routes{}, ""
	}
	if !ptr.Deref(spec.Routes.TLS.Enabled, true) {
		routes = ""
	}
	if len(spec.ServerTags) == 0 {
		spec.ServerTags = nil
	}
	text, err := json.Marshal([]any{spec, in.ClientTLS, routes})
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func drawn(t *rapid.T, in render.Input) render.Output {
	out, err := render.Render(in)
	if err != nil {
		t.Fatalf("render: %v", err)
	}
	return out
}

// Two specs have one revision exactly when no server would notice a difference between them.
func TestRevisionIsWhatServersNotice(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := restarting(t), restarting(t)
		if rapid.Bool().Draw(t, "change one thing only") {
			b = copyOf(a)
			changeOne(t, &b)
		}
		same := reached(t, a) == reached(t, b)
		if got := drawn(t, a).Revision == drawn(t, b).Revision; got != same {
			t.Errorf("same revision %v, same servers %v:\n%s\n%s", got, same, reached(t, a), reached(t, b))
		}
	})
}

func copyOf(in render.Input) render.Input {
	in.Cluster = in.Cluster.DeepCopy()
	in.RoutesTLS = new(*in.RoutesTLS)
	return in
}

func changeOne(t *rapid.T, in *render.Input) {
	spec := &in.Cluster.Spec
	changes := map[string]func(){
		"version":   func() { spec.Version = "2.15.9" },
		"replicas":  func() { spec.Replicas++ },
		"image":     func() { spec.Image.Repository = "another/nats" },
		"digest":    func() { spec.Image.Digest = "sha256:" + string(slices.Repeat([]byte("a"), 64)) },
		"requests":  func() { spec.Resources.Requests = quantities("cpu", "1") },
		"tags":      func() { spec.ServerTags = map[string]string{"another": ""} },
		"limit":     func() { spec.JetStream.Limits.MaxFileStore = new(resource.MustParse("1Gi")) },
		"emptyDir":  func() { spec.JetStream.VolumeClaimTemplate = nil },
		"jetstream": func() { spec.JetStream = nil },
		"exporter":  func() { spec.Exporter = v1beta1.Exporter{Image: v1beta1.ExporterImage{Tag: "another"}} },
		"certificate": func() {
			in.RoutesTLS.Digest = "another"
		},
		"annotation": func() { spec.PodTemplate.Metadata.Annotations = map[string]string{"another": ""} },
		"pod":        func() { spec.PodTemplate.Spec = patch(`{"schedulerName":"another"}`) },
	}
	changes[rapid.SampledFrom(slices.Sorted(maps.Keys(changes))).Draw(t, "change")]()
}

// What no server notices leaves the revision alone, and every server is rendered for the same one.
func TestRevisionIgnores(t *testing.T) {
	want := mustRender(t, quickstart()).Revision
	cases := map[string]func(*render.Input, *v1beta1.NatsClusterSpec){
		"bookkeeping": func(in *render.Input, _ *v1beta1.NatsClusterSpec) {
			in.Cluster.ResourceVersion, in.Cluster.Generation = "42", 7
			in.Cluster.Annotations = map[string]string{"note": "x"}
			in.Cluster.Status.ReadyReplicas = ptr.To[int32](2)
		},
		"the network policy": func(in *render.Input, spec *v1beta1.NatsClusterSpec) {
			in.ControllerNamespace = "elsewhere"
			spec.Exporter.From = []networkingv1.NetworkPolicyPeer{{PodSelector: &metav1.LabelSelector{}}}
		},
		"no network policy": func(_ *render.Input, spec *v1beta1.NatsClusterSpec) { spec.Monitor.NetworkPolicy = new(false) },
		"the claim": func(_ *render.Input, spec *v1beta1.NatsClusterSpec) {
			spec.JetStream.VolumeClaimTemplate.Spec.StorageClassName = new("fast")
			spec.JetStream.VolumeClaimTemplate.Metadata.Labels = map[string]string{"a": "b"}
		},
		"a quantity written differently": func(_ *render.Input, spec *v1beta1.NatsClusterSpec) {
			spec.Resources.Limits = quantities("memory", "4096Mi")
		},
		"a default written out": func(_ *render.Input, spec *v1beta1.NatsClusterSpec) {
			spec.Exporter.Enabled, spec.Routes.TLS.Enabled = new(true), new(true)
			spec.Image.Repository = "nats"
			spec.PodTemplate.Spec = patch(`{}`)
		},
	}
	for name, change := range cases {
		t.Run(name, func(t *testing.T) {
			out := mustRender(t, with(change))
			if out.Revision != want {
				t.Errorf("revision %s, want %s", out.Revision, want)
			}
			for _, server := range out.Servers {
				set := server.StatefulSet
				got := []string{
					set.Annotations[v1beta1.AnnotationConfigRevision],
					set.Spec.Template.Annotations[v1beta1.AnnotationConfigRevision],
					server.ConfigMap.Annotations[v1beta1.AnnotationConfigRevision],
					parse(t, server.Config).Metadata.ConfigRevision,
				}
				if diff := cmp.Diff([]string{want, want, want, want}, got); diff != "" {
					t.Errorf("%s carries (-want +got):\n%s", server.Name, diff)
				}
				if got := server.ConfigMap.Data[render.ConfigKey]; got != string(server.Config) {
					t.Errorf("the ConfigMap of %s is not its configuration: %s", server.Name, got)
				}
			}
		})
	}
}

// Render gives the same objects again, and does not write to its input.
func TestRenderIsDeterministic(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := restarting(t)
		before := in.Cluster.DeepCopy()
		first, second := drawn(t, in), drawn(t, copyOf(in))
		if diff := cmp.Diff(first, second); diff != "" {
			t.Errorf("the second rendering differs:\n%s", diff)
		}
		if diff := cmp.Diff(before, in.Cluster, cmp.AllowUnexported(runtime.RawExtension{})); diff != "" {
			t.Errorf("the input was written to:\n%s", diff)
		}
	})
}

// FuzzRender feeds specs that no schema has seen. Whatever comes, Render does not panic and either names the field
// or renders servers that the rest of the controller can rely on.
func FuzzRender(f *testing.F) {
	f.Add("demo", "2.15.3", int32(3), "4Gi", "20Gi", "zone", `{}`)
	f.Add("demo", "2.15.3+x", int32(1), "-1", "0", "", `null`)
	f.Add("1", "", int32(65), "9Ei", "1m", `"`, `{"containers":[{"name":"nats","$patch":"delete"}]}`)
	f.Add("demo", "2.15.3", int32(2), "1", "1", "a", `{"$patch":"replace","containers":[null]}`)
	f.Add("demo", "2.15.3", int32(2), "1Ki", "1", "a", `{"volumes":[{"name":"data","$retainKeys":["name"]}]}`)
	f.Add("demo", "2.15.3", int32(2), "1Ki", "1", "a", `{"$setElementOrder/containers":[{"name":"exporter"},{"name":"nats"}]}`)
	f.Add("demo", "2.15.3", int32(2), "1Ki", "1", "a", `{"$deleteFromPrimitiveList/x":[1],"affinity":{"$patch":"delete"}}`)
	f.Fuzz(func(t *testing.T, name, version string, replicas int32, memory, storage, tag, template string) {
		in := quickstart()
		in.Cluster.Name = name
		spec := &in.Cluster.Spec
		spec.Version, spec.Replicas = version, replicas
		spec.Resources.Requests = nil
		spec.Resources.Limits = fuzzed(memory, "memory")
		spec.JetStream.VolumeClaimTemplate.Spec.Resources.Requests = fuzzed(storage, "storage")
		spec.ServerTags = map[string]string{tag: tag}
		spec.PodTemplate.Spec = patch(template)
		out, err := render.Render(in)
		if err != nil {
			var unsupported *render.UnsupportedError
			if !errors.As(err, &unsupported) || unsupported.Path == "" || unsupported.Message == "" {
				t.Errorf("error %#v, want an UnsupportedError that names a field", err)
			}
			return
		}
		for _, server := range out.Servers {
			if got := parse(t, server.Config); got.ServerName != server.Name || got.Metadata.ConfigRevision != out.Revision {
				t.Errorf("%s is configured as %v", server.Name, got)
			}
			checkPod(t, server.StatefulSet.Spec.Template.Spec)
		}
	})
}

func fuzzed(quantity, name string) corev1.ResourceList {
	q, err := resource.ParseQuantity(quantity)
	if err != nil {
		return nil
	}
	return corev1.ResourceList{corev1.ResourceName(name): q}
}

// checkPod holds what the controller's promises rest on, whatever podTemplate says.
func checkPod(t *testing.T, pod corev1.PodSpec) {
	t.Helper()
	nats := pod.Containers[0]
	stop := []string{"nats-server", "--signal", "ldm=/var/run/nats/nats.pid"}
	command := []string{"nats-server", "--config", "/etc/nats-config/nats.conf"}
	if nats.Name != "nats" || !slices.Equal(nats.Command, command) || !slices.Equal(nats.Lifecycle.PreStop.Exec.Command, stop) {
		t.Errorf("the nats container is %v", nats)
	}
	if *pod.TerminationGracePeriodSeconds < 150 {
		t.Errorf("a grace period of %d seconds", *pod.TerminationGracePeriodSeconds)
	}
}
