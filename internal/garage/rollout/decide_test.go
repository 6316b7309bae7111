package rollout

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	"github.com/holdfast-dev/holdfast/api/garage/v1beta2"
	"github.com/holdfast-dev/holdfast/internal/garage/adminapi"
	"github.com/holdfast-dev/holdfast/internal/garage/whole"
	"github.com/holdfast-dev/holdfast/internal/kit/fact"
)

var (
	now           = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	before, after = Revision{"c1", "p1"}, Revision{"c2", "p2"}
)

func id(i int) adminapi.NodeID { return adminapi.NodeID(strings.Repeat(fmt.Sprintf("%02x", i+1), 32)) }

// three are nodes a, b and c that all run what is rendered and see each other.
func three() *World {
	w := &World{WholeSince: now.Add(-whole.Apart)}
	says := whole.Says{
		Health:  adminapi.ClusterHealth{Status: adminapi.Healthy, StorageNodes: 3, StorageNodesUp: 3, Partitions: 256, PartitionsQuorum: 256, PartitionsAllOK: 256},
		Layout:  adminapi.Layout{Version: 1},
		History: adminapi.LayoutHistory{CurrentVersion: 1, MinAck: 1},
	}
	for i := range 3 {
		says.Layout.Roles = append(says.Layout.Roles, adminapi.NodeRole{ID: id(i)})
		says.Status.Nodes = append(says.Status.Nodes, adminapi.NodeStatus{ID: id(i), Up: true})
	}
	for i, name := range []string{"a", "b", "c"} {
		w.Nodes = append(w.Nodes, Node{
			Name: name, UID: types.UID("node-" + name), ID: id(i), Rendered: after, Current: true, Answers: true, Seen: true,
			Workload: &Workload{UID: types.UID("set-" + name), Revision: after, Rendered: true},
			Pod:      &Pod{UID: types.UID("pod-" + name), Owner: types.UID("set-" + name), Revision: after, Ready: true},
			Kept:     []v1beta2.KeptClaim{{Name: "data-" + name, UID: types.UID("claim-" + name)}},
		})
		w.Members = append(w.Members, whole.Member{Name: name, ID: id(i), Says: fact.Known(says)})
	}
	return w
}

func (w *World) node(name string) *Node { return &w.Nodes[strings.Index("abc", name)] }

// outdate has nodes run what was rendered before.
func (w *World) outdate(names ...string) {
	for _, name := range names {
		node := w.node(name)
		node.Workload.Revision, node.Workload.Rendered, node.Pod.Revision = before, false, before
	}
}

// fail has a node's process end: nobody hears of it.
func (w *World) fail(name string) {
	node := w.node(name)
	node.Answers, node.Seen, node.Current = false, false, false
	if node.Pod != nil {
		node.Pod.Ready = false
	}
	w.Members[strings.Index("abc", name)].Says = fact.Unknown[whole.Says]("no answer")
}

// unlay has nodes know of no layout.
func (w *World) unlay(names ...string) {
	for _, name := range names {
		w.Members[strings.Index("abc", name)].Says = fact.Known(whole.Says{})
	}
}

// choke has a node's process say nothing, although its port is open.
func (w *World) choke(name string) {
	w.fail(name)
	w.node(name).Pod.Ready, w.WholeSince = true, time.Time{}
}

// begun has the step for a node be written down.
func (w *World) begun(name string) {
	node := w.node(name)
	w.Journal = &v1beta2.StorageRollout{
		GarageNodeName: name, GarageNodeUID: node.UID, GarageNodeID: string(node.ID), PreviousPodUID: NoPod, WorkloadUID: node.Workload.UID,
		DesiredConfigHash: after.Config, DesiredPodSpecHash: after.PodSpec, PersistentVolumeClaims: node.Kept,
	}
	if node.Pod != nil {
		w.Journal.PreviousPodUID = node.Pod.UID
	}
}

// replaced has the step's old Pod be gone, and another one be there from the new template.
func (w *World) replaced(name string) {
	w.begun(name)
	w.node(name).Pod.UID = "new"
}

