package drain

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/holdfast-dev/holdfast/internal/garage/adminapi"
	"github.com/holdfast-dev/holdfast/internal/garage/layout"
	"github.com/holdfast-dev/holdfast/internal/kit/fact"
)

func id(i int) adminapi.NodeID { return adminapi.NodeID(strings.Repeat(fmt.Sprintf("%02x", i+1), 32)) }

var (
	start = time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	role  = adminapi.Role{Zone: "a", Capacity: adminapi.Bytes(1 << 30)}
)

// source is the number of the node that goes.
const source = 3

// member is one that has nothing to hide, in version 1 with four storage nodes.
func member(i int) Member {
	says := Says{
		Info:    adminapi.NodeInfo{Version: fact.Known(adminapi.Version{Major: 2, Minor: 3}), DBEngine: "LMDB (using Heed)"},
		Layout:  adminapi.Layout{Version: 1},
		History: adminapi.LayoutHistory{CurrentVersion: 1},
		Statistics: adminapi.NodeStatistics{
			Tables: fact.Known(map[string]adminapi.TableStatistics{"object": {Items: 5}, "block_ref": {Items: 7}}),
			Blocks: fact.Known(adminapi.BlockStatistics{RCEntries: 7, ResyncQueue: 3}),
		},
		Workers: []adminapi.Worker{
			{ID: 1, Name: adminapi.ResyncWorker + "1", State: adminapi.WorkerIdle, QueueLength: fact.Known(uint64(3))},
			{ID: 2, Name: adminapi.ResyncWorker + "2", State: adminapi.WorkerIdle}, // not enabled
		},
	}
	space := fact.Known(adminapi.Space{Available: 1, Total: 2})
	for n := range 4 {
		says.Layout.Roles = append(says.Layout.Roles, adminapi.NodeRole{ID: id(n), Role: role})
		says.Status.Nodes = append(says.Status.Nodes, adminapi.NodeStatus{ID: id(n), Up: true, Data: space, Metadata: space})
	}
	return Member{Name: fmt.Sprintf("g-%d", i), ID: id(i), Life: fmt.Sprintf("pod-%d/0", i), RPCTimeout: 300 * time.Second, Says: fact.Known(says)}
}

func world() World {
	w := World{
		Order: &Order{Name: "g-3", ID: id(source)}, Mode: "consistent", Factor: 3, Lacks: fact.Known(""), Busy: fact.Known(""),
		Directories: fact.Known([]string{"/data"}), Listing: fact.Unknown[Listing]("there is none"),
	}
	for i := range 4 {
		w.Members = append(w.Members, member(i))
	}
	return w
}

// says changes what a member says.
func says(w *World, i int, change func(*Says)) {
	told, _ := w.Members[i].Says.Get()
	told.Workers = slices.Clone(told.Workers)
	told.Layout.Roles, told.Status.Nodes = slices.Clone(told.Layout.Roles), slices.Clone(told.Status.Nodes)
	change(&told)
	w.Members[i].Says = fact.Known(told)
}

func everybody(w *World, change func(*Says)) {
	for i := range w.Members {
		says(w, i, change)
	}
}

// applied has the removal be in every view.
func applied(s *Says) {
	s.Layout.Version, s.History.CurrentVersion = 2, 2
	s.Layout.Roles = s.Layout.Roles[:3]
}

func empty(s *Says) {
	s.Statistics.Tables = fact.Known(map[string]adminapi.TableStatistics{"object": {}, "block_ref": {}})
}

// repaired has a member list a repair that has ended, with this number.
func repaired(number uint64) func(*Says) {
	return func(s *Says) {
		s.Workers = append(s.Workers, adminapi.Worker{ID: number, Name: "Block repair worker", State: adminapi.WorkerDone})
	}
}

func flush(s *Says) {
	s.Statistics.Blocks = fact.Known(adminapi.BlockStatistics{RCEntries: 5})
	s.Workers[0].QueueLength = fact.Known(uint64(0))
}

// A drive is a drain that goes on in time.
type drive struct {
	*testing.T
	w    World
	now  time.Time
	plan Plan
}

func (d *drive) decide() { d.plan = Decide(d.w, d.now); d.w.Journal = d.plan.Journal }

