package main

import (
	"bytes"
	"strings"
	"testing"
	"time"

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
		{server: "demo-0", state: "waiting for its turn"}, {server: "demo-1", state: "restarting", took: "7 s"},
		{server: "demo-2", state: "done"}, {server: "demo-3", state: "not ready"},
	} {
		if got.rows[i] != want {
			t.Errorf("row %d: %v, want %v", i, got.rows[i], want)
		}
	}
}

func TestConclusion(t *testing.T) {
	process := func(id string, at int64) map[string]lab.Process {
		return map[string]lab.Process{"demo-0": {ID: id, Name: "demo-0", Start: time.Unix(at, 0)}}
	}
	good := ledger.Report{OK: true, Changes: []ledger.Change{{Name: "memory", Acknowledged: minimum}}}
	few := ledger.Report{OK: true, Changes: []ledger.Change{{Name: "memory", Acknowledged: minimum - 1}}}
	bad := ledger.Report{Reasons: []string{"1 lost"}, Changes: good.Changes}
	cases := map[string]struct {
		report        ledger.Report
		before, after map[string]lab.Process
		want          string
	}{
		"good":             {good, process("a", 1), process("b", 2), ""},
		"the same process": {good, process("a", 1), process("a", 1), "demo-0 was not restarted"},
		"a server is gone": {good, process("a", 1), nil, "demo-0 was not restarted"},
		"lost":             {bad, process("a", 1), process("b", 2), "1 lost"},
		"too few":          {few, process("a", 1), process("b", 2), "fewer than the 1000"},
		"no change":        {ledger.Report{OK: true}, process("a", 1), process("b", 2), "0 changes were marked"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			err := conclude(&out, tc.report, nil, tc.before, tc.after)
			if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
				t.Errorf("error %v, want %q", err, tc.want)
			}
		})
	}
}
