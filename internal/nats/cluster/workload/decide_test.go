package workload

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-dev/holdfast/api/nats/cluster/v1beta1"
	"github.com/holdfast-dev/holdfast/internal/kit/fact"
	"github.com/holdfast-dev/holdfast/internal/nats/cluster/facts"
	"github.com/holdfast-dev/holdfast/internal/nats/cluster/render"
)

const (
	configClustered  = `{"cluster":{},"jetstream":{}}`
	configStandalone = `{"jetstream":{}}`
	configNoStream   = `{"cluster":{}}`
)

// set is a StatefulSet with one claim template, of that storage class.
func set(class string) *appsv1.StatefulSet {
	return &appsv1.StatefulSet{Spec: appsv1.StatefulSetSpec{VolumeClaimTemplates: []corev1.PersistentVolumeClaim{
		{ObjectMeta: metav1.ObjectMeta{Name: "data"}, Spec: corev1.PersistentVolumeClaimSpec{StorageClassName: &class}},
	}}}
}

// rendered are n servers whose claim template is of class d1.
func rendered(n int) render.Output {
	var out render.Output
	for i := range n {
		out.Servers = append(out.Servers, render.Server{Name: render.ServerName("demo", i), StatefulSet: set("d1")})
	}
	return out
}

func server(ordinal int, changes ...func(*facts.Server)) facts.Server {
	s := facts.Server{
		Name: render.ServerName("demo", ordinal), Ordinal: ordinal, StatefulSet: set("d1"),
		ConfigMap: &corev1.ConfigMap{Data: map[string]string{render.ConfigKey: configClustered}},
	}
	for _, change := range changes {
		change(&s)
	}
	return s
}

// at has a StatefulSet run that version.
func at(version string, sets ...*appsv1.StatefulSet) {
	for _, set := range sets {
		set.Spec.Template.Spec.Containers = []corev1.Container{{Name: facts.Container, Image: "nats:" + version}}
	}
}

func config(text string) func(*facts.Server) {
	return func(s *facts.Server) { s.ConfigMap.Data[render.ConfigKey] = text }
}

func claim(annotations map[string]string, deleted bool) func(*facts.Server) {
	return func(s *facts.Server) {
		s.Claim = &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Annotations: annotations}}
		if deleted {
			s.Claim.DeletionTimestamp = &metav1.Time{}
		}
	}
}

func bare(s *facts.Server) { s.StatefulSet, s.ConfigMap = nil, nil }

var standalone = map[string]string{v1beta1.AnnotationStandalone: "true"}

