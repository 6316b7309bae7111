package reload

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-dev/holdfast/api/nats/cluster/v1beta1"
	"github.com/holdfast-dev/holdfast/internal/nats/cluster/facts"
	"github.com/holdfast-dev/holdfast/internal/nats/cluster/render"
	"github.com/holdfast-dev/holdfast/internal/nats/settled"
)

var now = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// ends is when the certificate of the routes ends.
var ends = now.Add(time.Hour)

// input is a NatsCluster of two servers under a NATS operator.
func input(changes ...func(*render.Input)) render.Input {
	in := render.Input{
		Cluster: &v1beta1.NatsCluster{
			ObjectMeta: metav1.ObjectMeta{Name: "demo", Namespace: "apps"},
			Spec: v1beta1.NatsClusterSpec{
				Version: "2.15.2", Replicas: 2, JetStream: &v1beta1.JetStream{Limits: v1beta1.JetStreamLimits{
					MaxMemoryStore: new(resource.MustParse("1Gi")), MaxFileStore: new(resource.MustParse("10Gi")),
				}},
				ServerTags: map[string]string{"zone": "a"}, Auth: &v1beta1.Auth{},
			},
		},
		Exporter:  render.ExporterDefaults{Repository: "exporter", Tag: "1"},
		RoutesTLS: &render.Certificate{SecretName: "demo-routes-tls", Digest: "first", Authorities: "ca", Ends: ends, CA: true},
		Trust:     &render.Trust{OperatorJWT: "operator", SystemAccount: "ASYS", SystemAccountJWT: "first"},
	}
	for _, change := range changes {
		change(&in)
	}
	return in
}

func spec(change func(*v1beta1.NatsClusterSpec)) func(*render.Input) {
	return func(in *render.Input) { change(&in.Cluster.Spec) }
}

func rendered(t *testing.T, changes ...func(*render.Input)) render.Output {
	t.Helper()
	out, err := render.Render(input(changes...))
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// world is two servers that run what is rendered for them, then the spec as changed.
func world(t *testing.T, changes ...func(*render.Input)) World {
	t.Helper()
	before, after := rendered(t), rendered(t, changes...)
	w := World{
		Rendered: after, Credentials: true, Processes: map[string]settled.ServerFacts{},
		Pods: map[string]bool{}, Configs: map[string]bool{},
	}
	for i, server := range before.Servers {
		w.Servers = append(w.Servers, facts.Server{Name: server.Name, Ordinal: i, StatefulSet: server.StatefulSet, ConfigMap: server.ConfigMap})
		w.Processes[server.Name] = settled.ServerFacts{
			ID: "N" + server.Name, Version: "2.15.2", ConfigRevision: before.Revision, ConfigDigest: Digest(string(server.Config)),
			RouteCertificateEnds: ends,
		}
		if i < len(after.Servers) {
			w.Pods[server.Name] = cmp.Equal(server.StatefulSet, after.Servers[i].StatefulSetLike(server.StatefulSet))
			w.Configs[server.Name] = cmp.Equal(server.ConfigMap, after.Servers[i].ConfigMap)
		}
	}
	return w
}

// given has the first server's ConfigMap be what is rendered now, to be reloaded since then.
func (w World) given(since time.Duration) World {
	server := &w.Servers[0]
	server.ConfigMap = toReload(w.Rendered.Servers[0].ConfigMap, now.Add(-since))
	w.Configs[server.Name] = true
	return w
}

// loaded has the first server's process report what its ConfigMap says.
func (w World) loaded() World {
	process := w.Processes["demo-0"]
	process.ConfigRevision = w.Rendered.Revision
	process.ConfigDigest = Digest(w.Servers[0].ConfigMap.Data[render.ConfigKey])
	if w.Rendered.ClientTLS != nil {
		process.ClientCertificateEnds = w.Rendered.ClientTLS.Ends
	}
	process.RouteCertificateEnds = w.Rendered.RoutesTLS.Ends
	w.Processes["demo-0"] = process
	return w
}

// strayed has the first server's process run something else than its ConfigMap, in the Pod of its StatefulSet's template.
func strayed(w World, ready corev1.ConditionStatus) World {
	server := &w.Servers[0]
	server.Pod = &corev1.Pod{ObjectMeta: metav1.ObjectMeta{OwnerReferences: []metav1.OwnerReference{{Controller: new(true)}}}}
	server.Pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: ready}}
	process := w.Processes[server.Name]
	process.ConfigRevision = ""
	w.Processes[server.Name] = process
	return w
}