// goes decides after a time, and wants to be at a step with that action, and then at the gates of these names.
func (d *drive) goes(after time.Duration, step StepName, kind Kind, names ...string) {
	d.Helper()
	d.now = d.now.Add(after)
	d.decide()
	got := Kind("")
	if d.plan.Action != nil {
		got = d.plan.Action.Kind
	}
	var closed []string
	for _, gate := range d.plan.Gates {
		closed = append(closed, gate.Name)
	}
	if d.plan.Step != step || got != kind || !slices.Equal(closed, names) {
		d.Fatalf("after %s: step %s, action %q, gates %v; want %s, %q, %v", d.now.Sub(start), d.plan.Step, got, d.plan.Gates, step, kind, names)
	}
}

// to drives a drain without trouble up to where that step begins.
func to(t *testing.T, step StepName) *drive {
	t.Helper()
	d := &drive{T: t, w: world(), now: start}
	for _, stage := range []struct {
		step StepName
		pass func()
	}{
		{E0, func() { d.goes(0, E0, "") }},
		{E1, func() { d.goes(0, E1, Remove); everybody(&d.w, applied) }},
		{E2, func() {}},
		{E3, func() { d.goes(time.Second, E3, "", GateEmpty); says(&d.w, source, empty) }},
		{E4, func() {
			for i := range 3 {
				d.goes(time.Second, E4, Launch, GateCopied)
				if d.plan.Action.Node != id(i) {
					t.Fatalf("%s is repaired", d.plan.Action.Node)
				}
				says(&d.w, i, repaired(3))
			}
			d.goes(time.Second, E4, "", GateCopied)
		}},
		{E5, func() { d.goes(lull, E5, "", GateDelays) }},
		{E6, func() {
			d.goes(11*time.Minute, E6, Launch, GateQueue)
			says(&d.w, source, repaired(3))
			d.goes(time.Second, E6, "", GateQueue)
			says(&d.w, source, flush)
		}},
		{E7, func() {
			d.goes(time.Second, E7, List, GateListed)
			d.w.Listing = fact.Known(Listing{Token: d.plan.Action.Token})
		}},
		{E8, func() {
			for i := range 3 {
				d.goes(time.Second, E8, Launch, GateChecked)
				says(&d.w, i, repaired(4))
			}
			d.goes(time.Second, E8, "", GateChecked)
			d.now = d.now.Add(lull)
		}},
		{E9, func() {
			d.goes(0, E9, List, GateListedAgain)
			d.w.Listing = fact.Known(Listing{Token: d.plan.Action.Token})
			d.goes(time.Second, E9, Complete)
			journal := *d.plan.Journal
			journal.CompletedAt = d.now
			d.w.Journal = &journal
			d.goes(time.Second, E9, "")
		}},
	} {
		if stage.step == step {
			return d
		}
		stage.pass()
	}
	return d
}

const end StepName = "end"

func TestWholeDrain(t *testing.T) {
	d := to(t, end)
	if !d.plan.Proved {
		t.Error("it is not proved")
	}
	if want := start.Add(2*time.Second + deletion + margin); d.plan.Earliest.Before(want) {
		t.Errorf("earliest end %s, want %s or later", d.plan.Earliest, want)
	}
	again := Decide(d.w, d.now.Add(time.Hour))
	if diff := cmp.Diff(d.w.Journal, again.Journal, cmpopts.EquateComparable(adminapi.Capacity{})); diff != "" {
		t.Errorf("at rest the journal changes:\n%s", diff)
	}
}

