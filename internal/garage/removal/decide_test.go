package removal

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/holdfast-dev/holdfast/internal/garage/adminapi"
	"github.com/holdfast-dev/holdfast/internal/kit/fact"
)

func id(c string) adminapi.NodeID { return adminapi.NodeID(strings.Repeat(c, 64)) }

// layoutOf is a layout with those nodes, whose roles are GarageCluster u's.
func layoutOf(ids ...string) fact.Fact[adminapi.Layout] {
	layout := adminapi.Layout{Version: 2}
	for _, c := range ids {
		layout.Roles = append(layout.Roles, adminapi.NodeRole{ID: id(c), Role: adminapi.Role{Tags: []string{"cluster-uid:u"}}})
	}
	return fact.Known(layout)
}

// store is a GarageCluster u with two members, a and b, that run and are held as they should be.
func store(change func(w *World)) World {
	w := World{Cluster: &Cluster{UID: "u", Guarded: true}}
	for _, c := range []string{"a", "b"} {
		w.Nodes = append(w.Nodes, Node{
			Name: c, Ours: true, Guarded: true, ID: id(c), EverInLayout: true, Says: layoutOf("a", "b"), HasStatefulSet: true, HasPod: true,
			Claims: []Claim{{Name: "data-" + c, Guarded: true, Recorded: true, Store: "u"}, {Name: "metadata-" + c, Guarded: true, Recorded: true, Store: "u"}},
		})
	}
	if change != nil {
		change(&w)
	}
	return w
}

// drop is the second member on its way out, with a layout that does not have it.
func drop(change func(w *World, b *Node)) World {
	return store(func(w *World) {
		w.Nodes[1].Deleting = true
		for i := range w.Nodes {
			w.Nodes[i].Says = layoutOf("a")
		}
		change(w, &w.Nodes[1])
	})
}

const (
	inLayout = "it has its role in the layout, and what it holds may be nowhere else: it goes on running, and goes once it is drained: kubectl annotate garagenode b garage.rajsingh.info/drain=true"
	unproved = "it has had a role in the layout, and nothing shows that what it holds is on the other nodes: it goes on running, and goes once it is drained: kubectl annotate garagenode b garage.rajsingh.info/drain=true"
	noName   = "it has not said who it is, its disk was there before, and the layout has a role of a node that nobody is: it goes once it has said so, or that role is gone"
	silent   = "whether it has a role in the layout is not known: a: no answer"
)

