package orders

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-dev/holdfast/api/garage/v1beta1"
	"github.com/holdfast-dev/holdfast/api/garage/v1beta2"
	"github.com/holdfast-dev/holdfast/internal/garage/adminapi"
	"github.com/holdfast-dev/holdfast/internal/garage/facts"
	"github.com/holdfast-dev/holdfast/internal/garage/layout"
	"github.com/holdfast-dev/holdfast/internal/kit/fact"
)

var (
	before = metav1.NewTime(time.Date(2026, 11, 30, 11, 0, 0, 0, time.UTC))
	now    = time.Date(2026, 11, 30, 12, 0, 0, 500, time.UTC)
	peer   = strings.Repeat("ab", 32) + "@[fd00::1]:3901"
)

// begun is what the status says of an order that was begun before.
func begun(kind, value string, changes ...func(*v1beta2.LastOperation)) *v1beta2.LastOperation {
	last := &v1beta2.LastOperation{Type: kind, Value: &value, TriggeredAt: before}
	for _, change := range changes {
		change(last)
	}
	return last
}

func ended(why string) func(*v1beta2.LastOperation) {
	return func(l *v1beta2.LastOperation) { l.Succeeded, l.Error = new(why == ""), why }
}

func consumed(l *v1beta2.LastOperation) { l.Consumed = new(true) }

func hashed(l *v1beta2.LastOperation) { l.Hash = "h1" }

// show is a plan in a line.
func show(plan Plan) string {
	if plan.Last == nil {
		return string(plan.Step)
	}
	text := fmt.Sprintf("%s %s=%s", plan.Step, plan.Last.Type, *plan.Last.Value)
	if plan.Last.Hash != "" {
		text += " on " + plan.Last.Hash
	}
	if plan.Last.TriggeredAt.Time.Equal(now.Truncate(time.Second)) {
		text += " begins"
	}
	if plan.Last.Succeeded != nil {
		text += fmt.Sprintf(" ended %t", *plan.Last.Succeeded)
	}
	if plan.Last.Consumed != nil {
		text += " consumed"
	}
	if plan.Last.Error != "" {
		text += ": " + plan.Last.Error
	}
	return strings.TrimSpace(text)
}