func TestDecide(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*World)
		// want is "kind node", with "over" where that ends the step, or the names of gates, or what the new Pod has to show, or
		// nothing.
		want string
		// journal is what the status is to say of the Pod that goes; empty for no journal.
		journal string
	}{
		"all run it":                      {func(*World) {}, "", ""},
		"the first by name":               {func(w *World) { w.outdate("b", "c") }, "Replace b", "pod-b"},
		"a StatefulSet alone":             {func(w *World) { w.node("b").Workload.Rendered = false }, "Correct b", ""},
		"of the first node":               {func(w *World) { w.node("a").Workload.Rendered = false }, "Correct a", ""},
		"but not of one that is behind":   {func(w *World) { w.outdate("a"); w.node("b").Workload.Rendered = false }, "Correct b", ""},
		"one that was told to run no Pod": {func(w *World) { w.fail("b"); w.node("b").Pod, w.node("b").Workload.Rendered = nil, false }, "Correct b", ""},
		"and whose claim is gone": {func(w *World) {
			w.fail("b")
			w.node("b").Pod, w.node("b").Workload.Rendered, w.node("b").Claims = nil, false, "gone"
		}, "", ""},
		"a StatefulSet is missing": {func(w *World) { w.outdate("b"); w.node("b").Workload = nil }, "its StatefulSet does not exist yet", ""},
		"nothing runs it":          {func(w *World) { w.node("b").Workload, w.node("b").Pod = nil, nil }, "", ""},

		"a layout comes first":           {func(w *World) { w.outdate("b"); w.Layout = "first" }, GateLayout, ""},
		"or one that is not ours":        {func(w *World) { w.outdate("b"); w.Foreign = "staged" }, GateLayout, ""},
		"a claim would go":               {func(w *World) { w.outdate("b"); w.node("b").Claims = "gone" }, GateClaims, ""},
		"another one's claim":            {func(w *World) { w.outdate("b"); w.node("a").Claims = "gone" }, "Replace b", "pod-b"},
		"one is somebody else":           {func(w *World) { w.outdate("b"); w.node("c").Held = "another" }, GateIdentified, ""},
		"one has not said who it is":     {func(w *World) { w.outdate("b"); w.node("c").Current = false }, GateIdentified, ""},
		"nor the one itself":             {func(w *World) { w.outdate("b"); w.node("b").Current = false }, GateIdentified, ""},
		"a Pod is missing":               {func(w *World) { w.outdate("b"); w.node("c").Pod = nil }, GatePods, ""},
		"a Pod is leaving":               {func(w *World) { w.outdate("b"); w.node("c").Pod.Leaving = true }, GatePods, ""},
		"a Pod is not ready":             {func(w *World) { w.outdate("b"); w.node("c").Pod.Ready = false }, GatePods, ""},
		"one does not say":               {func(w *World) { w.outdate("b"); w.Members[2].Says = fact.Unknown[whole.Says]("no answer") }, GateWhole, ""},
		"nor one that only seems to run": {func(w *World) { w.outdate("b"); w.choke("b") }, GateIdentified + " " + GateWhole, ""},
		"nor the one itself, of all":     {func(w *World) { w.outdate("b"); w.Members[1].Says = fact.Unknown[whole.Says]("no answer") }, GateWhole, ""},
		"looked at once":                 {func(w *World) { w.outdate("b"); w.WholeSince = time.Time{} }, GateWhole, ""},
		"looked at twice, too soon":      {func(w *World) { w.outdate("b"); w.WholeSince = now.Add(time.Millisecond - whole.Apart) }, GateWhole, ""},
		"one is down, and not behind":    {func(w *World) { w.outdate("b"); w.fail("c") }, GateIdentified + " " + GatePods + " " + GateWhole, ""},

		"one that is down goes first":       {func(w *World) { w.outdate("a", "b", "c"); w.fail("c") }, "Replace c", "pod-c"},
		"however many are":                  {func(w *World) { w.outdate("a", "b", "c"); w.fail("b"); w.fail("c"); w.Layout = "first" }, "Replace b", "pod-b"},
		"if its claims stay":                {func(w *World) { w.outdate("c"); w.fail("c"); w.node("c").Claims = "gone" }, GateClaims, ""},
		"one that another sees is not down": {func(w *World) { w.outdate("c"); w.fail("c"); w.node("c").Seen, w.Layout = true, "first" }, GateLayout, ""},
		"nor one that answers":              {func(w *World) { w.outdate("c"); w.fail("c"); w.node("c").Answers, w.Layout = true, "first" }, GateLayout, ""},
		"nor one that is ready":             {func(w *World) { w.outdate("a", "c"); w.fail("c"); w.node("c").Pod.Ready = true }, GateIdentified + " " + GateWhole, ""},
		"one without a Pod is down":         {func(w *World) { w.outdate("c"); w.fail("c"); w.node("c").Pod = nil }, "Replace c", NoPod},
		"one that is not ready goes first":  {func(w *World) { w.outdate("a", "b"); w.node("b").Pod.Ready = false }, "Replace b", "pod-b"},
		"one not ready waits for others":    {func(w *World) { w.outdate("a"); w.node("a").Pod.Ready = false; w.WholeSince = time.Time{} }, "Replace a", "pod-a"},
		"and not for itself":                {func(w *World) { w.outdate("a"); w.fail("a"); w.node("a").Seen = true }, "Replace a", "pod-a"},
		"but for all others":                {func(w *World) { w.outdate("a"); w.node("a").Pod.Ready = false; w.fail("b") }, GateIdentified + " " + GatePods + " " + GateWhole, ""},
		"one that never was anybody is first": {func(w *World) {
			w.outdate("a", "b", "c")
			w.fail("a")
			w.fail("b")
			w.node("b").ID = ""
			w.node("b").Claims = "gone"
		}, "Replace b", ""},
		"without a Pod it is written":  {func(w *World) { w.outdate("b"); w.fail("b"); w.node("b").ID = ""; w.node("b").Pod = nil }, "Correct b", ""},
		"one that just says who it is": {func(w *World) { w.outdate("a"); w.node("a").ID = ""; w.node("a").Current = false }, GateIdentified, ""},

		"it goes on with the one":               {func(w *World) { w.outdate("a", "b"); w.begun("b") }, "Replace b", "pod-b"},
		"when a gate is open":                   {func(w *World) { w.outdate("b"); w.begun("b"); w.fail("c") }, GateIdentified + " " + GatePods + " " + GateWhole, "pod-b"},
		"the layout waits for it":               {func(w *World) { w.outdate("b"); w.begun("b"); w.Layout = "first" }, "Replace b", "pod-b"},
		"but not what is staged already":        {func(w *World) { w.outdate("b"); w.begun("b"); w.Foreign = "staged" }, GateLayout, "pod-b"},
		"it stops":                              {func(w *World) { w.outdate("b"); w.begun("b"); w.node("b").Pod.Leaving = true }, "its Pod is stopping", "pod-b"},
		"it has stopped":                        {func(w *World) { w.begun("b"); w.fail("b"); w.node("b").Pod = nil }, "its StatefulSet has not made the new Pod yet", "pod-b"},
		"the template was not written":          {func(w *World) { w.outdate("b"); w.begun("b"); w.node("b").Pod = nil }, "Replace b", "pod-b"},
		"its StatefulSet is gone":               {func(w *World) { w.begun("b"); w.node("b").Workload = nil }, "its StatefulSet does not exist", "pod-b"},
		"the GarageNode is gone":                {func(w *World) { w.begun("b"); w.node("b").UID = "other" }, "Release b over", "pod-b"},
		"the spec was put back":                 {func(w *World) { w.begun("b") }, "TakeBack b over", "pod-b"},
		"after the template was written":        {func(w *World) { w.begun("b"); w.node("b").Workload.Rendered = false }, "Correct b", "pod-b"},
		"with a Pod that is down":               {func(w *World) { w.begun("b"); w.fail("b") }, "Replace b", "pod-b"},
		"it is back":                            {func(w *World) { w.replaced("b") }, "Release b over", "pod-b"},
		"it is not ready":                       {func(w *World) { w.replaced("b"); w.node("b").Pod.Ready, w.node("b").Pod.Why = false, "no image" }, "its new Pod is not ready: no image", "pod-b"},
		"it does not answer":                    {func(w *World) { w.replaced("b"); w.node("b").Answers = false }, "its new Pod has not said who it is", "pod-b"},
		"it has not said who it is":             {func(w *World) { w.replaced("b"); w.node("b").Current = false }, "its new Pod has not said who it is", "pod-b"},
		"it is somebody else":                   {func(w *World) { w.replaced("b"); w.node("b").Held = "its disk is another one" }, "its disk is another one", "pod-b"},
		"the store is not whole":                {func(w *World) { w.replaced("b"); w.fail("c") }, "c does not say: no answer", "pod-b"},
		"there is no layout yet":                {func(w *World) { w.replaced("b"); w.unlay("a", "b", "c") }, "Release b over", "pod-b"},
		"by the word of some":                   {func(w *World) { w.replaced("b"); w.unlay("a", "b") }, "a has no layout", "pod-b"},
		"others are down, and behind":           {func(w *World) { w.replaced("b"); w.outdate("c"); w.fail("c") }, "Release b over", "pod-b"},
		"others are behind":                     {func(w *World) { w.outdate("c"); w.replaced("b") }, "Release b over", "pod-b"},
		"its StatefulSet was edited":            {func(w *World) { w.replaced("b"); w.node("b").Workload.Rendered = false }, "its StatefulSet is not as it is to be", "pod-b"},
		"a corrected spec":                      {func(w *World) { w.replaced("b"); w.outdate("b"); w.fail("b") }, "Replace b", "new"},
		"while it runs":                         {func(w *World) { w.replaced("b"); w.outdate("b") }, "Replace b", "new"},
		"while it runs, and others do not":      {func(w *World) { w.replaced("b"); w.outdate("b"); w.fail("a") }, GateIdentified + " " + GatePods + " " + GateWhole, "pod-b"},
		"and the layout waits for it":           {func(w *World) { w.replaced("b"); w.outdate("b"); w.Layout = "first" }, "Replace b", "new"},
		"while it is ready and does not answer": {func(w *World) { w.replaced("b"); w.outdate("b"); w.choke("b") }, "Replace b", "new"},
		"as was written down":                   {func(w *World) { w.begun("b"); w.outdate("b"); w.choke("b") }, "Replace b", "pod-b"},
		"but not while another does not either": {func(w *World) { w.replaced("b"); w.outdate("b"); w.choke("b"); w.choke("c") }, GateIdentified + " " + GateWhole, "pod-b"},
		"and they wait for it":                  {func(w *World) { w.replaced("b"); w.outdate("a", "b"); w.fail("a") }, "Release b over", "pod-b"},
		"before its Pod is gone":                {func(w *World) { w.begun("b"); w.outdate("a", "b"); w.fail("a") }, "TakeBack b over", "pod-b"},
		"not while it is down itself":           {func(w *World) { w.replaced("b"); w.outdate("a", "b"); w.fail("a"); w.fail("b") }, "Replace b", "new"},
		"it is to be made once more":            {func(w *World) { w.replaced("b"); w.fail("b"); w.Recover = "1" }, "Replace b", "new"},
		"but not for the same order":            {func(w *World) { w.replaced("b"); w.fail("b"); w.Recover = "1"; w.Journal.RecoveryRequest = "1" }, "its new Pod is not ready", "pod-b"},
		"nor while it runs":                     {func(w *World) { w.replaced("b"); w.Recover = "1" }, "Release b over", "pod-b"},
		"its StatefulSet was replaced":          {func(w *World) { w.replaced("b"); w.node("b").Workload.UID, w.node("b").Pod.Owner = "other", "other" }, "Release b over", "pod-b"},
		"and its Pod is that of the one before": {func(w *World) { w.replaced("b"); w.node("b").Workload.UID = "other" }, "its Pod is that of a StatefulSet that is gone", "pod-b"},
		"too often": {func(w *World) {
			w.replaced("b")
			w.node("b").Workload.UID = "other"
			for i := range MaxRetired {
				w.Journal.RetiredWorkloadUIDs = append(w.Journal.RetiredWorkloadUIDs, fmt.Sprint(i))
			}
		}, "its StatefulSet was replaced 32 times in one step, and more are not kept apart", "pod-b"},
	} {
		t.Run(name, func(t *testing.T) {
			w := three()
			c.change(w)
			plan := Decide(*w, now)
			got := plan.Back
			for _, gate := range plan.Gates {
				got = strings.TrimSpace(got + " " + gate.Name)
			}
			if plan.Action != nil {
				got = strings.TrimSpace(fmt.Sprintf("%s %s %s", plan.Action.Kind, plan.Action.Node, map[bool]string{true: "over"}[plan.Over]))
			}
			if got != c.want && (c.want == "" || !strings.HasPrefix(got, c.want)) {
				t.Errorf("got %q, want %q", got, c.want)
			}
			journal := ""
			if plan.Journal != nil {
				journal = string(plan.Journal.PreviousPodUID)
			}
			if journal != c.journal {
				t.Errorf("the journal names Pod %q, want %q", journal, c.journal)
			}
		})
	}
}