func TestRefusals(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*World)
		gates  []string
	}{
		"nothing is known": {func(w *World) { *w = World{Order: w.Order, Journal: w.Journal} }, []string{
			GateAnswers, GateMode, GateBusy, GateSurvivors, GateDirectories, GateWhole,
		}},
		"a member is silent":               {func(w *World) { w.Members[1].Says = fact.Unknown[Says]("no answer") }, []string{GateAnswers}},
		"the source is not a node of ours": {func(w *World) { w.Members[source].External = true }, []string{GateAnswers, GatePeers}},
		"degraded":                         {func(w *World) { w.Mode = "degraded" }, []string{GateMode}},
		"a node of somebody else": {func(w *World) {
			everybody(w, func(s *Says) { s.Layout.Roles = append(s.Layout.Roles, adminapi.NodeRole{ID: id(9), Role: role}) })
		}, []string{GatePeers}},
		"a rollout":        {func(w *World) { w.Busy = fact.Known("a rollout is under way") }, []string{GateBusy}},
		"an old version":   {func(w *World) { everybody(w, version("2.2.0")) }, []string{GateVersions}},
		"no version":       {func(w *World) { says(w, 2, version("git:abc")) }, []string{GateVersions}},
		"mixed versions":   {func(w *World) { says(w, 2, version("2.4.1")) }, []string{GateVersions}},
		"inexact counts":   {func(w *World) { says(w, source, func(s *Says) { s.Info.DBEngine = "Fjall" }) }, []string{GateEngine}},
		"the last but one": {func(w *World) { w.Factor = 4 }, []string{GateSurvivors}},
		"stores nothing": {func(w *World) {
			everybody(w, func(s *Says) { s.Layout.Roles[source].Capacity = adminapi.Gateway() })
		}, []string{GateSurvivors}},
		"no record of directories": {func(w *World) { w.Directories = fact.Known[[]string](nil) }, []string{GateDirectories}},
		"foreign staging": {func(w *World) {
			says(w, 0, func(s *Says) { s.Layout.Staged = []adminapi.RoleChange{adminapi.Remove(id(2))} })
		}, []string{GateStaging}},
		"ours, and foreign staging": {func(w *World) {
			says(w, 0, func(s *Says) { s.Layout.Staged = []adminapi.RoleChange{adminapi.Remove(id(2)), adminapi.Remove(id(3))} })
		}, []string{GateStaging}},
		"another version on the way": {func(w *World) {
			says(w, 0, func(s *Says) { s.History.Trackers = map[adminapi.NodeID]adminapi.Tracker{id(0): {}} })
		}, []string{GateSettled}},
		"a member is behind": {func(w *World) { says(w, 1, func(s *Says) { s.Layout.Version = 0 }) }, []string{GateSettled}},
		"a block with an error": {func(w *World) {
			says(w, 1, func(s *Says) { s.BlockErrors = []adminapi.BlockError{{}} })
		}, []string{GateErrors}},
		"a count of errors": {func(w *World) {
			says(w, 1, func(s *Says) { s.Statistics.Blocks = fact.Known(adminapi.BlockStatistics{ResyncErrors: 1}) })
		}, []string{GateErrors}},
		"no count of errors": {func(w *World) {
			says(w, 1, func(s *Says) { s.Statistics.Blocks = fact.Unknown[adminapi.BlockStatistics]("absent") })
		}, []string{GateErrors}},
		"a worker that fails": {func(w *World) { says(w, 1, func(s *Says) { s.Workers[0].ConsecutiveErrors = 1 }) }, []string{GateErrors}},
		"no worker":           {func(w *World) { says(w, 1, func(s *Says) { s.Workers = nil }) }, []string{GateErrors}},
		"not whole":           {func(w *World) { w.Lacks = fact.Known("g-1 does not see g-2") }, []string{GateWhole}},
	} {
		t.Run(name, func(t *testing.T) {
			for _, begun := range []bool{false, true} {
				d := &drive{T: t, w: world(), now: start}
				step := E0
				if begun {
					d.goes(0, E0, "")
					step = E1
				}
				c.change(&d.w)
				journal := d.w.Journal
				d.goes(time.Second, step, "", c.gates...)
				if d.plan.Journal == nil != (journal == nil) {
					t.Errorf("begun %t: journal %+v", begun, d.plan.Journal)
				}
			}
		})
	}
}

func version(name string) func(*Says) {
	return func(s *Says) { s.Info.Version = adminapi.ParseVersion(name) }
}

func TestNothingIsAsked(t *testing.T) {
	w := world()
	w.Order = nil
	if got := Decide(w, start); got.Step != "" || got.Action != nil || got.Journal != nil || got.Gates != nil {
		t.Errorf("%+v", got)
	}
}

func TestAssumeConsistent(t *testing.T) {
	d := &drive{T: t, w: world(), now: start}
	everybody(&d.w, func(s *Says) { s.Layout.Roles = append(s.Layout.Roles, adminapi.NodeRole{ID: id(9), Role: role}) })
	d.w.AssumeConsistent = true
	d.goes(0, E0, "")
	if d.plan.Journal == nil {
		t.Error("it does not begin")
	}
}