func TestDecide(t *testing.T) {
	const (
		broken = "the controller was interrupted, and some nodes may have done it: look, and set the annotation again if they have not"
		oneOf  = "the value has to be one of "
	)
	silent := []Member{{Name: "a"}, {Name: "b", Silent: "no answer"}}
	nobody := []Member{{Name: "b", Silent: "no answer"}}
	for name, c := range map[string]struct {
		annotations map[string]string
		last        *v1beta2.LastOperation
		members     []Member
		draining    []string
		verdict     layout.Verdict
		want        string
	}{
		"nothing is asked for":              {annotations: map[string]string{"example.com/x": "true", "allow-missing-data": "3"}},
		"nothing new is":                    {last: begun("trigger-repair", "Blocks", ended(""), consumed)},
		"a repair":                          {annotations: map[string]string{"trigger-repair": "Blocks"}, want: "CarryOut trigger-repair=Blocks begins"},
		"the same again is another order":   {annotations: map[string]string{"trigger-repair": "Blocks"}, last: begun("trigger-repair", "Blocks", ended(""), consumed), want: "CarryOut trigger-repair=Blocks begins"},
		"a snapshot":                        {annotations: map[string]string{"trigger-snapshot": "true"}, want: "CarryOut trigger-snapshot=true begins"},
		"a scrub":                           {annotations: map[string]string{"scrub-command": "pause"}, want: "CarryOut scrub-command=pause begins"},
		"a connection":                      {annotations: map[string]string{"connect-nodes": peer}, want: "CarryOut connect-nodes=" + peer + " begins"},
		"one of several comes first":        {annotations: map[string]string{"scrub-command": "pause", "trigger-repair": "Tables"}, want: "CarryOut trigger-repair=Tables begins"},
		"but the one that was begun before": {annotations: map[string]string{"scrub-command": "pause", "trigger-repair": "Tables"}, last: begun("scrub-command", "pause"), want: "CarryOut scrub-command=pause"},

		"an unknown repair": {annotations: map[string]string{"trigger-repair": "ClearResyncQueue"}, want: "Consume trigger-repair=ClearResyncQueue begins ended false: " + oneOf +
			"Tables, Blocks, Versions, MultipartUploads, BlockRefs, BlockRc, Rebalance, Aliases"},
		"an unknown scrub":           {annotations: map[string]string{"scrub-command": "stop"}, want: "Consume scrub-command=stop begins ended false: " + oneOf + "start, pause, resume, cancel"},
		"a snapshot in another word": {annotations: map[string]string{"trigger-snapshot": "yes"}, want: "Consume trigger-snapshot=yes begins ended false: the value has to be true"},
		"the same for the layout":    {annotations: map[string]string{"revert-layout": ""}, want: "Consume revert-layout= begins ended false: the value has to be true"},
		"and for dead nodes":         {annotations: map[string]string{"skip-dead-nodes": "no"}, want: "Consume skip-dead-nodes=no begins ended false: the value has to be true"},
		"no version": {annotations: map[string]string{"skip-dead-nodes": "true", "allow-missing-data": "true"}, want: "Consume skip-dead-nodes=true, allow-missing-data true begins ended false: " +
			"the value of allow-missing-data has to be the version of the layout that it is meant for, such as 5"},
		"no number": {annotations: map[string]string{"skip-dead-nodes": "true", "allow-missing-data": "0"}, want: "Consume skip-dead-nodes=true, allow-missing-data 0 begins ended false: " +
			"the value of allow-missing-data has to be the version of the layout that it is meant for, such as 5"},

		"a repair waits for nobody":             {annotations: map[string]string{"trigger-repair": "Blocks"}, members: silent, want: "Consume trigger-repair=Blocks begins ended false: it is for every node: b: no answer"},
		"a connection is for those that answer": {annotations: map[string]string{"connect-nodes": peer}, members: silent, want: "CarryOut connect-nodes=" + peer + " begins"},
		"if there are any":                      {annotations: map[string]string{"connect-nodes": peer}, members: nobody, want: "Consume connect-nodes=" + peer + " begins ended false: no node answers"},
		"no repair during a drain": {annotations: map[string]string{"trigger-repair": "Blocks"}, draining: []string{"a"}, want: "Consume trigger-repair=Blocks begins ended false: " +
			"a is being taken away, which counts the repairs that are its own"},
		"but a scrub": {annotations: map[string]string{"scrub-command": "pause"}, draining: []string{"a"}, want: "CarryOut scrub-command=pause begins"},

		"an order has ended":       {annotations: map[string]string{"trigger-repair": "Blocks"}, last: begun("trigger-repair", "Blocks", ended("no")), want: "Consume trigger-repair=Blocks ended false: no"},
		"its annotation is gone":   {last: begun("trigger-repair", "Blocks", ended("no")), want: "Record trigger-repair=Blocks ended false consumed: no"},
		"or says something else":   {annotations: map[string]string{"trigger-repair": "Tables"}, last: begun("trigger-repair", "Blocks", ended("")), want: "Record trigger-repair=Blocks ended true consumed"},
		"or is another one":        {annotations: map[string]string{"scrub-command": "start"}, last: begun("trigger-repair", "start", ended("")), want: "Record trigger-repair=start ended true consumed"},
		"a repair was interrupted": {annotations: map[string]string{"trigger-repair": "Blocks"}, last: begun("trigger-repair", "Blocks"), want: "CarryOut trigger-repair=Blocks"},
		"and now a node is silent": {annotations: map[string]string{"trigger-repair": "Blocks"}, last: begun("trigger-repair", "Blocks"), members: silent,
			want: "Consume trigger-repair=Blocks ended false: the controller was interrupted before it was done, and now: it is for every node: b: no answer"},
		"a snapshot was interrupted":        {annotations: map[string]string{"trigger-snapshot": "true"}, last: begun("trigger-snapshot", "true"), want: "Consume trigger-snapshot=true ended false: " + broken},
		"an order was taken back meanwhile": {last: begun("trigger-repair", "Blocks"), want: "Record trigger-repair=Blocks ended false consumed: the annotation trigger-repair was taken away or changed before it was done"},

		"the layout's order is taken up": {annotations: map[string]string{"revert-layout": "true"}, verdict: layout.Verdict{Hash: "h1"}, want: "Record revert-layout=true on h1 begins"},
		"whoever is silent":              {annotations: map[string]string{"force-layout-apply": "true"}, members: nobody, verdict: layout.Verdict{Hash: "h1"}, want: "Record force-layout-apply=true on h1 begins"},
		"it is refused":                  {annotations: map[string]string{"skip-dead-nodes": "true"}, verdict: layout.Verdict{Refused: "no"}, want: "Consume skip-dead-nodes=true begins ended false: no"},
		"there is nothing to do":         {annotations: map[string]string{"revert-layout": "true"}, verdict: layout.Verdict{Done: true}, want: "Consume revert-layout=true begins ended true"},
		"the layout's writer is at it":   {annotations: map[string]string{"revert-layout": "true"}, last: begun("revert-layout", "true", hashed), verdict: layout.Verdict{Hash: "h1"}, want: "revert-layout=true on h1"},
		"it has done it":                 {annotations: map[string]string{"revert-layout": "true"}, last: begun("revert-layout", "true", hashed), verdict: layout.Verdict{Done: true}, want: "Consume revert-layout=true on h1 ended true"},
		"it cannot any more":             {annotations: map[string]string{"revert-layout": "true"}, last: begun("revert-layout", "true", hashed), verdict: layout.Verdict{Refused: "no"}, want: "Consume revert-layout=true on h1 ended false: no"},
		"it allows for missing data": {annotations: map[string]string{"skip-dead-nodes": "true", "allow-missing-data": "5"}, verdict: layout.Verdict{Hash: "h1"},
			want: "Record skip-dead-nodes=true, allow-missing-data 5 on h1 begins"},
	} {
		t.Run(name, func(t *testing.T) {
			w := World{Annotations: map[string]string{}, Last: c.last, Members: c.members, Draining: c.draining}
			if w.Members == nil {
				w.Members = []Member{{Name: "a"}, {Name: "b"}}
			}
			for key, value := range c.annotations {
				w.Annotations[prefix+key] = value
			}
			w.Layout = func(order layout.Order) layout.Verdict {
				if c.last != nil && order.Hash != c.last.Hash {
					t.Errorf("judged on %q", order.Hash)
				}
				return c.verdict
			}
			was := c.last.DeepCopy()
			if got := show(Decide(w, now)); got != c.want {
				t.Errorf("%s\nwant\n%s", got, c.want)
			}
			if diff := cmp.Diff(was, c.last); diff != "" {
				t.Errorf("what was said is changed (-before +after):\n%s", diff)
			}
		})
	}
}

