package render_test

import (
	"bytes"
	"errors"
	"flag"
	"maps"
	"os"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/holdfast-dev/holdfast/api/nats/cluster/v1beta1"
	"github.com/holdfast-dev/holdfast/internal/nats/cluster/render"
)

var update = flag.Bool("update", false, "write the golden files anew")

// quickstart is the first story's NatsCluster: three servers, 4Gi of memory and a claim of 20Gi each.
func quickstart() render.Input {
	return render.Input{
		Cluster: &v1beta1.NatsCluster{
			ObjectMeta: metav1.ObjectMeta{Name: "demo", Namespace: "messaging", UID: "7f0c", Generation: 1},
			Spec: v1beta1.NatsClusterSpec{
				Version:  "2.15.3",
				Replicas: 3,
				Resources: corev1.ResourceRequirements{
					Requests: quantities("memory", "4Gi", "cpu", "500m"),
					Limits:   quantities("memory", "4Gi"),
				},
				JetStream: &v1beta1.JetStream{VolumeClaimTemplate: &v1beta1.VolumeClaimTemplate{
					Spec: corev1.PersistentVolumeClaimSpec{Resources: corev1.VolumeResourceRequirements{
						Requests: quantities("storage", "20Gi"),
					}},
				}},
			},
		},
		ControllerNamespace: "holdfast-system",
		Exporter:            render.ExporterDefaults{Repository: "natsio/prometheus-nats-exporter", Tag: "0.20.2"},
		RoutesTLS:           &render.Certificate{SecretName: "demo-routes-tls", Digest: "5e1f", CA: true},
	}
}

func quantities(pairs ...string) corev1.ResourceList {
	out := corev1.ResourceList{}
	for i := 0; i < len(pairs); i += 2 {
		out[corev1.ResourceName(pairs[i])] = resource.MustParse(pairs[i+1])
	}
	return out
}

func patch(json string) *runtime.RawExtension { return &runtime.RawExtension{Raw: []byte(json)} }

// with is the quickstart, changed.
func with(change func(*render.Input, *v1beta1.NatsClusterSpec)) render.Input {
	in := quickstart()
	change(&in, &in.Cluster.Spec)
	return in
}

func mustRender(t *testing.T, in render.Input) render.Output {
	t.Helper()
	out, err := render.Render(in)
	if err != nil {
		t.Fatalf("render: %v", err)
	}
	return out
}

// documents are the objects of an Output as one would apply them by hand.
func documents(t *testing.T, out render.Output) []byte {
	t.Helper()
	objects := slices.Clone(out.Shared)
	for _, server := range out.Servers {
		objects = append(objects, server.ConfigMap, server.StatefulSet)
	}
	var text bytes.Buffer
	for _, object := range objects {
		fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
		if err != nil {
			t.Fatalf("%T: %v", object, err)
		}
		delete(fields, "status")
		document, err := yaml.Marshal(fields)
		if err != nil {
			t.Fatalf("%T: %v", object, err)
		}
		text.WriteString("---\n")
		text.Write(document)
	}
	return text.Bytes()
}

func TestRenderGolden(t *testing.T) {
	cases := map[string]render.Input{
		"quickstart": quickstart(),
		"standalone": with(func(in *render.Input, spec *v1beta1.NatsClusterSpec) {
			spec.Replicas = 1
			spec.TLS = &v1beta1.ListenerTLS{SecretRef: v1beta1.SecretReference{Name: "demo-cert"}}
			spec.ServerTags = map[string]string{"zone": "b", "az": "1"}
			spec.Exporter.Enabled = new(false)
			spec.Monitor.NetworkPolicy = new(false)
			in.ClientTLS = &render.Certificate{SecretName: "demo-cert", Digest: "c11e"}
		}),
	}
	for name, in := range cases {
		t.Run(name, func(t *testing.T) {
			got := documents(t, mustRender(t, in))
			path := "testdata/" + name + ".yaml"
			if *update {
				if err := os.WriteFile(path, got, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), string(got)); diff != "" {
				t.Errorf("objects differ from %s (-want +got), run with -update if that is meant:\n%s", path, diff)
			}
		})
	}
}