// TestUnknownPauses: an answer that does not come holds every step, and changes nothing of what was seen.
func TestUnknownPauses(t *testing.T) {
	for step, gate := range map[StepName]string{
		E3: GateShown, E4: GateShown, E5: GateShown, E6: GateShown, E7: GateShown, E8: GateShown, E9: GateShown, end: GateShown,
	} {
		for i := range 4 {
			d := to(t, step)
			before := d.w.Journal
			d.w.Members[i].Says = fact.Unknown[Says]("no answer")
			d.goes(time.Minute, E1, "", gate)
			if diff := cmp.Diff(before, d.plan.Journal, cmpopts.EquateComparable(adminapi.Capacity{})); diff != "" {
				t.Errorf("at %s, member %d:\n%s", step, i, diff)
			}
			if d.plan.Proved {
				t.Errorf("at %s it is proved", step)
			}
		}
	}
}

// TestStepsHold: what each step must not pass.
func TestStepsHold(t *testing.T) {
	for name, c := range map[string]struct {
		at, step StepName
		change   func(*drive)
		kind     Kind
		gate     string
	}{
		"still in the Service":       {E1, E1, func(d *drive) { d.w.Members[source].Serves = true }, "", GateServes},
		"refused":                    {E1, E1, func(d *drive) { d.w.Journal.Refused = "too few zones" }, "", GateRefused},
		"a member has not heard":     {E3, E1, func(d *drive) { d.w.Members[1] = member(1) }, "", GateShown},
		"the source has not heard":   {E3, E1, func(d *drive) { d.w.Members[source] = member(source) }, "", GateShown},
		"something is staged":        {E5, E1, func(d *drive) { says(&d.w, 0, stagedForeign) }, "", GateShown},
		"an older version is in use": {E3, E2, func(d *drive) { says(&d.w, 1, draining) }, "", GateOneVersion},
		"a queue of rows":            {E4, E3, func(d *drive) { says(&d.w, source, table(adminapi.TableStatistics{InsertQueue: 1})) }, "", GateEmpty},
		"rows out of the tree":       {E4, E3, func(d *drive) { says(&d.w, source, table(adminapi.TableStatistics{MerkleQueue: 1})) }, "", GateEmpty},
		"no counts": {E4, E3, func(d *drive) {
			says(&d.w, source, func(s *Says) { s.Statistics.Tables = fact.Unknown[map[string]adminapi.TableStatistics]("absent") })
		}, "", GateEmpty},
		"no tables": {E4, E3, func(d *drive) {
			says(&d.w, source, func(s *Says) { s.Statistics.Tables = fact.Known(map[string]adminapi.TableStatistics{}) })
		}, "", GateEmpty},
		"a destination checks":       {E5, E4, func(d *drive) { d.w.Journal.Copies[1].Idle = nil; says(&d.w, 1, busy) }, "", GateCopied},
		"a repair met errors":        {E5, E4, func(d *drive) { d.w.Journal.Copies[1].DoneAt = time.Time{}; says(&d.w, 1, failed) }, "", GateCopied},
		"and it is done again":       {E5, E4, func(d *drive) { says(&d.w, 1, failed); d.now = d.now.Add(again) }, Launch, GateCopied},
		"a repair is forgotten":      {E5, E4, func(d *drive) { says(&d.w, 1, func(s *Says) { s.Workers = s.Workers[:2] }) }, Launch, GateCopied},
		"a destination has an error": {E5, E4, func(d *drive) { says(&d.w, 1, func(s *Says) { s.BlockErrors = []adminapi.BlockError{{}} }) }, "", GateCopied},
		"a longer time-out": {E5, E5, func(d *drive) {
			d.w.Members[2].RPCTimeout = 400 * time.Second
			d.now = d.w.Journal.SettledAt.Add(800*time.Second + margin - 2*time.Second)
		}, "", GateDelays},
		"a check of the source is to come": {E7, E6, func(d *drive) {
			says(&d.w, source, func(s *Says) { s.Statistics.Blocks = fact.Known(adminapi.BlockStatistics{ResyncQueue: 1}) })
		}, "", GateQueue},
		"the listing is another one": {E8, E7, func(d *drive) { d.w.Listing = fact.Known(Listing{Token: "other", Blocks: 7}) }, List, GateListed},
		"a listing that failed": {E9, E9, func(d *drive) {
			d.goes(0, E9, List, GateListedAgain)
			d.w.Listing = fact.Known(Listing{Token: d.plan.Action.Token, Failed: "the Pod was evicted"})
		}, "", GateListedAgain},
		"a member without a disk": {end, E9, func(d *drive) {
			says(&d.w, 1, func(s *Says) { s.Status.Nodes[1].Data = fact.Unknown[adminapi.Space]("absent") })
		}, "", GatePartitions},
		"not whole in the end": {end, E9, func(d *drive) { d.w.Lacks = fact.Known("g-1 does not see g-2") }, "", GateWhole},
		"nobody has looked":    {end, E9, func(d *drive) { d.w.Lacks = fact.Fact[string]{} }, "", GateWhole},
	} {
		t.Run(name, func(t *testing.T) {
			d := to(t, c.at)
			journal := *d.w.Journal
			d.w.Journal = &journal
			c.change(d)
			d.goes(time.Second, c.step, c.kind, c.gate)
			if d.plan.Proved {
				t.Error("it is proved")
			}
		})
	}
}

