package layout

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast/internal/garage/adminapi"
	"github.com/holdfast-dev/holdfast/internal/kit/fact"
	"github.com/holdfast-dev/holdfast/internal/kit/gates"
)

const gib = 1 << 30

func id(i int) adminapi.NodeID { return adminapi.NodeID(strings.Repeat(fmt.Sprintf("%02x", i+1), 32)) }

func role(zone string, bytes uint64) adminapi.Role {
	return adminapi.Role{Zone: zone, Tags: []string{"tier:storage"}, Capacity: adminapi.Bytes(bytes)}
}

// bench is so many nodes that all see the same layout.
type bench struct {
	World
	layout  adminapi.Layout
	history adminapi.LayoutHistory
	// own replaces what one node says.
	own map[string]func(*View)
	// silent nodes say nothing.
	silent map[string]string
}

// fresh are nodes without a layout.
func fresh(n int) *bench {
	b := &bench{
		World:   World{Factor: min(n, 3)},
		history: adminapi.LayoutHistory{Versions: []adminapi.LayoutVersion{{Status: adminapi.Current}}},
		own:     map[string]func(*View){}, silent: map[string]string{},
	}
	for i := range n {
		b.Nodes = append(b.Nodes, Node{Name: fmt.Sprintf("g-storage-%d", i), ID: id(i), Role: role("z1", gib)})
	}
	return b
}

// settled are nodes with the roles that they are to have, in version 4.
func settled(n int) *bench {
	b := fresh(n)
	b.layout.Version = 4
	b.history = adminapi.LayoutHistory{CurrentVersion: 4, MinAck: 4, Versions: []adminapi.LayoutVersion{{Version: 4, Status: adminapi.Current}}}
	for _, node := range b.Nodes {
		b.layout.Roles = append(b.layout.Roles, adminapi.NodeRole{ID: node.ID, Role: node.Role})
	}
	return b
}

// world lets every node say what it sees.
func (b *bench) world() World {
	var all []adminapi.NodeStatus
	for _, node := range b.Nodes {
		if node.ID != "" {
			all = append(all, adminapi.NodeStatus{ID: node.ID, Up: true})
		}
	}
	for _, role := range b.layout.Roles {
		if !slices.ContainsFunc(all, func(s adminapi.NodeStatus) bool { return s.ID == role.ID }) {
			all = append(all, adminapi.NodeStatus{ID: role.ID, Up: true})
		}
	}
	w := b.World
	w.Nodes = slices.Clone(b.Nodes)
	for i, node := range w.Nodes {
		if why, is := b.silent[node.Name]; is {
			w.Nodes[i].View = fact.Unknown[View](why)
			continue
		}
		if node.External {
			continue
		}
		seen := View{Layout: b.layout, History: b.history, Status: adminapi.ClusterStatus{Nodes: slices.Clone(all)}}
		if change := b.own[node.Name]; change != nil {
			change(&seen)
		}
		w.Nodes[i].View = fact.Known(seen)
	}
	return w
}

func (b *bench) node(i int) *Node { return &b.Nodes[i] }

// stage has every node show the change as staged.
func (b *bench) stage(change adminapi.LayoutChange) {
	b.layout.Staged, b.layout.StagedRedundancy = change.Roles, change.Redundancy
}

func assigned(b *bench, nodes ...int) adminapi.LayoutChange {
	var change adminapi.LayoutChange
	for _, i := range nodes {
		change.Roles = append(change.Roles, adminapi.Assign(b.node(i).ID, b.node(i).Role))
	}
	return change
}

func describeGates(closed []gates.Gate) []string {
	var out []string
	for _, gate := range closed {
		out = append(out, gate.Name+": "+gate.Why)
	}
	return out
}

// expected is what a plan comes down to.
type expected struct {
	// does is the kind of the action, with its version and reason; empty for none.
	does    string
	gates   []string
	foreign []string
	refused string
	// rests says that nothing is wanted.
	rests bool
	// moves says that a member does not say that nothing moves.
	moves bool
}

