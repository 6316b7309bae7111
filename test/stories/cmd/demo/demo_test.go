package main

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	garagev1beta1 "github.com/holdfast-dev/holdfast/api/garage/v1beta1"
	"github.com/holdfast-dev/holdfast/api/garage/v1beta2"
	"github.com/holdfast-dev/holdfast/api/nats/cluster/v1beta1"
	"github.com/holdfast-dev/holdfast/test/ledger"
	"github.com/holdfast-dev/holdfast/test/stories/lab"
)

func TestStepsLastUntilTheNextBegins(t *testing.T) {
	at := func(s int) time.Time { return time.Unix(int64(s), 0) }
	journal := func(current string) *v1beta1.NatsCluster {
		c := &v1beta1.NatsCluster{}
		if current != "" {
			c.Status.Rollout = &v1beta1.RolloutStatus{Current: current}
		}
		return c
	}
	var told steps
	for i, current := range []string{"", "demo-2", "demo-2", "demo-0", "", ""} {
		told = told.see(journal(current), at(10*i))
	}
	if len(told) != 2 || told[0].server != "demo-2" || told[1].server != "demo-0" {
		t.Fatalf("steps %v", told)
	}
	if a, b := told[0].lasted(at(99)), told[1].lasted(at(99)); a != 20*time.Second || b != 10*time.Second {
		t.Errorf("they lasted %s and %s, want 20 s and 10 s", a, b)
	}
}

func TestPicture(t *testing.T) {
	c := &v1beta1.NatsCluster{}
	c.Status.Rollout = &v1beta1.RolloutStatus{Current: "demo-1", Pending: []string{"demo-0"}}
	c.Status.Servers = []v1beta1.ServerStatus{
		{Name: "demo-0", Ready: new(true)}, {Name: "demo-1", Ready: new(false)}, {Name: "demo-2", Ready: new(true)}, {Name: "demo-3", Ready: new(false)},
	}
	got := frame(c, steps{{server: "demo-1", begin: time.Unix(3, 0)}}, time.Unix(10, 0))
	for i, want := range []row{
		{"demo-0", "waiting for its turn"}, {"demo-1", "restarting", "", "", "7 s"}, {"demo-2", "done"}, {"demo-3", "not ready"},
	} {
		if got.rows[i] != want {
			t.Errorf("row %d: %v, want %v", i, got.rows[i], want)
		}
	}
	c.Status.Conditions = []metav1.Condition{{Type: v1beta1.ConditionProgressing, Reason: v1beta1.ReasonUpToDate, Message: "m"}}
	for generation, want := range map[int64]string{0: "UpToDate: m", 1: "waiting for the controller to look at it"} {
		c.Generation = generation
		if got := frame(c, nil, time.Unix(10, 0)).sentence; got != want {
			t.Errorf("generation %d: %s, want %s", generation, got, want)
		}
	}
}

func TestANodeIsLostInTheMiddle(t *testing.T) {
	lost := &outage{may: map[string]string{"demo-0": "node-2", "demo-1": "node-0"}}
	for _, tc := range []struct {
		updated []string
		current string
		want    bool
	}{
		{nil, "demo-1", false},                // the first step is not the middle
		{[]string{"demo-1"}, "demo-2", false}, // who keeps account is there
		{[]string{"demo-1", "demo-2"}, "demo-0", true},
	} {
		if got := lost.takes(&v1beta1.RolloutStatus{Updated: tc.updated, Current: tc.current}); got != tc.want {
			t.Errorf("%s after %v: %v, want %v", tc.current, tc.updated, got, tc.want)
		}
	}
	if lost.server != "demo-0" || lost.node != "node-2" || lost.String() != "node-2 has lost its power, and demo-0 with it" {
		t.Errorf("%s", lost)
	}
	for current, want := range map[string]bool{"demo-0": true, "demo-1": false} {
		if got := lost.holds(&v1beta1.RolloutStatus{Current: current}); got != want {
			t.Errorf("held with %s under way: %v, want %v", current, got, want)
		}
	}
	if lost.holds(nil) {
		t.Error("a rollout that is over has not waited")
	}
}