func TestEndpoints(t *testing.T) {
	plain := mustRender(t, quickstart()).Endpoints
	tls := mustRender(t, with(func(_ *render.Input, spec *v1beta1.NatsClusterSpec) {
		spec.TLS = &v1beta1.ListenerTLS{SecretRef: v1beta1.SecretReference{Name: "demo-cert"}}
	})).Endpoints
	want := []v1beta1.Endpoints{
		{Client: "nats://demo.messaging.svc:4222", Monitor: "http://demo-headless.messaging.svc:8222"},
		{Client: "tls://demo.messaging.svc:4222", Monitor: "http://demo-headless.messaging.svc:8222"},
	}
	if diff := cmp.Diff(want, []v1beta1.Endpoints{plain, tls}); diff != "" {
		t.Errorf("endpoints (-want +got):\n%s", diff)
	}
}

func TestLimits(t *testing.T) {
	type result struct{ Memory, File, Go string }
	cases := map[string]struct {
		change func(*v1beta1.NatsClusterSpec)
		want   result
	}{
		"derived": {func(*v1beta1.NatsClusterSpec) {}, result{"3Gi", "19Gi", "3865470566"}},
		"no memory limit": {
			func(s *v1beta1.NatsClusterSpec) { s.Resources.Limits = nil },
			result{"", "19Gi", ""},
		},
		"no claim": {
			func(s *v1beta1.NatsClusterSpec) { s.JetStream.VolumeClaimTemplate = nil },
			result{"3Gi", "", "3865470566"},
		},
		"no jetstream": {
			func(s *v1beta1.NatsClusterSpec) { s.JetStream = nil },
			result{"", "", "3865470566"},
		},
		"overridden, the file store beyond the claim": {
			func(s *v1beta1.NatsClusterSpec) {
				s.JetStream.Limits = v1beta1.JetStreamLimits{
					MaxMemoryStore: new(resource.MustParse("4Gi")), MaxFileStore: new(resource.MustParse("1Ti")),
				}
			},
			result{"4Gi", "1Ti", "3865470566"},
		},
		"zero leaves the default": {
			func(s *v1beta1.NatsClusterSpec) {
				s.JetStream.Limits = v1beta1.JetStreamLimits{
					MaxMemoryStore: new(resource.MustParse("0")), MaxFileStore: new(resource.MustParse("0")),
				}
			},
			result{"", "", "3865470566"},
		},
		"rounded down, without overflow": {
			func(s *v1beta1.NatsClusterSpec) {
				s.Resources.Limits = quantities("memory", "8Ei")
				s.Resources.Limits["memory"] = *resource.NewQuantity(9223372036854775806, resource.DecimalSI)
				s.JetStream.VolumeClaimTemplate.Spec.Resources.Requests = quantities("storage", "199")
			},
			result{"6917529027641081854", "189", "8301034833169298225"},
		},
	}
	for name, test := range cases {
		t.Run(name, func(t *testing.T) {
			out := mustRender(t, with(func(_ *render.Input, spec *v1beta1.NatsClusterSpec) { test.change(spec) }))
			got := result{Memory: text(out.Limits.MaxMemoryStore), File: text(out.Limits.MaxFileStore)}
			for _, env := range out.Servers[0].StatefulSet.Spec.Template.Spec.Containers[0].Env {
				if env.Name == "GOMEMLIMIT" {
					got.Go = env.Value
				}
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("limits (-want +got):\n%s", diff)
			}
			config := parse(t, out.Servers[0].Config)
			if diff := cmp.Diff(bytesOf(out.Limits.MaxMemoryStore), config.JetStream.MaxMemoryStore); diff != "" {
				t.Errorf("max_memory_store is not the limit in the status:\n%s", diff)
			}
			if diff := cmp.Diff(bytesOf(out.Limits.MaxFileStore), config.JetStream.MaxFileStore); diff != "" {
				t.Errorf("max_file_store is not the limit in the status:\n%s", diff)
			}
		})
	}
}

func text(q *resource.Quantity) string {
	if q == nil {
		return ""
	}
	return q.String()
}

func bytesOf(q *resource.Quantity) int64 {
	if q == nil {
		return 0
	}
	return q.Value()
}