func TestPeers(t *testing.T) {
	for value, bad := range map[string]bool{
		peer: false, peer + ", " + strings.Repeat("0", 64) + "@host:1": false,
		"": true, peer + ",": true, "host:3901": true, strings.Repeat("A", 64) + "@host:1": true, strings.Repeat("a", 64) + "@host": true,
		strings.Repeat("a", 64) + "@:1": true, strings.Repeat("a", 64) + "@host:0": true, strings.Repeat("a", 64) + "@host:65536": true, strings.Repeat("a", 64) + "@host:x": true,
		strings.Repeat(peer+",", maxPeers-1) + peer: false, strings.Repeat(peer+",", maxPeers) + peer: true,
	} {
		if order := connect(value, nil); (order.Bad != "") != bad {
			t.Errorf("%.100q: %s", value, order.Bad)
		}
	}
	if order := connect(peer+" , x", nil); order.Peers[0] != peer || order.Bad != `"x" is not id@host:port, with 64 lower-case hexadecimal digits before the @` {
		t.Errorf("%+v", order)
	}
}

func TestOfLayout(t *testing.T) {
	annotations := map[string]string{v1beta2.AnnotationSkipDeadNodes: "true", v1beta2.AnnotationAllowMissingData: "5", v1beta2.AnnotationScrubCommand: "start"}
	const value = "true, allow-missing-data 5"
	for name, c := range map[string]struct {
		last *v1beta2.LastOperation
		want *layout.Order
	}{
		"begun":            {begun("skip-dead-nodes", value, hashed), &layout.Order{Kind: layout.OrderSkip, AllowMissing: 5, Hash: "h1"}},
		"nothing":          {nil, nil},
		"not on anything":  {begun("skip-dead-nodes", value), nil},
		"ended":            {begun("skip-dead-nodes", value, hashed, ended("")), nil},
		"consumed":         {begun("skip-dead-nodes", value, hashed, consumed), nil},
		"another version":  {begun("skip-dead-nodes", "true, allow-missing-data 4", hashed), nil},
		"something else":   {begun("scrub-command", "start", hashed), nil},
		"one that is gone": {begun("revert-layout", "true", hashed), nil},
	} {
		if diff := cmp.Diff(c.want, OfLayout(annotations, c.last)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	if OfLayout(nil, begun("revert-layout", "true", hashed)) != nil {
		t.Error("an order without an annotation")
	}
}

func TestReturns(t *testing.T) {
	id := adminapi.NodeID(strings.Repeat("ab", 32))
	node := func(changes ...func(*facts.Node)) facts.Node {
		n := facts.Node{GarageNode: &v1beta1.GarageNode{Spec: v1beta1.GarageNodeSpec{Storage: &v1beta1.NodeStorage{}}, Status: v1beta1.GarageNodeStatus{NodeID: string(id)}}}
		for _, change := range changes {
			change(&n)
		}
		return n
	}
	pod := func(n *facts.Node) { n.Pod = &corev1.Pod{} }
	gone := fact.Unknown[facts.Process]("no answer")
	for name, c := range map[string]struct {
		node facts.Node
		said fact.Fact[facts.Process]
		want string
	}{
		"with nothing left":        {node(), gone, ""},
		"with a Pod":               {node(pod), gone, "its Pod is there"},
		"with its own process":     {node(pod), fact.Known(facts.Process{ID: id}), "its Pod is there"},
		"with another disk":        {node(pod), fact.Known(facts.Process{ID: "other"}), ""},
		"with claims":              {node(func(n *facts.Node) { n.Claims = make([]corev1.PersistentVolumeClaim, 1) }), gone, "its claims are there"},
		"with a user's claim":      {node(func(n *facts.Node) { n.GarageNode.Spec.Storage.Metadata.ExistingClaim = "x" }), gone, "its claim is a user's"},
		"with no word of its disk": {node(func(n *facts.Node) { n.GarageNode.Spec.Storage = nil }), gone, ""},
		"elsewhere":                {node(func(n *facts.Node) { n.GarageNode.Spec.External = &v1beta1.ExternalNode{} }), gone, "it runs elsewhere"},
	} {
		if got := Returns(c.node, c.said); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