func TestDecide(t *testing.T) {
	atLeast2 := adminapi.ZoneRedundancy{AtLeast: 2}
	for name, c := range map[string]struct {
		given func() *bench
		want  expected
	}{
		"the first layout has all nodes": {
			given: func() *bench { return fresh(3) },
			want:  expected{does: "Apply 1: the first layout, of g-storage-0, g-storage-1, g-storage-2"},
		},
		"the first layout takes the redundancy along": {
			given: func() *bench { b := fresh(3); b.Redundancy = atLeast2; return b },
			want:  expected{does: "Apply 1: the first layout, of g-storage-0, g-storage-1, g-storage-2"},
		},
		"the first layout waits for a node that has no identity": {
			given: func() *bench {
				b := fresh(3)
				b.node(2).ID = ""
				b.silent["g-storage-2"] = "Pod g-storage-2-0 does not exist"
				return b
			},
			want: expected{gates: []string{"NodesIdentified: g-storage-2 has not said who it is"}},
		},
		"the first layout waits for a node that is held": {
			given: func() *bench { b := fresh(3); b.node(0).Held = "its disk is another one"; return b },
			want:  expected{gates: []string{"NodesIdentified: g-storage-0: its disk is another one"}},
		},
		"the first layout needs as many nodes as copies": {
			given: func() *bench { b := fresh(2); b.Factor = 3; return b },
			want:  expected{gates: []string{"NodesIdentified: 2 nodes are fewer than the replication factor of 3"}},
		},
		"without a node there is no version": {
			given: func() *bench {
				b := fresh(1)
				b.node(0).ID = ""
				return b
			},
			want: expected{gates: []string{}},
		},
		"a settled layout rests": {
			given: func() *bench { return settled(3) },
			want:  expected{rests: true},
		},
		"what exists is changed at once": {
			given: func() *bench {
				b := settled(3)
				b.node(0).Role.Zone, b.node(2).Role.Capacity = "z2", adminapi.Bytes(2*gib)
				return b
			},
			want: expected{does: "Apply 5: the roles of g-storage-0, g-storage-2"},
		},
		"and before anything is added": {
			given: func() *bench {
				b := settled(4)
				b.layout.Roles = b.layout.Roles[:3]
				b.node(1).Role.Tags = []string{"other"}
				return b
			},
			want: expected{does: "Apply 5: the roles of g-storage-1"},
		},
		"another redundancy is a version of its own": {
			given: func() *bench { b := settled(3); b.Redundancy = atLeast2; return b },
			want:  expected{does: "Apply 5: the zone redundancy"},
		},
		"or goes with the roles": {
			given: func() *bench { b := settled(3); b.Redundancy = atLeast2; b.node(1).Role.Zone = "z2"; return b },
			want:  expected{does: "Apply 5: the roles of g-storage-1 and the zone redundancy"},
		},
		"new nodes come one at a time": {
			given: func() *bench { b := settled(5); b.layout.Roles = b.layout.Roles[:3]; return b },
			want:  expected{does: "Apply 5: a role for g-storage-3"},
		},
		"nobody waits for a node that is still to come": {
			given: func() *bench {
				b := settled(5)
				b.layout.Roles = b.layout.Roles[:3]
				b.node(4).ID = ""
				b.silent["g-storage-4"] = "GarageNode g-storage-4 does not exist yet"
				return b
			},
			want: expected{does: "Apply 5: a role for g-storage-3"},
		},
		"nor what is to be changed for one that is to come after": {
			given: func() *bench {
				b := settled(5)
				b.layout.Roles = b.layout.Roles[:3]
				b.silent["g-storage-4"] = "no answer"
				return b
			},
			want: expected{does: "Apply 5: a role for g-storage-3"},
		},
		"but the one whose turn it is has to answer": {
			given: func() *bench {
				b := settled(4)
				b.layout.Roles = b.layout.Roles[:3]
				b.silent["g-storage-3"] = "no answer"
				return b
			},
			want: expected{gates: []string{"MembersAnswer: g-storage-3: no answer"}},
		},
		"what a node without a role has staged counts": {
			given: func() *bench {
				b := settled(4)
				b.layout.Roles = b.layout.Roles[:3]
				b.node(1).Role.Zone = "z2"
				b.own["g-storage-3"] = func(v *View) { v.Layout.Staged = []adminapi.RoleChange{adminapi.Remove(id(0))} }
				return b
			},
			want: expected{
				gates:   []string{"StagingOwn: g-storage-3 has staged by somebody else: node 0101010101010101 without a role"},
				foreign: []string{"node 0101010101010101 without a role"},
			},
		},
		"a node that has no identity yet is waited for by itself": {
			given: func() *bench { b := settled(4); b.layout.Roles = b.layout.Roles[:3]; b.node(3).ID = ""; return b },
			want:  expected{rests: true},
		},
		"a node that is held keeps the role it has": {
			given: func() *bench {
				b := settled(3)
				b.node(1).Role.Zone, b.node(1).Held = "z2", "its disk is another one"
				return b
			},
			want: expected{rests: true},
		},
		"a node without the room for its role gets none at first": {
			given: func() *bench { b := fresh(3); b.node(1).Cramped = "its claim is not there"; return b },
			want:  expected{gates: []string{"NodesIdentified: its claim is not there"}},
		},
		"nor later": {
			given: func() *bench {
				b := settled(4)
				b.layout.Roles, b.node(3).Cramped = b.layout.Roles[:3], "its claim grows"
				return b
			},
			want: expected{rests: true},
		},
		"one whose disk still grows keeps its capacity": {
			given: func() *bench {
				b := settled(3)
				b.node(1).Role.Capacity, b.node(1).Cramped = adminapi.Bytes(2*gib), "its claim grows"
				return b
			},
			want: expected{rests: true},
		},
		"and gets what else is new, or less": {
			given: func() *bench {
				b := settled(3)
				b.node(1).Role.Capacity, b.node(1).Role.Zone, b.node(1).Cramped = adminapi.Bytes(2*gib), "z2", "its claim grows"
				b.node(2).Role.Capacity, b.node(2).Cramped = adminapi.Bytes(gib/2), "its claim grows"
				return b
			},
			want: expected{does: "Apply 5: the roles of g-storage-1, g-storage-2"},
		},
		"nobody gets more while disks of others grow": {
			given: func() *bench {
				b := settled(4)
				b.Patient, b.layout.Roles = true, b.layout.Roles[:3]
				b.node(1).Role.Capacity = adminapi.Bytes(2 * gib)
				return b
			},
			want: expected{does: "Apply 5: a role for g-storage-3"},
		},
		"a gateway that is to store something has room for it": {
			given: func() *bench {
				b := settled(3)
				b.Patient, b.layout.Roles[1].Capacity = true, adminapi.Gateway()
				return b
			},
			want: expected{does: "Apply 5: the roles of g-storage-1"},
		},
		"a layout that is taken over rests, and moves": {
			given: func() *bench { b := settled(3); b.history = moved(3); return b },
			want:  expected{rests: true, moves: true},
		},
		"a settled layout with somebody who is away moves": {
			given: func() *bench { b := settled(3); b.silent["g-storage-1"] = "no answer"; return b },
			want:  expected{rests: true, moves: true},
		},
		"a role of somebody else stays": {
			given: func() *bench {
				b := settled(3)
				b.layout.Roles = append(b.layout.Roles, adminapi.NodeRole{ID: id(9), Role: role("z9", gib)})
				return b
			},
			want: expected{rests: true},
		},
		"nobody answers": {
			given: func() *bench {
				b := settled(2)
				b.silent["g-storage-0"], b.silent["g-storage-1"] = "no answer", "no answer"
				return b
			},
			want: expected{gates: []string{"MembersAnswer: g-storage-0: no answer; g-storage-1: no answer"}},
		},
		"one does not answer": {
			given: func() *bench {
				b := settled(3)
				b.node(1).Role.Zone = "z2"
				b.silent["g-storage-0"] = "no answer"
				return b
			},
			want: expected{gates: []string{"MembersAnswer: g-storage-0: no answer"}},
		},
		"one is a version behind": {
			given: func() *bench {
				b := settled(3)
				b.node(1).Role.Zone = "z2"
				b.own["g-storage-2"] = func(v *View) { v.Layout.Version = 3 }
				return b
			},
			want: expected{gates: []string{"LayoutAgreed: g-storage-2 shows version 3 and g-storage-0 version 4"}},
		},
		"one has the version with other roles": {
			given: func() *bench {
				b := settled(3)
				b.node(1).Role.Zone = "z2"
				b.own["g-storage-2"] = func(v *View) {
					v.Layout.Roles = slices.Clone(v.Layout.Roles)
					v.Layout.Roles[0].Zone = "z3"
				}
				return b
			},
			want: expected{gates: []string{"LayoutAgreed: g-storage-2 and g-storage-0 show version 4 with different roles"}},
		},
		"one has the version with a role less": {
			given: func() *bench {
				b := settled(3)
				b.node(1).Role.Zone = "z2"
				b.own["g-storage-2"] = func(v *View) { v.Layout.Roles = v.Layout.Roles[:2] }
				return b
			},
			want: expected{gates: []string{"LayoutAgreed: g-storage-2 and g-storage-0 show version 4 with different roles"}},
		},
		"one has the version with another redundancy": {
			given: func() *bench {
				b := settled(3)
				b.node(1).Role.Zone = "z2"
				b.own["g-storage-2"] = func(v *View) { v.Layout.Redundancy = atLeast2 }
				return b
			},
			want: expected{gates: []string{"LayoutAgreed: g-storage-2 and g-storage-0 show version 4 with different roles"}},
		},
		"one is not connected to another": {
			given: func() *bench {
				b := settled(3)
				b.node(1).Role.Zone = "z2"
				b.own["g-storage-2"] = func(v *View) { v.Status.Nodes[0].Up = false }
				return b
			},
			want: expected{gates: []string{"MembersConnected: g-storage-2 is not connected to g-storage-0"}},
		},
		"one has never heard of a new one": {
			given: func() *bench {
				b := settled(4)
				b.layout.Roles = b.layout.Roles[:3]
				b.own["g-storage-1"] = func(v *View) { v.Status.Nodes = v.Status.Nodes[:3] }
				return b
			},
			want: expected{gates: []string{"MembersConnected: g-storage-1 is not connected to g-storage-3"}},
		},
		"a node of somebody else is down": {
			given: func() *bench {
				b := settled(3)
				b.layout.Roles = append(b.layout.Roles, adminapi.NodeRole{ID: id(9), Role: role("z9", gib)})
				b.node(1).Role.Zone = "z2"
				b.own["g-storage-1"] = func(v *View) { v.Status.Nodes[3].Up = false }
				return b
			},
			want: expected{gates: []string{"MembersConnected: g-storage-1 is not connected to node 0a0a0a0a0a0a0a0a"}},
		},
		"a version is still being taken over": {
			given: func() *bench {
				b := settled(3)
				b.node(1).Role.Zone = "z2"
				b.own["g-storage-1"] = func(v *View) { v.History = moved(3) }
				return b
			},
			want: expected{gates: []string{"LayoutSettled: g-storage-1 sees version 4 still being taken over"}},
		},
		"only the bookkeeping is behind": {
			given: func() *bench {
				b := settled(1)
				b.node(0).Role.Zone = "z2"
				b.history = moved(4)
				return b
			},
			want: expected{does: "Apply 5: the roles of g-storage-0"},
		},
		"the change is staged already": {
			given: func() *bench {
				b := settled(3)
				b.node(1).Role.Zone = "z2"
				b.stage(assigned(b, 1))
				return b
			},
			want: expected{does: "Apply 5: the roles of g-storage-1"},
		},
		"somebody else has staged something": {
			given: func() *bench {
				b := settled(3)
				b.node(1).Role.Zone = "z2"
				b.stage(adminapi.LayoutChange{Roles: []adminapi.RoleChange{adminapi.Remove(id(0))}})
				return b
			},
			want: expected{
				gates: []string{
					"StagingOwn: g-storage-0 has staged by somebody else: node 0101010101010101 without a role; " +
						"g-storage-1 has staged by somebody else: node 0101010101010101 without a role; " +
						"g-storage-2 has staged by somebody else: node 0101010101010101 without a role",
				},
				foreign: []string{"node 0101010101010101 without a role"},
			},
		},
		"and nothing is wanted": {
			given: func() *bench {
				b := settled(2)
				b.stage(adminapi.LayoutChange{Roles: []adminapi.RoleChange{
					adminapi.Assign(id(8), adminapi.Role{Zone: "edge", Capacity: adminapi.Gateway()}), adminapi.Assign(id(7), role("z7", 5)),
				}, Redundancy: &atLeast2})
				return b
			},
			want: expected{
				rests: true,
				gates: []string{
					"StagingOwn: g-storage-0 has staged by somebody else: node 0808080808080808 with 5 bytes in zone z7, node 0909090909090909 as a gateway in zone edge, another zone redundancy; " +
						"g-storage-1 has staged by somebody else: node 0808080808080808 with 5 bytes in zone z7, node 0909090909090909 as a gateway in zone edge, another zone redundancy",
				},
				foreign: []string{"node 0808080808080808 with 5 bytes in zone z7", "node 0909090909090909 as a gateway in zone edge", "another zone redundancy"},
			},
		},
		"on one node alone": {
			given: func() *bench {
				b := settled(2)
				b.node(0).Role.Zone = "z2"
				b.own["g-storage-1"] = func(v *View) { v.Layout.Staged = []adminapi.RoleChange{adminapi.Remove(id(0))} }
				return b
			},
			want: expected{
				gates:   []string{"StagingOwn: g-storage-1 has staged by somebody else: node 0101010101010101 without a role"},
				foreign: []string{"node 0101010101010101 without a role"},
			},
		},
		"our own staging of before is withdrawn": {
			given: func() *bench {
				b := settled(3)
				b.stage(assigned(fresh(4), 3))
				b.Journal = &Journal{Version: 5, Hash: Hash(assigned(fresh(4), 3))}
				return b
			},
			want: expected{rests: true, moves: true, does: "Withdraw 4: what was staged is not wanted any more"},
		},
		"but not while a member does not answer": {
			given: func() *bench {
				b := settled(3)
				b.stage(assigned(fresh(4), 3))
				b.Journal = &Journal{Version: 5, Hash: Hash(assigned(fresh(4), 3))}
				b.silent["g-storage-1"] = "no answer"
				return b
			},
			want: expected{rests: true, gates: []string{"MembersAnswer: g-storage-1: no answer"}},
		},
		"Garage has refused it": {
			given: func() *bench {
				b := settled(3)
				b.node(1).Role.Zone = "z2"
				b.Journal = &Journal{Version: 5, Hash: Hash(assigned(b, 1)), Refused: "too few zones"}
				return b
			},
			want: expected{refused: "too few zones"},
		},
		"Garage has refused another version of it": {
			given: func() *bench {
				b := settled(3)
				b.node(1).Role.Zone = "z2"
				b.Journal = &Journal{Version: 4, Hash: Hash(assigned(b, 1)), Refused: "too few zones"}
				return b
			},
			want: expected{does: "Apply 5: the roles of g-storage-1"},
		},
		"Garage has refused something else": {
			given: func() *bench {
				b := settled(3)
				b.node(1).Role.Zone = "z2"
				b.Journal = &Journal{Version: 5, Hash: Hash(assigned(b, 0)), Refused: "too few zones"}
				return b
			},
			want: expected{does: "Apply 5: the roles of g-storage-1"},
		},
		"the minor versions are mixed": {
			given: func() *bench { b := settled(3); b.node(1).Role.Zone = "z2"; b.Mixed = "g-storage-0 runs 2.3"; return b },
			want:  expected{gates: []string{"OneMinorVersion: g-storage-0 runs 2.3"}},
		},
		"an external node has no view": {
			given: func() *bench {
				b := settled(4)
				b.node(0).External, b.node(3).External = true, true
				b.node(3).Role.Zone = "z2"
				return b
			},
			want: expected{does: "Apply 5: the roles of g-storage-3"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := c.given()
			plan := Decide(b.world())
			got := expected{gates: describeGates(plan.Gates), foreign: plan.Foreign, refused: plan.Refused, rests: !plan.Wanted, moves: !plan.Settled}
			if plan.Action != nil {
				got.does = fmt.Sprintf("%s %d: %s", plan.Action.Kind, plan.Action.Version, plan.Action.For)
			}
			c.want.moves = c.want.moves || len(c.want.gates) > 0 || b.layout.Version == 0
			if len(c.want.gates) == 0 {
				c.want.gates = nil
			}
			if diff := cmp.Diff(c.want, got, cmp.AllowUnexported(expected{})); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// A disk that still grows counts with what the role has, and everything else about the role changes.
func TestRolesOfDisksThatGrow(t *testing.T) {
	b := settled(4)
	b.Patient, b.layout.Roles[0].Capacity = true, adminapi.Gateway()
	for i := range 3 {
		b.node(i).Role.Zone, b.node(i).Role.Capacity = "z2", adminapi.Bytes(2*gib)
	}
	b.node(3).Role.Capacity = adminapi.Bytes(gib / 2)
	want := adminapi.LayoutChange{Roles: []adminapi.RoleChange{
		adminapi.Assign(id(0), role("z2", 2*gib)), adminapi.Assign(id(1), role("z2", gib)), adminapi.Assign(id(2), role("z2", gib)), adminapi.Assign(id(3), role("z1", gib/2)),
	}}
	if plan := Decide(b.world()); plan.Action == nil || !same(plan.Action.Change, want) {
		t.Errorf("%+v", plan.Action)
	}
}

// moved is a history in which nodes still have to take a version over.
func moved(sync uint64) adminapi.LayoutHistory {
	const current = 4
	return adminapi.LayoutHistory{
		CurrentVersion: current, MinAck: current,
		Versions: []adminapi.LayoutVersion{{Version: current, Status: adminapi.Current}, {Version: current - 1, Status: adminapi.Draining}},
		Trackers: map[adminapi.NodeID]adminapi.Tracker{id(0): {Ack: current, Sync: current, SyncAck: current - 1}, id(1): {Ack: current, Sync: sync, SyncAck: current - 1}},
	}
}

// A node that is new shows no layout before it is connected: it must not be the one that is told.
func TestTheWriterIsInTheLayout(t *testing.T) {
	b := settled(3)
	b.Nodes = append([]Node{{Name: "g-new", ID: id(7), Role: role("z1", gib)}}, b.Nodes...)
	b.own["g-new"] = func(v *View) { v.Layout = adminapi.Layout{} }
	if plan := Decide(b.world()); plan.Action != nil || plan.Version != 0 || len(plan.Gates) != 1 || plan.Gates[0].Name != GateAgrees {
		t.Errorf("acts before it has the others' version: %+v", plan)
	}
	b.own["g-new"] = nil
	plan := Decide(b.world())
	if plan.Action == nil || plan.Action.Writer != id(0) || plan.Version != 4 {
		t.Errorf("wrote through %+v", plan.Action)
	}
	b.node(1).External = true
	if plan = Decide(b.world()); plan.Action == nil || plan.Action.Writer != id(1) {
		t.Errorf("wrote through an external node, or not at all: %+v", plan.Action)
	}
}

func TestTheWriterOfTheFirstLayoutIsNotHeld(t *testing.T) {
	b := fresh(3)
	b.node(0).Held, b.Factor = "another disk", 2
	if w := b.world(); w.chooseWriter().Name != "g-storage-1" {
		t.Errorf("writer %+v", w.chooseWriter())
	}
	b.node(0).Held, b.silent["g-storage-0"] = "", "no answer"
	if w := b.world(); w.chooseWriter().Name != "g-storage-1" {
		t.Errorf("writer %+v, which says nothing", w.chooseWriter())
	}
}

func TestAtMost256StorageNodes(t *testing.T) {
	for n, allowed := range map[int]bool{256: true, 257: false} {
		b := settled(0)
		for i := range n {
			b.Nodes = append(b.Nodes, Node{Name: fmt.Sprintf("g-storage-%03d", i), ID: adminapi.NodeID(fmt.Sprintf("%064x", i+1)), Role: role("z1", gib)})
		}
		for _, node := range b.Nodes[:n-1] {
			b.layout.Roles = append(b.layout.Roles, adminapi.NodeRole{ID: node.ID, Role: node.Role})
		}
		b.layout.Roles = append(b.layout.Roles, adminapi.NodeRole{ID: id(254), Role: adminapi.Role{Zone: "edge", Capacity: adminapi.Gateway()}})
		plan := Decide(b.world())
		if (plan.Action != nil) != allowed {
			t.Errorf("%d storage nodes: %+v, %v", n, plan.Action, plan.Gates)
		}
		if !allowed && (len(plan.Gates) != 1 || plan.Gates[0] != (gates.Gate{Name: GateRoom, Why: "the layout would have 257 storage nodes, and Garage takes 256"})) {
			t.Errorf("gates %v", plan.Gates)
		}
	}
}

func TestJournalNamesTheChange(t *testing.T) {
	b := settled(3)
	b.node(1).Role.Zone = "z2"
	before := &Journal{Version: 4, Hash: "old"}
	b.Journal = before
	plan := Decide(b.world())
	if diff := cmp.Diff(&Journal{Version: 5, Hash: Hash(assigned(b, 1))}, plan.Journal); diff != "" {
		t.Errorf("journal (-want +got):\n%s", diff)
	}
	b.silent["g-storage-0"] = "no answer"
	if plan = Decide(b.world()); plan.Journal != before {
		t.Errorf("the journal changes without an action: %+v", plan.Journal)
	}
}

func TestHashIsOfContent(t *testing.T) {
	b := fresh(3)
	if Hash(assigned(b, 0, 1)) != Hash(assigned(b, 1, 0)) {
		t.Error("the order of roles counts")
	}
	change, other := assigned(b, 0), assigned(b, 0)
	other.Redundancy = &adminapi.ZoneRedundancy{}
	b.node(0).Role.Tags = []string{"x"}
	seen := map[string]bool{}
	for _, c := range []adminapi.LayoutChange{change, other, assigned(b, 0), assigned(b, 1), {Roles: []adminapi.RoleChange{adminapi.Remove(id(0))}}} {
		seen[Hash(c)] = true
	}
	if len(seen) != 5 {
		t.Errorf("%d hashes of 5 changes", len(seen))
	}
}

func TestSettled(t *testing.T) {
	for name, c := range map[string]struct {
		history adminapi.LayoutHistory
		want    bool
	}{
		"one version":                    {adminapi.LayoutHistory{CurrentVersion: 3}, true},
		"everybody has given away":       {moved(4), true},
		"one has not":                    {moved(3), false},
		"trackers of nobody say nothing": {adminapi.LayoutHistory{CurrentVersion: 3, Trackers: map[adminapi.NodeID]adminapi.Tracker{}}, false},
	} {
		if got := Settled(c.history); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