func TestImages(t *testing.T) {
	const digest = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
	defaults := render.ExporterDefaults{Repository: "example.org/exporter", Tag: "1.0", Digest: digest}
	cases := map[string]struct {
		image              v1beta1.ServerImage
		exporter           v1beta1.ExporterImage
		want, exporterWant string
	}{
		"defaults": {want: "nats:2.15.3", exporterWant: "example.org/exporter:1.0@" + digest},
		"own repository": {
			image: v1beta1.ServerImage{Repository: "mirror.local:5000/nats"}, exporter: v1beta1.ExporterImage{Repository: "mine"},
			want: "mirror.local:5000/nats:2.15.3", exporterWant: "mine:1.0",
		},
		"own digest": {
			image: v1beta1.ServerImage{Digest: digest}, exporter: v1beta1.ExporterImage{Digest: digest},
			want: "nats:2.15.3@" + digest, exporterWant: "example.org/exporter:1.0@" + digest,
		},
		"own tag": {exporter: v1beta1.ExporterImage{Tag: "2.0"}, want: "nats:2.15.3", exporterWant: "example.org/exporter:2.0"},
	}
	for name, test := range cases {
		t.Run(name, func(t *testing.T) {
			out := mustRender(t, with(func(in *render.Input, spec *v1beta1.NatsClusterSpec) {
				in.Exporter, spec.Image, spec.Exporter.Image = defaults, test.image, test.exporter
			}))
			containers := out.Servers[0].StatefulSet.Spec.Template.Spec.Containers
			if got := containers[0].Image; got != test.want {
				t.Errorf("image %q, want %q", got, test.want)
			}
			if got := containers[1].Image; got != test.exporterWant {
				t.Errorf("exporter image %q, want %q", got, test.exporterWant)
			}
		})
	}
}

// A listener that is to have TLS is rendered with it while the certificate is still waited for.
func TestTLSIsNeverDropped(t *testing.T) {
	out := mustRender(t, with(func(in *render.Input, spec *v1beta1.NatsClusterSpec) {
		in.RoutesTLS = nil
		spec.TLS = &v1beta1.ListenerTLS{SecretRef: v1beta1.SecretReference{Name: "demo-cert"}}
	}))
	config := parse(t, out.Servers[0].Config)
	if config.TLS == nil || config.Cluster.TLS == nil || config.Cluster.TLS.CAFile == "" {
		t.Errorf("a listener lost its TLS:\n%s", out.Servers[0].Config)
	}
	secrets := map[string]string{}
	for _, volume := range out.Servers[0].StatefulSet.Spec.Template.Spec.Volumes {
		if volume.Secret != nil {
			secrets[volume.Name] = volume.Secret.SecretName
		}
	}
	if diff := cmp.Diff(map[string]string{"client-tls": "demo-cert", "routes-tls": "demo-routes-tls"}, secrets); diff != "" {
		t.Errorf("mounted Secrets (-want +got):\n%s", diff)
	}
	plain := mustRender(t, with(func(_ *render.Input, spec *v1beta1.NatsClusterSpec) { spec.Routes.TLS.Enabled = new(false) }))
	if config := parse(t, plain.Servers[0].Config); config.Cluster.TLS != nil {
		t.Errorf("routes have TLS that is turned off:\n%s", plain.Servers[0].Config)
	}
}