// The journal says all that a person or a second controller has to know of the step.
func TestJournal(t *testing.T) {
	w := three()
	w.outdate("a", "b", "c")
	w.Recover = "0"
	plan := Decide(*w, now)
	want := &v1beta2.StorageRollout{
		GarageNodeName: "a", GarageNodeUID: "node-a", GarageNodeID: string(id(0)), PreviousPodUID: "pod-a", WorkloadUID: "set-a",
		DesiredConfigHash: "c2", DesiredPodSpecHash: "p2", RecoveryRequest: "0",
		PersistentVolumeClaims: []v1beta2.KeptClaim{{Name: "data-a", UID: "claim-a"}},
	}
	if diff := cmp.Diff(want, plan.Journal); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"a", "b", "c"}, plan.Behind); diff != "" || plan.Next != "a" {
		t.Errorf("next is %q, behind (-want +got):\n%s", plan.Next, diff)
	}
	// A corrected spec, another StatefulSet and an order are written down with the Pod that goes for them.
	w.replaced("a")
	w.outdate("a")
	w.fail("a")
	w.node("a").Rendered, w.node("a").Workload.UID, w.Recover = Revision{"c3", "p3"}, "other", "1"
	want.PreviousPodUID, want.WorkloadUID, want.RetiredWorkloadUIDs = "new", "other", []string{"set-a"}
	want.DesiredConfigHash, want.DesiredPodSpecHash, want.RecoveryRequest = "c3", "p3", "1"
	as := w.Journal.DeepCopy()
	if diff := cmp.Diff(want, Decide(*w, now).Journal); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(as, w.Journal); diff != "" {
		t.Errorf("the World was changed: %s", diff)
	}
}

// Time alone is waited for only where nothing else has to come first.
func TestWake(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*World)
		want   time.Duration
	}{
		"nothing to do":     {func(*World) {}, 0},
		"not looked at yet": {func(w *World) { w.outdate("a"); w.WholeSince = time.Time{} }, whole.Apart},
		"a second ago":      {func(w *World) { w.outdate("a"); w.WholeSince = now.Add(-time.Second) }, whole.Apart - time.Second},
		"long ago":          {func(w *World) { w.outdate("a"); w.Layout = "first"; w.WholeSince = now.Add(-time.Hour) }, 0},
		"not whole":         {func(w *World) { w.outdate("a"); w.fail("b"); w.WholeSince = time.Time{} }, 0},
	} {
		t.Run(name, func(t *testing.T) {
			w := three()
			c.change(w)
			if got := Decide(*w, now).Wake; got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
		})
	}
}