func TestConclusion(t *testing.T) {
	process := func(id string, at int64) map[string]server {
		return map[string]server{"demo-0": {Process: lab.Process{ID: id, Start: time.Unix(at, 0)}, version: "2.15.3"}}
	}
	over := &outage{server: "demo-0", node: "node-1", begin: time.Unix(1, 0), end: time.Unix(61, 0)}
	good := ledger.Report{OK: true, Changes: []ledger.Change{{Name: "memory", Acknowledged: minimum}}}
	few := ledger.Report{OK: true, Changes: []ledger.Change{{Name: "memory", Acknowledged: minimum - 1}}}
	bad := ledger.Report{Reasons: []string{"1 lost"}, Changes: good.Changes}
	change := func(before, after map[string]server) *act {
		return &act{name: "memory", version: "2.15.3", before: before, after: after}
	}
	moved := change(process("a", 1), process("b", 2))
	cases := map[string]struct {
		report ledger.Report
		acts   []*act
		want   string
	}{
		"good":              {good, []*act{moved}, ""},
		"a node was lost":   {good, []*act{{name: "memory", version: "2.15.3", before: moved.before, after: moved.after, lost: over}}, ""},
		"no node was lost":  {good, []*act{{name: "memory", version: "2.15.3", before: moved.before, after: moved.after, lost: &outage{}}}, "no node was lost"},
		"the same process":  {good, []*act{change(process("a", 1), process("a", 1))}, "demo-0 was not restarted"},
		"a server is gone":  {good, []*act{change(process("a", 1), nil)}, "demo-0 was not restarted"},
		"another version":   {good, []*act{{name: "memory", version: "2.15.2", before: moved.before, after: moved.after}}, "demo-0 runs 2.15.3, want 2.15.2"},
		"the second failed": {ledger.Report{OK: true, Changes: append(good.Changes, good.Changes...)}, []*act{moved, change(process("a", 1), nil)}, "demo-0 was not restarted"},
		"lost":              {bad, []*act{moved}, "1 lost"},
		"too few":           {few, []*act{moved}, "fewer than the 1000"},
		"no change":         {ledger.Report{OK: true}, []*act{moved}, "0 changes were marked"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			err := conclude(&out, tc.report, tc.acts)
			if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
				t.Errorf("error %v, want %q", err, tc.want)
			}
			if lost := tc.acts[0].lost; lost == over && !strings.Contains(out.String(), "node-1 was without power for 60 s, and demo-0 with it") {
				t.Errorf("the table does not tell of the node:\n%s", out.String())
			}
		})
	}
}

func TestGarageConclusion(t *testing.T) {
	node := func(identity, pod string, partitions int32) garagev1beta1.GarageNode {
		n := garagev1beta1.GarageNode{}
		n.Status.NodeID, n.Status.ObservedPodUID, n.Status.Partitions = identity, types.UID(pod), &partitions
		return n
	}
	nodes := func(all ...garagev1beta1.GarageNode) map[string]garagev1beta1.GarageNode {
		found := map[string]garagev1beta1.GarageNode{}
		for i, n := range all {
			found[fmt.Sprintf("garage-storage-%d", i)] = n
		}
		return found
	}
	a, b := node("aa", "1", 256), node("bb", "2", 128)
	good := ledger.Report{OK: true, Unit: "writes", Changes: []ledger.Change{{Acknowledged: minimumWrites}}}
	cases := map[string]struct {
		report ledger.Report
		seen   growth
		want   string
	}{
		"good":             {good, growth{before: nodes(a), after: nodes(a, b)}, ""},
		"another identity": {good, growth{before: nodes(a), after: nodes(node("cc", "1", 256), b)}, "garage-storage-0 is not who it was"},
		"another Pod":      {good, growth{before: nodes(a), after: nodes(node("aa", "3", 256), b)}, "garage-storage-0 is not who it was"},
		"holds nothing":    {good, growth{before: nodes(a), after: nodes(a, node("bb", "2", 0))}, "garage-storage-1 holds nothing"},
		"nobody came":      {good, growth{before: nodes(a), after: nodes(a)}, "1 nodes became 1"},
		"lost":             {ledger.Report{Reasons: []string{"1 lost"}, Changes: good.Changes}, growth{before: nodes(a), after: nodes(a, b)}, "1 lost"},
		"too few": {
			ledger.Report{OK: true, Unit: "writes", Changes: []ledger.Change{{Acknowledged: minimumWrites - 1}}},
			growth{before: nodes(a), after: nodes(a, b)}, "99 writes were acknowledged",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			err := concludeGarage(&out, tc.report, tc.seen)
			if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
				t.Errorf("error %v, want %q", err, tc.want)
			}
			if !strings.Contains(out.String(), "garage-storage-0") {
				t.Errorf("no table:\n%s", out.String())
			}
		})
	}
}

func TestGaragePicture(t *testing.T) {
	cluster := &v1beta2.GarageCluster{}
	ready := garagev1beta1.GarageNode{}
	ready.Status.NodeID, ready.Status.Version, ready.Status.Partitions = "0123456789abcdef", "2.4.1", new(int32(256))
	ready.Status.Conditions = []metav1.Condition{{Type: garagev1beta1.ConditionReady, Reason: garagev1beta1.ReasonNodeReady}}
	got := frameGarage(cluster, map[string]garagev1beta1.GarageNode{"b": {}, "a": ready})
	if want := []row{{"a", "NodeReady", "2.4.1", "0123456789", "256"}, {"b", "starting", "", "", "-"}}; !slices.Equal(got.rows, want) {
		t.Errorf("%v, want %v", got.rows, want)
	}
	cluster.Status.Conditions = []metav1.Condition{{Type: v1beta2.ConditionReady, Reason: v1beta2.ReasonClusterReady, Message: "m"}}
	for generation, want := range map[int64]string{0: "ClusterReady: m", 1: "waiting for the controller to look at it"} {
		cluster.Generation = generation
		if got := frameGarage(cluster, nil).sentence; got != want {
			t.Errorf("generation %d: %s, want %s", generation, got, want)
		}
	}
}