func TestDecide(t *testing.T) {
	world := func(n int, jetstream bool, servers ...facts.Server) World {
		return World{Rendered: rendered(n), JetStream: jetstream, Servers: fact.Known(facts.Servers(servers))}
	}
	hold := func(reason, message string) Plan { return Plan{Hold: &Hold{Reason: reason, Message: message}} }
	const (
		wayOut = "make a second NatsCluster of the wanted size and bring the data over with a stream mirror, or a stream backup and restore"
		joins  = "spec.replicas is 3, and the store of demo-0 was written by a server that ran alone: as one of several it would delete its streams; set spec.replicas to 1, and " + wayOut
	)
	cases := map[string]struct {
		world World
		want  Plan
	}{
		"all to be created":                  {world(3, true), Plan{Create: []string{"demo-0", "demo-1", "demo-2"}}},
		"nothing to do":                      {world(2, true, server(0), server(1)), Plan{}},
		"one is missing, its claim is there": {world(2, true, server(0), server(1, bare, claim(nil, false))), Plan{Create: []string{"demo-1"}}},
		"a creation was cut short": {World{Rendered: rendered(2), JetStream: true, Unfinished: map[string]bool{"demo-1": true}, Servers: fact.Known(facts.Servers{server(0), server(1)})},
			Plan{Create: []string{"demo-1"}}},
		"an old claim has to go first": {world(2, true, server(0), server(1, bare, claim(nil, true))),
			Plan{Terminating: []string{"demo-1"}}},
		"a claim that goes under a server that is there": {world(1, false, server(0, config(`{}`), claim(nil, true))), Plan{}},
		"a certificate is missing":                       {World{Rendered: rendered(3), CertificateMissing: true, Servers: fact.Known(facts.Servers{server(1, bare, claim(nil, true))})}, Plan{}},
		"the servers are unknown":                        {World{Rendered: rendered(3), JetStream: true, Servers: fact.Unknown[facts.Servers]("no list")}, Plan{Unknown: "no list"}},

		"one server to three, by its configuration": {world(3, true, server(0, config(configStandalone))), hold(v1beta1.ReasonUnsupportedSpec, joins)},
		"one server to three, by its claim alone":   {world(3, true, server(0, bare, claim(standalone, false))), hold(v1beta1.ReasonUnsupportedSpec, joins)},
		"the claim counts more than the configuration": {world(3, true, server(0, config(configStandalone), claim(nil, false))),
			Plan{Create: []string{"demo-1", "demo-2"}}},
		"three servers to one": {world(1, true, server(0), server(1), server(2)), hold(v1beta1.ReasonUnsupportedSpec,
			"spec.replicas is 1, and the store of demo-0 was written by one of several servers: alone it cannot serve its streams; set spec.replicas back, and "+wayOut)},
		"one server stays one":           {world(1, true, server(0, config(configStandalone), claim(standalone, false))), Plan{}},
		"one to three without JetStream": {world(3, false, server(0, config(`{}`))), Plan{Create: []string{"demo-1", "demo-2"}}},
		"JetStream on under a running server": {world(3, true, server(0, config(configNoStream))), hold(v1beta1.ReasonUnsupportedSpec,
			"spec.jetstream cannot be turned on or off: demo-0 was made for the other; set it back, or make a second NatsCluster and move the clients over")},
		"JetStream off under a running server": {world(3, false, server(0)), hold(v1beta1.ReasonUnsupportedSpec,
			"spec.jetstream cannot be turned on or off: demo-0 was made for the other; set it back, or make a second NatsCluster and move the clients over")},
		"JetStream on over a configuration that no server runs": {world(1, true, server(0, config(configNoStream), func(s *facts.Server) { s.StatefulSet = nil })), Plan{Create: []string{"demo-0"}}},
		"a configuration that does not parse":                   {world(3, true, server(0, config(`{"jetstream":`))), Plan{Create: []string{"demo-1", "demo-2"}}},
		"a standalone claim that nobody plans on":               {world(2, true, server(0), server(1), server(7, bare, claim(standalone, false))), Plan{}},

		"fewer servers with JetStream": {world(2, true, server(0), server(1), server(2)), hold(v1beta1.ReasonScaleDownBlocked,
			"demo-2 cannot be removed: with JetStream its copies of streams have to be moved to other servers first, which this version does not do; set spec.replicas to 3")},
		"fewer servers without JetStream": {world(2, false, server(0, config(`{}`)), server(1, config(`{}`)), server(2, config(`{}`))), Plan{}},

		"another claim template": {world(2, true, server(0), server(1, func(s *facts.Server) { s.StatefulSet = set("d2") })), hold(v1beta1.ReasonReplacementBlocked,
			"spec.jetstream.volumeClaimTemplate differs from what demo-1 was made with: other disks need their copies of streams moved off first, which this version does not do; set the template back")},
		"five servers are all named": {world(2, true, server(0), server(1), server(2), server(3), server(4), server(5), server(6)), hold(v1beta1.ReasonScaleDownBlocked,
			"demo-2, demo-3, demo-4, demo-5, demo-6 cannot be removed: with JetStream its copies of streams have to be moved to other servers first, which this version does not do; set spec.replicas to 7")},
		"many servers are counted": {world(2, true, server(0), server(1), server(2), server(3), server(4), server(5), server(6), server(7)), hold(v1beta1.ReasonScaleDownBlocked,
			"demo-2, demo-3, demo-4, demo-5, demo-6 and 1 more cannot be removed: with JetStream its copies of streams have to be moved to other servers first, which this version does not do; set spec.replicas to 8")},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, Decide(tc.world)); diff != "" {
				t.Errorf("plan (-want +got):\n%s", diff)
			}
		})
	}
}

func TestVersions(t *testing.T) {
	for name, tc := range map[string]struct {
		wanted string
		runs   [2]string
		held   string // the version that is in the way
	}{
		"the same":                             {wanted: "2.15.3", runs: [2]string{"2.15.3", "2.15.3"}},
		"another patch":                        {wanted: "2.15.30", runs: [2]string{"2.15.3", "2.15.3"}},
		"a minor up":                           {wanted: "2.16.0", runs: [2]string{"2.15.3", "2.15.3"}},
		"a minor down":                         {wanted: "2.15.3", runs: [2]string{"2.16.0", "2.15.3"}},
		"two minors up":                        {wanted: "2.17.0", runs: [2]string{"2.15.3", "2.15.3"}, held: "demo-0 runs 2.15.3"},
		"two minors up for the last of them":   {wanted: "2.17.0", runs: [2]string{"2.16.1", "2.15.3"}, held: "demo-1 runs 2.15.3"},
		"two minors down":                      {wanted: "2.15.3", runs: [2]string{"2.17.0", "2.16.0"}, held: "demo-0 runs 2.17.0"},
		"another major":                        {wanted: "3.15.3", runs: [2]string{"2.15.3", "2.15.3"}, held: "demo-0 runs 2.15.3"},
		"a prerelease of the next":             {wanted: "2.16.0-RC.1", runs: [2]string{"2.15.3", "2.15.3"}},
		"what cannot be read, under the same":  {wanted: "edge", runs: [2]string{"edge", "edge"}},
		"what cannot be read, under a version": {wanted: "2.15.3", runs: [2]string{"2.15.3", "edge"}, held: "demo-1 runs edge"},
	} {
		t.Run(name, func(t *testing.T) {
			w := World{Rendered: rendered(2), JetStream: true, Servers: fact.Known(facts.Servers{server(0), server(1), server(2)})}
			servers, _ := w.Servers.Get()
			for i, version := range tc.runs {
				at(version, servers[i].StatefulSet)
				at(tc.wanted, w.Rendered.Servers[i].StatefulSet)
			}
			at("2.9.0", servers[2].StatefulSet) // one beyond the plan does not count
			w.JetStream = false                 // and is no scale-down to hold
			servers[0].ConfigMap, servers[1].ConfigMap, servers[2].ConfigMap = nil, nil, nil
			hold := Decide(w).Hold
			switch {
			case tc.held == "" && hold != nil:
				t.Errorf("held: %+v", hold)
			case tc.held != "" && (hold == nil || hold.Reason != v1beta1.ReasonUnsupportedSpec || !strings.Contains(hold.Message, tc.held)):
				t.Errorf("%+v, want %s: %s", hold, v1beta1.ReasonUnsupportedSpec, tc.held)
			}
		})
	}
}