// The rendered labels, annotations and claim metadata win over a template's, and the rest is kept.
func TestTemplateMetadata(t *testing.T) {
	mine := v1beta1.EmbeddedObjectMetadata{
		Labels: map[string]string{v1beta1.LabelCluster: "other", v1beta1.LabelServer: "other", "team": "orders"},
		Annotations: map[string]string{
			v1beta1.AnnotationConfigRevision: "other", v1beta1.AnnotationStandalone: "false", "note": "kept",
		},
	}
	out := mustRender(t, with(func(_ *render.Input, spec *v1beta1.NatsClusterSpec) {
		spec.Replicas = 1
		spec.PodTemplate.Metadata = mine
		spec.JetStream.VolumeClaimTemplate.Metadata = mine
	}))
	set := out.Servers[0].StatefulSet
	selector := map[string]string{v1beta1.LabelCluster: "demo", v1beta1.LabelServer: "demo-0"}
	if diff := cmp.Diff(selector, set.Spec.Selector.MatchLabels); diff != "" {
		t.Fatalf("selector (-want +got):\n%s", diff)
	}
	claim, pod := set.Spec.VolumeClaimTemplates[0], set.Spec.Template
	for _, labels := range []map[string]string{claim.Labels, pod.Labels} {
		for key, value := range selector {
			if labels[key] != value {
				t.Errorf("label %s is %q, want %q", key, labels[key], value)
			}
		}
		if labels["team"] != "orders" {
			t.Errorf("label team is lost: %v", labels)
		}
	}
	want := map[string]string{v1beta1.AnnotationConfigRevision: out.Revision, v1beta1.AnnotationStandalone: "false", "note": "kept"}
	if diff := cmp.Diff(want, pod.Annotations); diff != "" {
		t.Errorf("Pod annotations (-want +got):\n%s", diff)
	}
	want = map[string]string{v1beta1.AnnotationConfigRevision: "other", v1beta1.AnnotationStandalone: "true", "note": "kept"}
	if diff := cmp.Diff(want, claim.Annotations); diff != "" {
		t.Errorf("claim annotations (-want +got):\n%s", diff)
	}
}

// A claim that was made for a server of several is not marked as a lone server's.
func TestStandaloneMark(t *testing.T) {
	for _, server := range mustRender(t, quickstart()).Servers {
		if _, ok := server.StatefulSet.Spec.VolumeClaimTemplates[0].Annotations[v1beta1.AnnotationStandalone]; ok {
			t.Errorf("%s is marked", server.Name)
		}
	}
}