func stagedForeign(s *Says) { s.Layout.Staged = []adminapi.RoleChange{adminapi.Remove(id(2))} }

func draining(s *Says) {
	s.History.Trackers = map[adminapi.NodeID]adminapi.Tracker{id(0): {Ack: 2, Sync: 2, SyncAck: 1}}
}

func busy(s *Says) { s.Workers[0].State = adminapi.WorkerBusy }

func failed(s *Says) { s.Workers[len(s.Workers)-1].Errors = 1 }

func table(t adminapi.TableStatistics) func(*Says) {
	return func(s *Says) {
		s.Statistics.Tables = fact.Known(map[string]adminapi.TableStatistics{"object": {}, "k2v_item": t})
	}
}

// voids are what denies something that was seen, and what of it is kept.
var voids = map[string]struct {
	change func(*drive)
	step   StepName
	kind   Kind
	kept   func(Journal) bool
}{
	"another version": {func(d *drive) { everybody(&d.w, func(s *Says) { s.Layout.Version = 3 }) }, E4, Launch, func(j Journal) bool {
		return j.Seen == 3 && j.EmptyAt.After(start.Add(time.Minute)) && len(j.Checks) == 0 && j.Source == nil
	}},
	"other roles": {func(d *drive) { everybody(&d.w, func(s *Says) { s.Layout.Roles[0].Tags = []string{"x"} }) }, E4, Launch, func(j Journal) bool {
		return j.EmptyAt.After(start.Add(time.Minute)) && len(j.Checks) == 0
	}},
	"an older version again": {func(d *drive) { says(&d.w, 0, draining) }, E2, "", func(j Journal) bool { return j.Seen == 0 && j.SettledAt.IsZero() }},
	"a role again": {func(d *drive) {
		everybody(&d.w, func(s *Says) {
			s.Layout.Version = 3
			s.Layout.Roles = append(s.Layout.Roles, adminapi.NodeRole{ID: id(source), Role: role})
		})
	}, E1, Remove, func(j Journal) bool { return j.Version == 4 && j.Seen == 0 && j.EmptyAt.IsZero() }},
	"a row": {func(d *drive) { says(&d.w, source, table(adminapi.TableStatistics{Items: 1})) }, E3, "", func(j Journal) bool {
		return j.EmptyAt.IsZero() && !j.SettledAt.IsZero() && j.Copies == nil && j.Checks == nil && j.Source == nil
	}},
	"another life of the source": {func(d *drive) { d.w.Members[source].Life = "pod-3/1" }, E6, Launch, func(j Journal) bool {
		return !j.EmptyAt.IsZero() && len(j.Copies) == 3 && len(j.Checks) == 3 && j.Listed == nil && j.Last == nil && j.Source.Baseline == 3
	}},
	"another life of a destination": {func(d *drive) { d.w.Members[1].Life = "pod-1/1" }, E4, Launch, func(j Journal) bool {
		return len(j.Checks) == 3 && j.Source != nil && j.Listed != nil && j.Last == nil
	}},
	"a block on the disk in the end": {func(d *drive) {
		d.w.Journal.Last = nil
		d.w.Journal.CompletedAt = time.Time{}
		d.goes(0, E9, List, GateListedAgain)
		d.w.Listing = fact.Known(Listing{Token: d.plan.Action.Token, Blocks: 1})
	}, E9, "", func(j Journal) bool { return j.Source == nil && j.Listed == nil && len(j.Checks) == 3 }},
}