var tags = spec(func(s *v1beta1.NatsClusterSpec) { s.ServerTags["zone"] = "b" })

func file(quantity string) func(*render.Input) {
	return spec(func(s *v1beta1.NatsClusterSpec) { s.JetStream.Limits.MaxFileStore = new(resource.MustParse(quantity)) })
}

// edit changes the first server's objects.
func edit(w World, change func(*facts.Server)) World { change(&w.Servers[0]); return w }

func TestDecide(t *testing.T) {
	memory := func(quantity string) func(*render.Input) {
		return spec(func(s *v1beta1.NatsClusterSpec) {
			s.JetStream.Limits.MaxMemoryStore = new(resource.MustParse(quantity))
		})
	}
	preload := func(in *render.Input) { in.Trust.SystemAccountJWT = "second" }
	for name, tc := range map[string]struct {
		world World
		// want is what the first server needs.
		want   Need
		reason string
	}{
		"nothing differs":                        {world: world(t), want: Nothing},
		"started with what somebody had written": {world: strayed(world(t), corev1.ConditionTrue), want: Restart, reason: "the process was started with a configuration that somebody had changed"},
		"the same, and it does not answer": {world: func() World {
			w := strayed(world(t), corev1.ConditionTrue)
			delete(w.Processes, "demo-0")
			return w
		}(), want: Nothing},
		"the same, while it is on its way up": {world: strayed(world(t), corev1.ConditionFalse), want: Nothing},

		"tags":                          {world: world(t, tags), want: Reload},
		"tags taken away":               {world: world(t, spec(func(s *v1beta1.NatsClusterSpec) { s.ServerTags = nil })), want: Reload},
		"routes to one more server":     {world: world(t, spec(func(s *v1beta1.NatsClusterSpec) { s.Replicas = 3 })), want: Reload},
		"a raised memory store":         {world: world(t, memory("2Gi")), want: Reload},
		"a raised file store":           {world: world(t, file("20Gi")), want: Reload},
		"a lowered memory store":        {world: world(t, memory("512Mi")), want: Restart, reason: "jetstream.max_memory_store is restart-only"},
		"a lowered file store":          {world: world(t, file("5Gi")), want: Restart, reason: "jetstream.max_file_store is restart-only"},
		"both lowered":                  {world: world(t, memory("512Mi"), file("5Gi")), want: Restart, reason: "jetstream.max_file_store, jetstream.max_memory_store are restart-only"},
		"one raised and one lowered":    {world: world(t, memory("2Gi"), file("5Gi")), want: Restart, reason: "jetstream.max_file_store is restart-only"},
		"a memory store left to itself": {world: world(t, spec(func(s *v1beta1.NatsClusterSpec) { s.JetStream.Limits.MaxMemoryStore = nil })), want: Restart, reason: "jetstream.max_memory_store is restart-only"},
		"another operator JWT":          {world: world(t, func(in *render.Input) { in.Trust.OperatorJWT = "again" }), want: Restart, reason: "operator is restart-only"},
		"another resolver":              {world: world(t, spec(func(s *v1beta1.NatsClusterSpec) { s.Auth.Resolver = v1beta1.ResolverCache })), want: Restart, reason: "resolver.allow_delete, resolver.type are restart-only"},
		"TLS for clients": {world: world(t, func(in *render.Input) {
			in.Cluster.Spec.TLS = &v1beta1.ListenerTLS{SecretRef: v1beta1.SecretReference{Name: "cert"}}
			in.ClientTLS = &render.Certificate{SecretName: "cert", Digest: "first", Ends: ends}
		}), want: Restart, reason: "the StatefulSet spec is restart-only"},

		"another version": {world: world(t, spec(func(s *v1beta1.NatsClusterSpec) { s.Version = "2.15.3" })), want: Restart, reason: "version 2.15.2 -> 2.15.3 is restart-only"},
		"another Pod": {world: world(t, spec(func(s *v1beta1.NatsClusterSpec) {
			s.Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")}
		})), want: Restart, reason: "the StatefulSet spec is restart-only"},
		"another Pod and tags": {world: world(t, tags, spec(func(s *v1beta1.NatsClusterSpec) { s.Version = "2.15.3" })), want: Restart, reason: "version 2.15.2 -> 2.15.3 is restart-only"},
		"a StatefulSet that somebody edited": {world: func() World { w := world(t); w.Pods["demo-0"] = false; return w }(), want: Restart,
			reason: "the StatefulSet spec is restart-only"},

		"tags, and nobody to ask with": {world: func() World { w := world(t, tags); w.Credentials = false; return w }(), want: Restart,
			reason: "server_tags is restart-only without auth.systemCredentials"},
		"tags on a minor version that is not known": {world: func() World {
			w := world(t, tags)
			process := w.Processes["demo-0"]
			process.Version = "2.16.0"
			w.Processes["demo-0"] = process
			return w
		}(), want: Restart, reason: "server_tags is restart-only"},
		"tags on a server that does not answer": {world: func() World { w := world(t, tags); delete(w.Processes, "demo-0"); return w }(), want: Reload},
		"tags on a silent server of a minor version that is not known": {world: func() World {
			w := world(t, tags)
			delete(w.Processes, "demo-0")
			return edit(w, func(s *facts.Server) { s.StatefulSet.Spec.Template.Spec.Containers[0].Image = "nats:2.14.9" })
		}(), want: Restart, reason: "server_tags is restart-only"},

		"a new JWT of the system account":                    {world: world(t, preload), want: Rewrite},
		"a new JWT of the system account, and nobody to ask": {world: func() World { w := world(t, preload); w.Credentials = false; return w }(), want: Rewrite},
		"a new JWT of the system account, and tags":          {world: world(t, preload, tags), want: Reload},
		"a ConfigMap whose labels somebody edited":           {world: func() World { w := world(t); w.Configs["demo-0"] = false; return w }(), want: Rewrite},
		"a configuration that somebody edited":               {world: edit(func() World { w := world(t); w.Configs["demo-0"] = false; return w }(), func(s *facts.Server) { s.ConfigMap = with(s.ConfigMap, `"pid_file": "`, `"pid_file": "/tmp`) }), want: Restart, reason: "pid_file is restart-only"},
		"a configuration that somebody broke":                {world: edit(func() World { w := world(t); w.Configs["demo-0"] = false; return w }(), func(s *facts.Server) { s.ConfigMap = with(s.ConfigMap, `{`, `[`) }), want: Restart, reason: "the configuration file is restart-only"},
		"a configuration that somebody deleted":              {world: edit(world(t), func(s *facts.Server) { s.ConfigMap = nil }), want: Restart, reason: "ConfigMap demo-0-config does not exist"},
		"a restart that was cut short after its ConfigMap":   {world: edit(world(t, spec(func(s *v1beta1.NatsClusterSpec) { s.ServerTags = nil })), func(s *facts.Server) { s.ConfigMap = rendered(t, tags).Servers[0].ConfigMap }), want: Restart, reason: "the StatefulSet spec is restart-only"},
		"a restart that was cut short, and what it was for": {world: edit(world(t, tags), func(s *facts.Server) {
			s.ConfigMap = toRestart(rendered(t, tags).Servers[0].ConfigMap, "reload failed: no")
		}), want: Restart, reason: "reload failed: no"},
		"a reload that was asked for a moment ago":           {world: world(t, tags).given(time.Second), want: Confirm},
		"a reload that is over":                              {world: world(t, tags).given(time.Second).loaded(), want: Nothing},
		"a reload that was over long ago":                    {world: world(t, tags).given(time.Hour).loaded(), want: Nothing},
		"a reload that may still come":                       {world: world(t, tags).given(window), want: Confirm},
		"a reload that did not come":                         {world: world(t, tags).given(window + time.Second), want: Restart, reason: "reload failed: the server did not load its new configuration within three minutes"},
		"a reload of a server that does not answer any more": {world: func() World { w := world(t, tags).given(time.Hour); delete(w.Processes, "demo-0"); return w }(), want: Confirm},
		"a reload, and the credentials are gone":             {world: func() World { w := world(t, tags).given(time.Second); w.Credentials = false; return w }(), want: Nothing},
		"a reload since nobody knows when":                   {world: edit(world(t, tags).given(0), func(s *facts.Server) { s.ConfigMap.Annotations[v1beta1.AnnotationReloadSince] = "x" }), want: Restart, reason: "reload failed: the server did not load its new configuration within three minutes"},
		"reloaded, and then a new JWT of the system account": {world: func() World {
			w := world(t, tags).given(time.Hour).loaded()
			w.Rendered = rendered(t, tags, preload)
			w.Configs["demo-0"] = false
			return w
		}(), want: Rewrite},
		"reloaded, and the ConfigMap has had a new JWT since": {world: func() World {
			w := world(t, tags).given(time.Hour).loaded()
			w.Rendered = rendered(t, tags, preload)
			return w.given(time.Hour)
		}(), want: Confirm},
		"reloaded, and then other tags": {world: func() World { w := world(t, tags).given(time.Hour).loaded(); w.Rendered = rendered(t); return w }(), want: Reload},
		"reloaded, and then another version": {world: func() World {
			w := world(t, tags).given(time.Hour).loaded()
			w.Rendered = rendered(t, tags, spec(func(s *v1beta1.NatsClusterSpec) { s.Version = "2.15.3" }))
			w.Pods["demo-0"] = false
			return w
		}(), want: Restart, reason: "version 2.15.2 -> 2.15.3 is restart-only"},
	} {
		t.Run(name, func(t *testing.T) {
			got := Decide(tc.world, now).Of("demo-0")
			if got.Need != tc.want || got.Reason != tc.reason {
				t.Errorf("%s (%q), want %s (%q)", got.Need, got.Reason, tc.want, tc.reason)
			}
		})
	}
}