func TestUnsupported(t *testing.T) {
	type spec = v1beta1.NatsClusterSpec
	negative := resource.MustParse("-1")
	huge := resource.MustParse("9Ei")
	cases := map[string]struct {
		change func(*render.Input, *spec)
		path   string
	}{
		"name begins with a digit": {func(in *render.Input, _ *spec) { in.Cluster.Name = "1demo" }, "metadata.name"},
		"name of 41": {
			func(in *render.Input, _ *spec) { in.Cluster.Name = "a2345678901234567890123456789012345678901" }, "metadata.name",
		},
		"no replicas":           {func(_ *render.Input, s *spec) { s.Replicas = 0 }, "spec.replicas"},
		"65 replicas":           {func(_ *render.Input, s *spec) { s.Replicas = 65 }, "spec.replicas"},
		"version with a build":  {func(_ *render.Input, s *spec) { s.Version = "2.15.3+mine" }, "spec.version"},
		"no version":            {func(_ *render.Input, s *spec) { s.Version = "" }, "spec.version"},
		"repository with a tag": {func(_ *render.Input, s *spec) { s.Image.Repository = "nats:" }, "spec.image.repository"},
		"short digest":          {func(_ *render.Input, s *spec) { s.Image.Digest = "sha256:00" }, "spec.image.digest"},
		"exporter tag":          {func(_ *render.Input, s *spec) { s.Exporter.Image.Tag = "a b" }, "spec.exporter.image.tag"},
		"no exporter image": {
			func(in *render.Input, _ *spec) { in.Exporter = render.ExporterDefaults{} }, "spec.exporter.image.repository",
		},
		"tag with a quote": {
			func(_ *render.Input, s *spec) { s.ServerTags = map[string]string{"a": "b", "z": `"`} }, "spec.serverTags[z]",
		},
		"empty tag key": {func(_ *render.Input, s *spec) { s.ServerTags = map[string]string{"": "b"} }, "spec.serverTags[]"},
		"negative memory": {
			func(_ *render.Input, s *spec) {
				s.Resources = corev1.ResourceRequirements{Limits: corev1.ResourceList{"memory": negative}}
			},
			"spec.resources.limits.memory",
		},
		"request beyond the limit": {
			func(_ *render.Input, s *spec) { s.Resources.Requests = quantities("memory", "5Gi") }, "spec.resources.requests.memory",
		},
		"memory beyond 8Ei": {
			func(_ *render.Input, s *spec) { s.Resources.Limits = corev1.ResourceList{"memory": huge} }, "spec.resources.limits.memory",
		},
		"negative memory store": {
			func(_ *render.Input, s *spec) { s.JetStream.Limits.MaxMemoryStore = &negative }, "spec.jetstream.limits.maxMemoryStore",
		},
		"memory store beyond the limit": {
			func(_ *render.Input, s *spec) {
				s.JetStream.Limits.MaxMemoryStore = new(resource.MustParse("4294967297"))
			},
			"spec.jetstream.limits.maxMemoryStore",
		},
		"file store beyond 8Ei": {
			func(_ *render.Input, s *spec) { s.JetStream.Limits.MaxFileStore = &huge }, "spec.jetstream.limits.maxFileStore",
		},
		"claim without a size": {
			func(_ *render.Input, s *spec) { s.JetStream.VolumeClaimTemplate.Spec.Resources.Requests = nil },
			"spec.jetstream.volumeClaimTemplate.spec.resources.requests.storage",
		},
		"claim of a negative size": {
			func(_ *render.Input, s *spec) {
				s.JetStream.VolumeClaimTemplate.Spec.Resources.Requests = corev1.ResourceList{"storage": negative}
			},
			"spec.jetstream.volumeClaimTemplate.spec.resources.requests.storage",
		},
		"claim of a block device": {
			func(_ *render.Input, s *spec) {
				s.JetStream.VolumeClaimTemplate.Spec.VolumeMode = ptr.To(corev1.PersistentVolumeBlock)
			},
			"spec.jetstream.volumeClaimTemplate.spec.volumeMode",
		},
		"claim label": {
			func(_ *render.Input, s *spec) {
				s.JetStream.VolumeClaimTemplate.Metadata.Labels = map[string]string{"a/b/c": ""}
			},
			"spec.jetstream.volumeClaimTemplate.metadata.labels",
		},
		"Pod label value": {
			func(_ *render.Input, s *spec) { s.PodTemplate.Metadata.Labels = map[string]string{"a": "not a value"} },
			"spec.podTemplate.metadata.labels",
		},
		"Pod annotation key": {
			func(_ *render.Input, s *spec) { s.PodTemplate.Metadata.Annotations = map[string]string{"-": ""} },
			"spec.podTemplate.metadata.annotations",
		},
		"peer that is nobody": {
			func(_ *render.Input, s *spec) {
				s.Exporter.From = []networkingv1.NetworkPolicyPeer{{PodSelector: &metav1.LabelSelector{}}, {}}
			},
			"spec.exporter.from[1]",
		},
		"peer that is two": {
			func(_ *render.Input, s *spec) {
				s.Exporter.From = []networkingv1.NetworkPolicyPeer{{
					PodSelector: &metav1.LabelSelector{}, IPBlock: &networkingv1.IPBlock{CIDR: "10.0.0.0/8"},
				}}
			},
			"spec.exporter.from[0]",
		},
		"peer without a range": {
			func(_ *render.Input, s *spec) {
				s.Exporter.From = []networkingv1.NetworkPolicyPeer{{IPBlock: &networkingv1.IPBlock{CIDR: "10.0.0.0"}}}
			},
			"spec.exporter.from[0].ipBlock.cidr",
		},
		"routes without a CA": {func(in *render.Input, _ *spec) { in.RoutesTLS.CA = false }, "spec.routes.tls.secretRef"},
	}
	for _, name := range slices.Sorted(maps.Keys(cases)) {
		test := cases[name]
		t.Run(name, func(t *testing.T) {
			_, err := render.Render(with(test.change))
			var unsupported *render.UnsupportedError
			if !errors.As(err, &unsupported) {
				t.Fatalf("error %v, want an UnsupportedError", err)
			}
			if unsupported.Path != test.path {
				t.Errorf("names %s (%s), want %s", unsupported.Path, unsupported.Message, test.path)
			}
		})
	}
}

func find[T client.Object](t *testing.T, objects []client.Object) T {
	t.Helper()
	for _, object := range objects {
		if found, ok := object.(T); ok {
			return found
		}
	}
	var none T
	t.Fatalf("no %T was rendered", none)
	return none
}
