package reload

import (
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/api/nats/cluster/v1beta1"
	"github.com/holdfast-dev/holdfast/internal/nats/cluster/facts"
	"github.com/holdfast-dev/holdfast/internal/nats/cluster/render"
	"github.com/holdfast-dev/holdfast/internal/nats/settled"
)

// renewed is another certificate of the routes, by the same CA.
func renewed(in *render.Input) {
	in.RoutesTLS.Digest, in.RoutesTLS.Ends = "second", ends.Add(time.Hour)
}

func otherAuthority(in *render.Input) { in.RoutesTLS.Authorities = "another" }

func sameEnd(in *render.Input) { in.RoutesTLS.Ends = ends }

// under has the clients' listener have a certificate too, in both Worlds.
func under(t *testing.T, changes ...func(*render.Input)) World {
	t.Helper()
	certificate := func(in *render.Input) {
		in.Cluster.Spec.TLS = &v1beta1.ListenerTLS{SecretRef: v1beta1.SecretReference{Name: "cert"}}
		in.ClientTLS = &render.Certificate{SecretName: "cert", Digest: "first", Ends: ends}
	}
	before := rendered(t, certificate)
	w := world(t)
	w.Rendered = rendered(t, append([]func(*render.Input){certificate}, changes...)...)
	for i := range w.Servers {
		server := &w.Servers[i]
		server.StatefulSet, server.ConfigMap = before.Servers[i].StatefulSet, before.Servers[i].ConfigMap
		process := w.Processes[server.Name]
		process.ConfigRevision, process.ConfigDigest, process.ClientCertificateEnds = before.Revision, Digest(string(before.Servers[i].Config)), ends
		w.Processes[server.Name] = process
	}
	return w
}

func clientRenewed(in *render.Input) {
	in.ClientTLS = &render.Certificate{SecretName: "cert", Digest: "second", Ends: ends.Add(time.Hour)}
}

// process changes what the first server reports.
func (w World) process(change func(*settled.ServerFacts)) World {
	process := w.Processes["demo-0"]
	change(&process)
	w.Processes["demo-0"] = process
	return w
}

func TestDecideOnCertificates(t *testing.T) {
	old := func(p *settled.ServerFacts) { p.RouteCertificateEnds = ends }
	oldClient := func(p *settled.ServerFacts) { p.ClientCertificateEnds = ends }
	late := "reload failed: the server did not load its new certificate within three minutes"
	for name, tc := range map[string]struct {
		world  World
		want   Need
		reason string
	}{
		"nothing new":                 {world: under(t), want: Nothing},
		"of the routes":               {world: world(t, renewed), want: Reload},
		"of the clients":              {world: under(t, clientRenewed), want: Reload},
		"of both":                     {world: under(t, renewed, clientRenewed), want: Reload},
		"and tags":                    {world: world(t, renewed, tags), want: Reload},
		"and a lowered limit":         {world: world(t, renewed, file("5Gi")), want: Restart, reason: "jetstream.max_file_store is restart-only"},
		"nobody to ask":               {world: func() World { w := world(t, renewed); w.Credentials = false; return w }(), want: Restart, reason: "a certificate is restart-only without auth.systemCredentials"},
		"a version that is not known": {world: world(t, renewed).process(func(p *settled.ServerFacts) { p.Version = "2.16.0" }), want: Restart, reason: "a certificate is restart-only"},
		"with another CA":             {world: world(t, renewed, otherAuthority), want: Restart, reason: "the CA of the routes is restart-only"},
		"another CA alone":            {world: world(t, otherAuthority), want: Restart, reason: "the CA of the routes is restart-only"},
		"with the same end":           {world: world(t, renewed, sameEnd), want: Restart, reason: "a certificate that ends when the one before it does is restart-only"},
		"a server that is silent":     {world: func() World { w := world(t, renewed); delete(w.Processes, "demo-0"); return w }(), want: Reload},
		"asked for a moment ago":      {world: world(t, renewed).given(time.Second).loaded().process(old), want: Confirm},
		"not shown for long":          {world: world(t, renewed).given(window).loaded().process(old), want: Confirm},
		"not shown for too long":      {world: world(t, renewed).given(window + time.Second).loaded().process(old), want: Restart, reason: late},
		"not shown to clients":        {world: under(t, clientRenewed).given(window + time.Second).loaded().process(oldClient), want: Restart, reason: late},
		"shown":                       {world: world(t, renewed).given(time.Hour).loaded(), want: Nothing},
		"both shown":                  {world: under(t, renewed, clientRenewed).given(time.Hour).loaded(), want: Nothing},
		"credentials taken away, late": {world: func() World {
			w := world(t, renewed).given(time.Hour).loaded().process(old)
			w.Credentials = false
			return w
		}(), want: Restart, reason: late},
		"shown, but not the rest": {world: world(t, renewed).given(time.Second).loaded().process(func(p *settled.ServerFacts) { p.ConfigDigest = "other" }), want: Confirm},
		"a template for another certificate": {world: edit(world(t), func(s *facts.Server) {
			s.StatefulSet = s.StatefulSet.DeepCopy()
			s.StatefulSet.Spec.Template.Annotations[v1beta1.AnnotationRouteCertificate] = "edited"
		}), want: Restart, reason: "the StatefulSet spec is restart-only"},
	} {
		t.Run(name, func(t *testing.T) {
			got := Decide(tc.world, now).Of("demo-0")
			if got.Need != tc.want || got.Reason != tc.reason {
				t.Errorf("%s (%q), want %s (%q)", got.Need, got.Reason, tc.want, tc.reason)
			}
		})
	}
}