func with(config *corev1.ConfigMap, old, next string) *corev1.ConfigMap {
	out := config.DeepCopy()
	out.Data[render.ConfigKey] = strings.Replace(out.Data[render.ConfigKey], old, next, 1)
	return out
}

// A server that is not planned, or does not exist yet, is nobody's business here.
func TestOnlyPlannedServersThatExist(t *testing.T) {
	w := world(t)
	w.Servers[0].StatefulSet = nil
	w.Servers = append(w.Servers, facts.Server{Name: "demo-2", StatefulSet: &appsv1.StatefulSet{}})
	want := Plan{Changes: []Change{{Server: "demo-1", Need: Nothing}}}
	if diff := cmp.Diff(want, Decide(w, now)); diff != "" {
		t.Errorf("plan (-want +got):\n%s", diff)
	}
}

func TestPlan(t *testing.T) {
	plan := Plan{Changes: []Change{{"a", Nothing, ""}, {"b", Rewrite, ""}, {"c", Reload, ""}, {"d", Confirm, ""}, {"e", Restart, "r"}}}
	if diff := cmp.Diff([]string{"c", "d"}, plan.Pending()); diff != "" {
		t.Errorf("pending (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]string{"e": "r"}, plan.Restarts()); diff != "" {
		t.Errorf("restarts (-want +got):\n%s", diff)
	}
}