// A claim template is the same as one that means the same, and as nothing else.
func TestClaimTemplates(t *testing.T) {
	mode := corev1.PersistentVolumeBlock
	for name, tc := range map[string]struct {
		change func(*corev1.PersistentVolumeClaim)
		same   bool
	}{
		"what the API server fills in": {func(c *corev1.PersistentVolumeClaim) {
			c.Spec.VolumeMode, c.Status.Phase = new(corev1.PersistentVolumeFilesystem), corev1.ClaimPending
		}, true},
		"the same size in another unit": {func(c *corev1.PersistentVolumeClaim) {
			c.Spec.Resources.Requests[corev1.ResourceStorage] = resource.MustParse("1024Mi")
		}, true},
		"another size": {func(c *corev1.PersistentVolumeClaim) {
			c.Spec.Resources.Requests[corev1.ResourceStorage] = resource.MustParse("2Gi")
		}, false},
		"another class":      {func(c *corev1.PersistentVolumeClaim) { c.Spec.StorageClassName = new("slow") }, false},
		"no class":           {func(c *corev1.PersistentVolumeClaim) { c.Spec.StorageClassName = nil }, false},
		"another mode":       {func(c *corev1.PersistentVolumeClaim) { c.Spec.VolumeMode = &mode }, false},
		"another name":       {func(c *corev1.PersistentVolumeClaim) { c.Name = "other" }, false},
		"another label":      {func(c *corev1.PersistentVolumeClaim) { c.Labels = map[string]string{"a": "b"} }, false},
		"another annotation": {func(c *corev1.PersistentVolumeClaim) { c.Annotations = map[string]string{"a": "b"} }, false},
	} {
		t.Run(name, func(t *testing.T) {
			w := World{Rendered: rendered(2), JetStream: true, Servers: fact.Known(facts.Servers{server(0), server(1)})}
			servers, _ := w.Servers.Get()
			for _, set := range []*appsv1.StatefulSet{
				servers[0].StatefulSet, servers[1].StatefulSet, w.Rendered.Servers[0].StatefulSet, w.Rendered.Servers[1].StatefulSet,
			} {
				set.Spec.VolumeClaimTemplates[0].Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}
			}
			tc.change(&servers[0].StatefulSet.Spec.VolumeClaimTemplates[0])
			hold := Decide(w).Hold
			if same := hold == nil; same != tc.same || hold != nil && hold.Reason != v1beta1.ReasonReplacementBlocked {
				t.Errorf("hold %+v; want the same: %t", hold, tc.same)
			}
		})
	}
}

// What somebody has edited says nothing of what a server runs, and a Pod without its StatefulSet is not made anew.
func TestWhatPeopleDoToServers(t *testing.T) {
	edited := World{Rendered: rendered(2), JetStream: true, Servers: fact.Known(facts.Servers{server(0), server(1, config(configNoStream))})}
	if hold := Decide(edited).Hold; hold == nil || hold.Reason != v1beta1.ReasonUnsupportedSpec {
		t.Errorf("a configuration of ours without JetStream: %+v", hold)
	}
	edited.Edited = map[string]bool{"demo-1": true}
	if hold := Decide(edited).Hold; hold != nil {
		t.Errorf("an edited one without JetStream: %+v", hold)
	}

	orphan := func(s *facts.Server) {
		s.StatefulSet = nil
		s.Pod = &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{v1beta1.AnnotationConfigRevision: "old"}}}
	}
	lost := World{Rendered: rendered(2), JetStream: true, Servers: fact.Known(facts.Servers{server(0, orphan), server(1, orphan)})}
	lost.Rendered.Revision = "new"
	if plan := Decide(lost); len(plan.Create) != 0 {
		t.Errorf("over Pods of another revision it creates %v", plan.Create)
	}
	lost.Rendered.Revision = "old"
	if plan := Decide(lost); len(plan.Create) != 2 {
		t.Errorf("over Pods of the revision it creates %v", plan.Create)
	}

	shrunk := World{Rendered: rendered(2), JetStream: true, Servers: fact.Known(facts.Servers{server(0), server(1, bare), server(2)})}
	if hold := Decide(shrunk).Hold; hold == nil || !strings.Contains(hold.Message, "set spec.replicas to 3") {
		t.Errorf("two are wanted, and demo-0 and demo-2 exist: %+v", hold)
	}
}