// TestVoids: what the facts deny is dropped, and no more than that.
func TestVoids(t *testing.T) {
	for name, c := range voids {
		t.Run(name, func(t *testing.T) {
			d := to(t, end)
			journal := *d.w.Journal
			d.w.Journal = &journal
			c.change(d)
			d.now = d.now.Add(time.Second)
			d.decide()
			kind := Kind("")
			if d.plan.Action != nil {
				kind = d.plan.Action.Kind
			}
			if d.plan.Step != c.step || kind != c.kind || !c.kept(*d.plan.Journal) || !d.plan.Journal.CompletedAt.IsZero() || d.plan.Proved {
				t.Errorf("step %s, action %q, proved %t, journal %+v", d.plan.Step, kind, d.plan.Proved, d.plan.Journal)
			}
		})
	}
}

// TestSecondRepairWaits: a destination that began anew has ten minutes between its two repairs as well.
func TestSecondRepairWaits(t *testing.T) {
	d := to(t, E8)
	d.w.Members[1].Life = "pod-1/1"
	says(&d.w, 1, func(s *Says) { s.Workers = s.Workers[:2] })
	d.goes(time.Second, E4, Launch, GateCopied)
	says(&d.w, 1, repaired(3))
	d.goes(time.Second, E4, "", GateCopied)
	d.goes(lull, E8, Launch, GateChecked)
	if d.plan.Action.Node != id(0) {
		t.Fatalf("node %s is repaired", d.plan.Action.Node)
	}
	for _, i := range []int{0, 2} {
		says(&d.w, i, repaired(4))
		d.goes(time.Second, E8, map[int]Kind{0: Launch}[i], GateChecked)
	}
	d.goes(9*time.Minute, E8, "", GateChecked)
	d.goes(time.Minute, E8, Launch, GateChecked)
}

// TestLeftFiles: references are counted anew once, the clock begins anew, and after that a person has to look.
func TestLeftFiles(t *testing.T) {
	d := to(t, E7)
	d.goes(0, E7, List, GateListed)
	d.w.Listing = fact.Known(Listing{Token: d.plan.Action.Token, Blocks: 2, Corrupted: []string{"x.corrupted"}})
	d.goes(time.Second, E7, Launch, GateListed)
	if d.plan.Action.Repair != adminapi.RepairBlockRC || d.plan.Action.Node != id(source) {
		t.Fatalf("%+v", d.plan.Action)
	}
	says(&d.w, source, func(s *Says) {
		s.Workers = append(s.Workers, adminapi.Worker{ID: 4, Name: "Block refcount repair worker", State: adminapi.WorkerDone})
	})
	d.goes(time.Second, E7, "", GateListed)
	d.goes(deletion, E5, "", GateDelays)
	d.goes(margin, E6, Launch, GateQueue)
	says(&d.w, source, repaired(5))
	d.goes(time.Second, E7, List, GateListed)
	d.w.Listing = fact.Known(Listing{Token: d.plan.Action.Token, Blocks: 2})
	d.goes(time.Second, E7, "", GateFiles)
	d.goes(look, E7, "", GateFiles)
	d.goes(time.Second, E7, List, GateListed)
	d.w.Listing = fact.Known(Listing{Token: d.plan.Action.Token})
	d.goes(time.Second, E8, Launch, GateChecked)
}

