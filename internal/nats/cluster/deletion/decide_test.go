package deletion

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/holdfast-dev/holdfast/api/nats/cluster/v1beta1"
	"github.com/holdfast-dev/holdfast/internal/kit/fact"
	"github.com/holdfast-dev/holdfast/internal/nats/cluster/facts"
)

// server is one that runs.
func server(name string) facts.Server {
	return facts.Server{Name: name, StatefulSet: &appsv1.StatefulSet{}, Pod: &corev1.Pod{Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{
		{Name: facts.Container, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}},
	}}}}
}

// deleted is a NatsCluster that is to go and holds no stream.
func deleted(changes ...func(*World)) World {
	w := World{
		Cluster: "demo", JetStream: true, Held: true, Deleting: true,
		Servers: fact.Known(facts.Servers{server("demo-0"), server("demo-1")}), EverUp: map[string]bool{"demo-0": true, "demo-1": true},
		Streams: fact.Known([]string{}),
	}
	for _, change := range changes {
		change(&w)
	}
	return w
}

func TestDecide(t *testing.T) {
	const order = "kubectl annotate natscluster demo cluster.nats.mikluko.io/force-delete="
	streams := func(names ...string) func(*World) { return func(w *World) { w.Streams = fact.Known(names) } }
	silent := func(w *World) { w.Streams = fact.Unknown[[]string]("demo-1 does not answer") }
	servers := func(list ...facts.Server) func(*World) {
		return func(w *World) { w.Servers = fact.Known(facts.Servers(list)) }
	}
	up := func(names ...string) func(*World) {
		return func(w *World) {
			w.EverUp = map[string]bool{"demo-9": false}
			for _, name := range names {
				w.EverUp[name] = true
			}
		}
	}
	claim := facts.Server{Name: "demo-1", Claim: &corev1.PersistentVolumeClaim{}}
	forced := func(w *World) { w.Forced = true }
	stays := func(w *World) { w.Deleting = false }
	release, remains := Plan{Action: Release}, func(message string) Plan {
		return Plan{Reason: v1beta1.ReasonJetStreamDataRemains, Message: message + "; move or delete them, or let it go all the same with: " + order}
	}
	unknown := func(why string) Plan {
		return Plan{Reason: v1beta1.ReasonObservationFailed, Message: "which streams are on NATS cluster demo is not known: " + why +
			"; if that does not come back, let it go all the same with: " + order}
	}
	for name, tc := range map[string]struct {
		world World
		want  Plan
	}{
		"new":                              {deleted(stays, func(w *World) { w.Held = false }), Plan{Action: Hold}},
		"new, without JetStream":           {deleted(stays, func(w *World) { w.Held, w.JetStream = false, false }), Plan{}},
		"held, and stays":                  {deleted(stays, streams("a/b")), Plan{}},
		"held, and stays, and is forced":   {deleted(stays, forced), Plan{}},
		"goes, and somebody else holds it": {deleted(func(w *World) { w.Held = false }, streams("a/b")), Plan{}},

		"no stream":               {deleted(), release},
		"one stream":              {deleted(streams("orders/ORDERS")), remains("1 stream is on NATS cluster demo: orders/ORDERS")},
		"many streams":            {deleted(streams("a", "b", "c", "d", "e", "f", "g")), remains("7 streams are on NATS cluster demo: a, b, c, d, e and 2 more")},
		"a silent server":         {deleted(silent), unknown("demo-1 does not answer")},
		"unknown servers":         {deleted(func(w *World) { w.Servers = fact.Unknown[facts.Servers]("no list") }), unknown("no list")},
		"unknown, forced":         {deleted(silent, forced), release},
		"streams, forced":         {deleted(streams("a"), forced), release},
		"no server left":          {deleted(silent, servers(facts.Server{Name: "demo-0", Claim: &corev1.PersistentVolumeClaim{}})), release},
		"a Pod is left":           {deleted(silent, servers(facts.Server{Name: "demo-0", Pod: &corev1.Pod{}}), up("demo-0")), unknown("demo-1 does not answer")},
		"never up":                {deleted(silent, servers(facts.Server{Name: "demo-0", StatefulSet: &appsv1.StatefulSet{}}), up()), release},
		"one was up":              {deleted(silent, servers(facts.Server{Name: "demo-0", StatefulSet: &appsv1.StatefulSet{}}), up("demo-0")), unknown("demo-1 does not answer")},
		"one is up, on no record": {deleted(silent, servers(server("demo-0")), up()), unknown("demo-1 does not answer")},

		"no stream, and one has but its claim":             {deleted(servers(server("demo-0"), claim), up("demo-0", "demo-1")), unknown("demo-1 cannot answer without a Pod")},
		"no stream, and two have nothing":                  {deleted(servers(server("demo-0")), up("demo-2", "demo-1")), unknown("demo-1, demo-2 cannot answer without a Pod")},
		"no stream, and one that never ran has nothing":    {deleted(servers(server("demo-0"), claim), up("demo-0")), release},
		"no stream, and one has a StatefulSet without Pod": {deleted(servers(server("demo-0"), facts.Server{Name: "demo-1", StatefulSet: &appsv1.StatefulSet{}})), release},
		"no stream, and one has but a Pod":                 {deleted(servers(server("demo-0"), facts.Server{Name: "demo-1", Pod: &corev1.Pod{}})), release},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, Decide(tc.world)); diff != "" {
				t.Errorf("plan (-want +got):\n%s", diff)
			}
		})
	}
}