func TestDecide(t *testing.T) {
	held := func(why string) Plan { return Plan{Held: map[string]string{"b": why}} }
	does := func(kind Kind, names ...string) Plan {
		names = append(names, "", "")
		return Plan{Action: &Action{Kind: kind, Node: names[0], Claim: names[1]}}
	}
	proved := func(_ *World, b *Node) { b.Proof = id("b") }
	never := func(_ *World, b *Node) { b.EverInLayout = false }
	stopped := func(b *Node) { b.HasStatefulSet, b.HasPod = false, false }
	unknown := fact.Unknown[adminapi.Layout]("no answer")
	for name, c := range map[string]struct {
		world World
		want  Plan
	}{
		"a store at rest": {world: store(nil)},
		"the GarageCluster is held first": {
			world: store(func(w *World) { w.Cluster.Guarded = false }), want: Plan{Guards: []Guard{{}}},
		},
		"a new node, its claims, and a claim of a store that was": {
			world: store(func(w *World) {
				b := &w.Nodes[1]
				b.Guarded, b.Says = false, unknown
				b.Claims = []Claim{{Name: "data-b"}, {Name: "metadata-b", Store: "was"}}
			}),
			want: Plan{Guards: []Guard{{Node: "b"}, {Node: "b", Claim: "data-b", Store: "u"}, {Node: "b", Claim: "metadata-b", Store: "was"}}},
		},
		"a claim is this store's once its role is": {
			world: store(func(w *World) { w.Nodes[1].Claims[0].Store = "was" }),
			want:  Plan{Guards: []Guard{{Node: "b", Claim: "data-b", Store: "u"}}},
		},
		"not while the role is another one's": {
			world: store(func(w *World) {
				w.Nodes[1].Claims[0].Store = "was"
				w.Nodes[1].Says = fact.Known(adminapi.Layout{Roles: []adminapi.NodeRole{{ID: id("b"), Role: adminapi.Role{Tags: []string{"cluster-uid:was"}}}}})
			}),
		},
		"nor by the role of somebody else": {
			world: store(func(w *World) { w.Nodes[1].Claims[0].Store, w.Nodes[1].Says = "was", layoutOf("a") }),
		},
		"a claim that goes is not held anew": {
			world: store(func(w *World) { w.Nodes[1].Claims[0].Guarded, w.Nodes[1].Claims[0].Deleting = false, true }),
		},
		"a member is held": {
			world: store(func(w *World) { w.Nodes[1].Deleting = true }), want: held(inLayout),
		},
		"a member that was marked by hand, too": {
			world: store(func(w *World) { w.Nodes[1].Deleting, w.Nodes[1].Marked = true, true }), want: held(inLayout),
		},
		"even with a proof while one still shows its role": {
			world: drop(func(w *World, b *Node) { b.Proof, w.Nodes[0].Says = id("b"), layoutOf("a", "b") }), want: held(inLayout),
		},
		"or shows it itself": {
			world: drop(func(_ *World, b *Node) { b.Proof, b.Says = id("b"), layoutOf("a", "b") }), want: held(inLayout),
		},
		"and while a member is silent": {
			world: drop(func(w *World, b *Node) { b.Proof, w.Nodes[0].Says = id("b"), unknown }), want: held(silent),
		},
		"without a role it is held without a proof": {world: drop(func(*World, *Node) {}), want: held(unproved)},
		"and with that of another identity":         {world: drop(func(_ *World, b *Node) { b.Proof = id("c") }), want: held(unproved)},
		"no identity is no proof of none":           {world: drop(func(_ *World, b *Node) { b.ID = "" }), want: held(unproved)},
		"with a proof it is stopped":                {world: drop(proved), want: does(Stop, "b")},
		"whether it answers or not": {
			world: drop(func(_ *World, b *Node) { b.Proof, b.Says = id("b"), unknown }), want: does(Stop, "b"),
		},
		"an external one has nothing to say": {
			world: drop(func(w *World, b *Node) {
				b.Proof = id("b")
				w.Nodes = append(w.Nodes, Node{Name: "c", External: true, Guarded: true, EverInLayout: true, ID: id("c"), Says: unknown})
			}), want: does(Stop, "b"),
		},
		"nor has one that never had a role": {
			world: drop(func(w *World, b *Node) {
				b.Proof = id("b")
				w.Nodes = append(w.Nodes, Node{Name: "c", Guarded: true, ID: id("c"), Says: unknown})
			}), want: does(Stop, "b"),
		},
		"then its Pod is waited for": {
			world: drop(func(_ *World, b *Node) { b.Proof, b.HasStatefulSet = id("b"), false }),
			want:  Plan{Waits: []string{"the Pod of b stops"}},
		},
		"then its claims are let go": {
			world: drop(func(w *World, b *Node) { proved(w, b); stopped(b) }), want: does(FreeClaim, "b", "data-b"),
		},
		"the second, too": {
			world: drop(func(w *World, b *Node) { proved(w, b); stopped(b); b.Claims[0].Guarded = false }), want: does(FreeClaim, "b", "metadata-b"),
		},
		"or deleted": {
			world: drop(func(w *World, b *Node) { proved(w, b); stopped(b); b.DropClaims = true }), want: does(DropClaim, "b", "data-b"),
		},
		"and then let go": {
			world: drop(func(w *World, b *Node) { proved(w, b); stopped(b); b.DropClaims, b.Claims[0].Deleting = true, true }),
			want:  does(FreeClaim, "b", "data-b"),
		},
		"but not one of the name that is another": {
			world: drop(func(w *World, b *Node) { proved(w, b); stopped(b); b.DropClaims, b.Claims[0].Recorded = true, false }),
			want:  does(FreeClaim, "b", "data-b"),
		},
		"one that was there before is, since it was drained": {
			world: drop(func(w *World, b *Node) { proved(w, b); stopped(b); b.DropClaims, b.Claims[0].Older = true, true }),
			want:  does(DropClaim, "b", "data-b"),
		},
		"then it goes": {
			world: drop(func(w *World, b *Node) { proved(w, b); stopped(b); b.Claims = nil }), want: does(FreeNode, "b"),
		},
		"one that never had a role goes": {world: drop(never), want: does(Stop, "b")},
		"its claims, too, where that is asked for": {
			world: drop(func(w *World, b *Node) { never(w, b); stopped(b); b.DropClaims = true }), want: does(DropClaim, "b", "data-b"),
		},
		"but none that was there before": {
			world: drop(func(w *World, b *Node) { never(w, b); stopped(b); b.DropClaims, b.Claims[0].Older = true, true }),
			want:  does(FreeClaim, "b", "data-b"),
		},
		"without a name, and with a new disk, it goes": {
			world: drop(func(w *World, b *Node) { never(w, b); b.ID, b.Says, w.Nodes[0].Says = "", unknown, layoutOf("a", "x") }),
			want:  does(Stop, "b"),
		},
		"with a disk of before it may be the one that nobody is": {
			world: drop(func(w *World, b *Node) {
				never(w, b)
				b.ID, b.Says, w.Nodes[0].Says, b.Claims[1].Older = "", unknown, layoutOf("a", "x"), true
			}),
			want: held(noName),
		},
		"or with a user's": {
			world: drop(func(w *World, b *Node) {
				never(w, b)
				b.ID, b.Says, w.Nodes[0].Says, b.Brought = "", unknown, layoutOf("a", "x"), true
			}),
			want: held(noName),
		},
		"unless every role is somebody's": {
			world: drop(func(w *World, b *Node) { never(w, b); b.ID, b.Says, b.Brought = "", unknown, true }), want: does(Stop, "b"),
		},
		"what nobody holds goes by itself": {
			world: store(func(w *World) { w.Nodes[1].Deleting, w.Nodes[1].Guarded = true, false }),
		},
	} {
		if diff := cmp.Diff(c.want, Decide(c.world), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestWholeStore holds how a GarageCluster ends: what each step leaves is where the next one begins.
func TestWholeStore(t *testing.T) {
	w := store(func(w *World) {
		w.Cluster.Deleting = true
		w.Nodes[0].DropClaims = true
		w.Nodes[1].Ours = false // a user's
		w.Nodes[1].Claims = w.Nodes[1].Claims[:1]
	})
	var steps []string
	for range 40 {
		plan := Decide(w)
		if len(plan.Guards)+len(plan.Held) > 0 {
			t.Fatalf("%+v", plan)
		}
		if len(plan.Waits) > 0 {
			steps = append(steps, plan.Waiting())
			for i := range w.Nodes {
				w.Nodes[i].HasPod = w.Nodes[i].HasPod && w.Nodes[i].HasStatefulSet
			}
		}
		if plan.Action == nil {
			continue
		}
		steps = append(steps, strings.TrimSpace(strings.Join([]string{string(plan.Action.Kind), plan.Action.Node, plan.Action.Claim}, " ")))
		if plan.Action.Kind == FreeCluster {
			break
		}
		carryOut(&w, *plan.Action)
	}
	want := []string{
		"Mark a", "DeleteNode a", "Stop a", "the Pod of a stops", "Mark b", "DropClaim a data-a", "FreeClaim a data-a", "DropClaim a metadata-a",
		"FreeClaim a metadata-a", "FreeNode a", "Stop b", "the Pod of b stops", "FreeClaim b data-b", "FreeCluster",
	}
	if diff := cmp.Diff(want, steps); diff != "" {
		t.Errorf("steps (-want +got):\n%s", diff)
	}
	if len(w.Nodes) != 1 || w.Nodes[0].Deleting || !w.Nodes[0].Guarded {
		t.Errorf("the user's GarageNode is not as it was: %+v", w.Nodes)
	}
}

// TestClaimsOfBefore holds which claims outlive a GarageCluster that wants its own deleted: those that came with what is on them.
func TestClaimsOfBefore(t *testing.T) {
	for name, c := range map[string]struct {
		change func(b *Node)
		want   Kind
	}{
		"it had its role from this one":     {func(*Node) {}, DropClaim},
		"it had none":                       {func(b *Node) { b.EverInLayout = false }, FreeClaim},
		"it had its role from one before":   {func(b *Node) { b.Claims[0].Store = "was" }, FreeClaim},
		"it was made for the node":          {func(b *Node) { b.EverInLayout, b.Claims[0].Older = false, false }, DropClaim},
		"what it holds is proved to remain": {func(b *Node) { b.Claims[0].Store, b.Proof = "was", b.ID }, DropClaim},
	} {
		w := store(func(w *World) {
			w.Cluster.Deleting, w.Nodes = true, w.Nodes[1:]
			b := &w.Nodes[0]
			b.Marked, b.Deleting, b.HasStatefulSet, b.HasPod, b.DropClaims, b.Claims[0].Older = true, true, false, false, true, true
			c.change(b)
		})
		if plan := Decide(w); plan.Action == nil || *plan.Action != (Action{Kind: c.want, Node: "b", Claim: "data-b"}) {
			t.Errorf("%s: %+v, want %s", name, plan.Action, c.want)
		}
	}
}

// carryOut does to the World what the action would.
func carryOut(w *World, action Action) {
	for i := range w.Nodes {
		node := &w.Nodes[i]
		if node.Name != action.Node {
			continue
		}
		for j := range node.Claims {
			if node.Claims[j].Name == action.Claim {
				node.Claims[j].Deleting = node.Claims[j].Deleting || action.Kind == DropClaim
				node.Claims[j].Guarded = node.Claims[j].Guarded && action.Kind != FreeClaim
			}
		}
		node.Marked = node.Marked || action.Kind == Mark
		node.Deleting = node.Deleting || action.Kind == DeleteNode
		node.HasStatefulSet = node.HasStatefulSet && action.Kind != Stop
		if action.Kind == FreeNode {
			w.Nodes = append(w.Nodes[:i:i], w.Nodes[i+1:]...)
			return
		}
	}
}

// TestLeft holds what becomes of nodes whose GarageCluster is gone.
func TestLeft(t *testing.T) {
	gone := func(change func(b *Node)) World {
		return store(func(w *World) {
			w.Cluster, w.Nodes = nil, w.Nodes[1:]
			w.Nodes[0].Ours, w.Nodes[0].Left, w.Nodes[0].Marked = false, true, true
			change(&w.Nodes[0])
		})
	}
	there := func(change func(b *Node)) World {
		w := gone(change)
		w.Cluster = &Cluster{UID: "new", Guarded: true}
		return w
	}
	for name, c := range map[string]struct {
		world World
		want  *Action
	}{
		"it is marked":                            {world: gone(func(b *Node) { b.Marked = false }), want: &Action{Kind: Mark, Node: "b"}},
		"and runs on":                             {world: gone(func(*Node) {})},
		"a user's, too":                           {world: gone(func(b *Node) { b.Left = false })},
		"deleted, it is stopped":                  {world: gone(func(b *Node) { b.Deleting = true }), want: &Action{Kind: Stop, Node: "b"}},
		"there is another one: it is marked":      {world: there(func(b *Node) { b.Marked = false }), want: &Action{Kind: Mark, Node: "b"}},
		"there is another one: it runs on":        {world: there(func(*Node) {})},
		"there is another one, and it is deleted": {world: there(func(b *Node) { b.Deleting = true }), want: &Action{Kind: Stop, Node: "b"}},
	} {
		plan := Decide(c.world)
		if diff := cmp.Diff(Plan{Action: c.want}, plan, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	stopped := there(func(b *Node) { b.Deleting, b.DropClaims, b.HasStatefulSet, b.HasPod = true, true, false, false })
	if plan := Decide(stopped); plan.Action == nil || plan.Action.Kind != FreeClaim {
		t.Errorf("a GarageCluster says what becomes of the claims of one that was before: %+v", plan.Action)
	}
	ends := store(func(w *World) {
		w.Cluster = &Cluster{UID: "u", Deleting: true, Guarded: true}
		for i := range w.Nodes {
			w.Nodes[i].Ours, w.Nodes[i].Left, w.Nodes[i].Marked = false, true, true
		}
	})
	if plan := Decide(ends); plan.Action == nil || plan.Action.Kind != FreeCluster {
		t.Errorf("a GarageCluster waits for nodes of one that was before: %+v", plan)
	}
	ends.Cluster.Guarded = false
	if plan := Decide(ends); plan.Action != nil {
		t.Errorf("a finalizer that is not there is taken off: %+v", plan.Action)
	}
}
