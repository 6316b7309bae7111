package identity

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	"github.com/holdfast-dev/holdfast/internal/garage/adminapi"
	"github.com/holdfast-dev/holdfast/internal/kit/fact"
)

func id(c string) adminapi.NodeID { return adminapi.NodeID(strings.Repeat(c, 64)) }

func says(c, pod string) fact.Fact[Said] {
	return fact.Known(Said{ID: id(c), Pod: types.UID("pod-" + pod)})
}

func TestDecide(t *testing.T) {
	silent := fact.Unknown[Said]("no answer")
	tagged := func(c string, tags ...string) adminapi.NodeRole {
		return adminapi.NodeRole{ID: id(c), Role: adminapi.Role{Tags: tags}}
	}
	for name, c := range map[string]struct {
		nodes []Node
		roles []adminapi.NodeRole
		want  Plan
	}{
		"a new node is recorded": {
			nodes: []Node{{Name: "a", Said: says("a", "1")}},
			want:  Plan{Records: []Record{{Node: "a", ID: id("a"), Pod: "pod-1"}}},
		},
		"one that says nothing is not": {
			nodes: []Node{{Name: "a", Said: silent}},
		},
		"a recorded one rests": {
			nodes: []Node{{Name: "a", Recorded: id("a"), RecordedPod: "pod-1", Said: says("a", "1")}},
			want:  Plan{Current: map[string]bool{"a": true}},
		},
		"a recorded one that says nothing stays as it is": {
			nodes: []Node{{Name: "a", Recorded: id("a"), RecordedPod: "pod-1", Said: silent}},
		},
		"what one says or not stops nobody else": {
			nodes: []Node{
				{Name: "a", Said: silent},
				{Name: "b", Recorded: id("b"), RecordedPod: "pod-2", Said: says("e", "2")},
				{Name: "c", Recorded: id("c"), Said: silent},
				{Name: "d", Recorded: id("d"), RecordedPod: "pod-4", Said: says("d", "4")},
				{Name: "f", Said: says("f", "5")},
			},
			want: Plan{
				Records: []Record{{Node: "f", ID: id("f"), Pod: "pod-5"}},
				Held: map[string]string{
					"b": "its disk is another one: it is node eeeeeeeeeeeeeeee by its metadata, and was bbbbbbbbbbbbbbbb: give it its disk back",
				},
				Current: map[string]bool{"d": true},
			},
		},
		"another Pod with the same disk is recorded": {
			nodes: []Node{{Name: "a", Recorded: id("a"), RecordedPod: "pod-1", Said: says("a", "2")}},
			want:  Plan{Records: []Record{{Node: "a", ID: id("a"), Pod: "pod-2"}}},
		},
		"another disk is held": {
			nodes: []Node{{Name: "a", Recorded: id("a"), RecordedPod: "pod-1", Said: says("b", "2")}},
			want: Plan{Held: map[string]string{
				"a": "its disk is another one: it is node bbbbbbbbbbbbbbbb by its metadata, and was aaaaaaaaaaaaaaaa: give it its disk back",
			}},
		},
		"even in the same Pod": {
			nodes: []Node{{Name: "a", Recorded: id("a"), RecordedPod: "pod-1", Said: says("b", "1")}},
			want: Plan{Held: map[string]string{
				"a": "its disk is another one: it is node bbbbbbbbbbbbbbbb by its metadata, and was aaaaaaaaaaaaaaaa: give it its disk back",
			}},
		},
		"an identity that the spec does not want is held": {
			nodes: []Node{{Name: "a", Pinned: id("c"), Said: says("a", "1")}},
			want:  Plan{Held: map[string]string{"a": "it is node aaaaaaaaaaaaaaaa by its metadata, and spec.nodeId says cccccccccccccccc"}},
		},
		"one that it wants is recorded": {
			nodes: []Node{{Name: "a", Pinned: id("a"), Said: says("a", "1")}},
			want:  Plan{Records: []Record{{Node: "a", ID: id("a"), Pod: "pod-1"}}},
		},
		"a pinned one that says nothing waits": {
			nodes: []Node{{Name: "a", Recorded: id("a"), Pinned: id("c"), Said: silent}},
		},
		"two with one disk are both held": {
			nodes: []Node{{Name: "a", Said: says("a", "1")}, {Name: "b", Said: says("a", "2")}},
			want: Plan{Held: map[string]string{
				"a": "node aaaaaaaaaaaaaaaa is the identity of a, b: they share a disk or a copy of one, and to Garage are one node",
				"b": "node aaaaaaaaaaaaaaaa is the identity of a, b: they share a disk or a copy of one, and to Garage are one node",
			}},
		},
		"one with the disk of another that is away": {
			nodes: []Node{{Name: "a", Recorded: id("a"), Said: silent}, {Name: "b", Said: says("a", "2")}, {Name: "c", Said: says("c", "3")}},
			want: Plan{
				Records: []Record{{Node: "c", ID: id("c"), Pod: "pod-3"}},
				Held: map[string]string{
					"a": "node aaaaaaaaaaaaaaaa is the identity of a, b: they share a disk or a copy of one, and to Garage are one node",
					"b": "node aaaaaaaaaaaaaaaa is the identity of a, b: they share a disk or a copy of one, and to Garage are one node",
				},
			},
		},
		"an external node with the identity of one of ours": {
			nodes: []Node{{Name: "a", Recorded: id("a"), RecordedPod: "pod-1", Said: says("a", "1")}, {Name: "x", External: true, Recorded: id("a"), Said: silent}},
			want: Plan{Held: map[string]string{
				"a": "node aaaaaaaaaaaaaaaa is the identity of a, x: they share a disk or a copy of one, and to Garage are one node",
				"x": "node aaaaaaaaaaaaaaaa is the identity of a, x: they share a disk or a copy of one, and to Garage are one node",
			}},
		},
		"a role of our own is no obstacle": {
			nodes: []Node{{Name: "a", Said: says("a", "1")}},
			roles: []adminapi.NodeRole{tagged("b", "uid:other"), tagged("a", "x", "uid:1")},
			want:  Plan{Records: []Record{{Node: "a", ID: id("a"), Pod: "pod-1"}}},
		},
		"nor is one of nobody": {
			nodes: []Node{{Name: "a", Said: says("a", "1")}},
			roles: []adminapi.NodeRole{tagged("a")},
			want:  Plan{Records: []Record{{Node: "a", ID: id("a"), Pod: "pod-1"}}},
		},
		"a role of another GarageCluster is": {
			nodes: []Node{{Name: "a", Said: says("a", "1")}},
			roles: []adminapi.NodeRole{tagged("a", "uid:2")},
			want:  Plan{Held: map[string]string{"a": "node aaaaaaaaaaaaaaaa has its role from another GarageCluster (uid:2)"}},
		},
		"but not one that is its claims' own": {
			nodes: []Node{{Name: "a", Said: says("a", "1"), Former: []string{"uid:2"}}, {Name: "b", Said: says("b", "2"), Former: []string{"uid:2"}}},
			roles: []adminapi.NodeRole{tagged("a", "uid:2"), tagged("b", "uid:3")},
			want: Plan{
				Records: []Record{{Node: "a", ID: id("a"), Pod: "pod-1"}},
				Held:    map[string]string{"b": "node bbbbbbbbbbbbbbbb has its role from another GarageCluster (uid:3)"},
			},
		},
		"also while the node is away": {
			nodes: []Node{{Name: "a", Recorded: id("a"), Said: silent}},
			roles: []adminapi.NodeRole{tagged("a", "uid:2")},
			want:  Plan{Held: map[string]string{"a": "node aaaaaaaaaaaaaaaa has its role from another GarageCluster (uid:2)"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if c.want.Held == nil {
				c.want.Held = map[string]string{}
			}
			if c.want.Current == nil {
				c.want.Current = map[string]bool{}
			}
			got := Decide(World{ClusterTag: "uid:1", ClusterTagPrefix: "uid:", Nodes: c.nodes, Roles: c.roles})
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