func TestCancel(t *testing.T) {
	ours := func(s *Says) { s.Layout.Staged = []adminapi.RoleChange{adminapi.Remove(id(source))} }
	for name, c := range map[string]struct {
		at     StepName
		change func(*drive)
		kind   Kind
		gates  []string
		open   bool
	}{
		"nothing was staged": {at: E1},
		"it was staged":      {E1, func(d *drive) { says(&d.w, 0, ours) }, Withdraw, nil, true},
		"with something else": {E1, func(d *drive) {
			says(&d.w, 0, func(s *Says) { ours(s); s.Layout.Staged = append(s.Layout.Staged, adminapi.Remove(id(2))) })
		}, "", []string{GateStaging}, true},
		"only something else is": {E1, func(d *drive) { says(&d.w, 0, stagedForeign) }, "", nil, false},
		"a member is silent":     {E1, func(d *drive) { d.w.Members[0].Says = fact.Unknown[Says]("no answer") }, "", []string{GateAnswers}, true},
		"it was applied":         {E6, func(*drive) {}, GiveBack, nil, true},
		"it was proved":          {end, func(*drive) {}, GiveBack, nil, true},
		"the version still settles": {E3, func(d *drive) {
			everybody(&d.w, func(s *Says) { s.History.Trackers = map[adminapi.NodeID]adminapi.Tracker{id(0): {Sync: 1}} })
		}, "", []string{GateSettled}, true},
		"the destinations have not copied": {E4, func(*drive) {}, Launch, []string{GateCopied}, true},
		"the way back is staged": {E6, func(d *drive) {
			says(&d.w, 0, func(s *Says) { s.Layout.Staged = []adminapi.RoleChange{adminapi.Assign(id(source), role)} })
		}, GiveBack, nil, true},
		"something else is staged": {E6, func(d *drive) { says(&d.w, 0, stagedForeign) }, "", []string{GateStaging}, true},
		"it was given back": {E6, func(d *drive) {
			d.w.Order = nil
			d.goes(0, EC, GiveBack)
			everybody(&d.w, func(s *Says) {
				s.Layout.Version = 3
				s.Layout.Roles = append(s.Layout.Roles, adminapi.NodeRole{ID: id(source), Role: role})
			})
			d.w.Order = world().Order // ordered again: it goes back to the end first
		}, "", nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			d := to(t, c.at)
			d.w.Order = nil
			if c.change != nil {
				c.change(d)
			}
			step := EC
			if !c.open {
				step = ""
			}
			d.goes(time.Second, step, c.kind, c.gates...)
			switch {
			case c.open != (d.plan.Journal != nil):
				t.Errorf("journal %+v", d.plan.Journal)
			case c.kind == GiveBack && (d.plan.Action.Version != 3 || d.plan.Action.Hash != layout.Hash(d.plan.Action.Change) || !d.plan.Journal.CompletedAt.IsZero() || d.plan.Journal.Checks != nil || d.plan.Journal.Source != nil):
				t.Errorf("action %+v, journal %+v", d.plan.Action, d.plan.Journal)
			}
		})
	}
	t.Run("not after DELETE", func(t *testing.T) {
		d := to(t, end)
		d.w.Order, d.w.Deleted = nil, true
		d.goes(time.Second, E9, "")
		if !d.plan.Proved {
			t.Error("it is not proved any more")
		}
	})
	t.Run("another node is ordered", func(t *testing.T) {
		d := to(t, E6)
		d.w.Order = &Order{Name: "g-2", ID: id(2)}
		d.goes(time.Second, EC, GiveBack)
	})
}

// TestFigures: what a person is shown.
func TestFigures(t *testing.T) {
	d := to(t, E8)
	d.goes(0, E8, Launch, GateChecked)
	rows, _ := d.plan.Figures.Rows.Get()
	queue, _ := d.plan.Figures.Queue.Get()
	files, listed := d.plan.Figures.Files.Get()
	if rows != 0 || queue != 0 || files != 0 || !listed || d.plan.Figures.Destinations != 3 {
		t.Errorf("%+v", d.plan.Figures)
	}
	d = to(t, E4)
	d.goes(0, E4, Launch, GateCopied)
	says(&d.w, source, table(adminapi.TableStatistics{Items: 4}))
	d.goes(0, E3, "", GateEmpty)
	rows, _ = d.plan.Figures.Rows.Get()
	queue, _ = d.plan.Figures.Queue.Get()
	if _, listed := d.plan.Figures.Files.Get(); rows != 4 || queue != 3 || listed || d.plan.Figures.Destinations != 3 {
		t.Errorf("%+v", d.plan.Figures)
	}
}
