package layout

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast/internal/garage/adminapi"
	"github.com/holdfast-dev/holdfast/internal/kit/outcome"
)

// theirs is what somebody else has staged.
var theirs = adminapi.LayoutChange{Roles: []adminapi.RoleChange{adminapi.Remove(id(1))}}

// losing are four nodes of which the last has left the layout and is down, while a version before it is still active.
func losing() *bench {
	b := settled(4)
	b.layout.Roles = b.layout.Roles[:3]
	b.node(3).Held = "it is taken away"
	b.history = moved(4)
	b.history.Trackers = map[adminapi.NodeID]adminapi.Tracker{
		id(0): {Ack: 4, Sync: 3, SyncAck: 3}, id(1): {Ack: 4, Sync: 4, SyncAck: 3}, id(2): {Ack: 4, Sync: 4, SyncAck: 3}, id(3): {Ack: 3, Sync: 3, SyncAck: 3},
	}
	b.down(3)
	return b
}

// down has a node say nothing, and all others not see it.
func (b *bench) down(i int) {
	b.silent[b.node(i).Name] = "no answer"
	for j := range b.Nodes {
		name, was := b.node(j).Name, b.own[b.node(j).Name]
		b.own[name] = func(v *View) {
			if was != nil {
				was(v)
			}
			for k := range v.Status.Nodes {
				if v.Status.Nodes[k].ID == id(i) {
					v.Status.Nodes[k].Up = false
				}
			}
		}
	}
}

// sees changes what one node says, after all else.
func (b *bench) sees(i int, do func(*View)) {
	was := b.own[b.node(i).Name]
	b.own[b.node(i).Name] = func(v *View) {
		if was != nil {
			was(v)
		}
		do(v)
	}
}

func TestJudge(t *testing.T) {
	const (
		anyway = "; a person who knows that it does not may set garage.rajsingh.info/allow-missing-data to the layout's version as well"
		nodes  = "it is not the nodes any more that were to be skipped"
	)
	for name, c := range map[string]struct {
		given func() *bench
		order Order
		// want is Refused, "done", or what is done once it is taken up; empty for nothing then.
		want string
		// later is the verdict for one that was taken up for something else.
		later string
	}{
		"nobody answers": {
			given: func() *bench { b := settled(1); b.silent["g-storage-0"] = "no answer"; return b },
			order: Order{Kind: OrderRevert}, want: "no node answers", later: "waits",
		},

		"what somebody has staged is dropped": {
			given: func() *bench { b := settled(3); b.stage(theirs); return b }, order: Order{Kind: OrderRevert},
			want: "Withdraw 4: what was staged is not wanted any more", later: "what is staged is not what was to be dropped any more: node 0202020202020202 without a role",
		},
		"nothing is staged": {given: func() *bench { return settled(3) }, order: Order{Kind: OrderRevert}, want: "done", later: "done"},
		"what the spec asks for would be staged again": {
			given: func() *bench { b := grown(); b.stage(assigned(b, 3)); return b }, order: Order{Kind: OrderRevert},
			want: "what is staged is what the spec asks for, and would be staged again", later: "what is staged is what the spec asks for, and would be staged again",
		},
		"a member that is silent may show something else": {
			given: func() *bench { b := settled(3); b.stage(theirs); b.silent["g-storage-2"] = "no answer"; return b }, order: Order{Kind: OrderRevert},
			want: "g-storage-2: no answer", later: "waits",
		},

		"the first layout without those that are still to come": {
			given: func() *bench { b := fresh(4); b.node(3).ID, b.silent["g-storage-3"] = "", "no Pod"; return b }, order: Order{Kind: OrderForce},
			want: "Apply 1: the first layout, of g-storage-0, g-storage-1, g-storage-2", later: "it is not the nodes any more of which the layout was to be made",
		},
		"or are held": {
			given: func() *bench { b := fresh(4); b.node(1).Held = "another disk"; return b }, order: Order{Kind: OrderForce},
			want: "Apply 1: the first layout, of g-storage-0, g-storage-2, g-storage-3", later: "it is not the nodes any more of which the layout was to be made",
		},
		"not of fewer than copies": {
			given: func() *bench { b := fresh(3); b.node(1).Held = "another disk"; return b }, order: Order{Kind: OrderForce},
			want: "2 nodes are fewer than the replication factor of 3", later: "waits",
		},
		"not past what somebody has staged": {
			given: func() *bench {
				b := fresh(3)
				b.own["g-storage-1"] = func(v *View) { v.Layout.Staged = theirs.Roles }
				return b
			}, order: Order{Kind: OrderForce},
			want: "g-storage-1 has staged by somebody else: node 0202020202020202 without a role", later: "waits",
		},
		"not what Garage has refused": {
			given: func() *bench {
				b := fresh(3)
				b.Journal = &Journal{Version: 1, Hash: Hash(assigned(b, 0, 1, 2)), Refused: "too few zones"}
				return b
			},
			order: Order{Kind: OrderForce}, want: "too few zones", later: "too few zones",
		},
		"not where there is one": {
			given: func() *bench { return settled(3) }, order: Order{Kind: OrderForce},
			want: "there is a layout already, and only the first one waits for nodes that are still to come", later: "done",
		},

		"a node that is down and cannot come back is skipped": {
			given: losing, order: Order{Kind: OrderSkip}, want: "Skip 4: it goes on without the word of 0404040404040404", later: nodes,
		},
		"and all, if data may be missing": {
			given: losing, order: Order{Kind: OrderSkip, AllowMissing: 4}, want: "Skip 4 missing: it goes on without the word of 0101010101010101, 0404040404040404", later: nodes,
		},
		"not for another version": {
			given: losing, order: Order{Kind: OrderSkip, AllowMissing: 3}, want: "data may be missing for version 3, and the layout's is 4",
			later: "data may be missing for version 3, and the layout's is 4",
		},
		"not where nobody is waited for": {given: func() *bench { return settled(3) }, order: Order{Kind: OrderSkip}, want: "the layout waits for no node that is down", later: "done"},
		"not where only those are late that are up": {
			given: func() *bench { b := settled(3); b.history = moved(3); return b }, order: Order{Kind: OrderSkip}, want: "the layout waits for no node that is down", later: "done",
		},
		"not where the one that is down is as far as the others": {
			given: func() *bench {
				b := losing()
				b.history.Trackers[id(3)] = adminapi.Tracker{Ack: 4, Sync: 3, SyncAck: 3}
				return b
			},
			order: Order{Kind: OrderSkip}, want: "the layout waits for no node that is down", later: "done",
		},
		"unless data may be missing": {
			given: func() *bench {
				b := losing()
				b.history.Trackers[id(3)] = adminapi.Tracker{Ack: 4, Sync: 4, SyncAck: 3}
				return b
			},
			order: Order{Kind: OrderSkip, AllowMissing: 4}, want: "Skip 4 missing: it goes on without the word of 0101010101010101", later: nodes,
		},
		"not one that could come back": {
			given: func() *bench { b := losing(); b.node(3).Returns = "its Pod is there"; return b }, order: Order{Kind: OrderSkip},
			want: "g-storage-3 could come back: its Pod is there" + anyway, later: "waits",
		},
		"but with a person's word": {
			given: func() *bench { b := losing(); b.node(3).Returns = "its Pod is there"; return b }, order: Order{Kind: OrderSkip, AllowMissing: 4},
			want: "Skip 4 missing: it goes on without the word of 0101010101010101, 0404040404040404", later: nodes,
		},
		"not one of the current layout": {
			given: func() *bench {
				b := settled(4)
				b.history = losing().history
				b.down(3)
				return b
			},
			order: Order{Kind: OrderSkip},
			want:  "g-storage-3 is in the layout that is current, which waits for it whoever is skipped: its role has to go first" + anyway, later: "waits",
		},
		"one that no GarageNode is about": {
			given: func() *bench { b := losing(); b.Nodes = b.Nodes[:3]; return b }, order: Order{Kind: OrderSkip},
			want: "Skip 4: it goes on without the word of 0404040404040404", later: nodes,
		},
		"not one that some member sees": {
			given: func() *bench {
				b := losing()
				b.sees(2, func(v *View) { v.Status.Nodes[3].Up = true })
				return b
			},
			order: Order{Kind: OrderSkip}, want: "g-storage-2 sees g-storage-3, which g-storage-0 does not", later: "waits",
		},
		"not one that answers": {
			given: func() *bench { b := losing(); delete(b.silent, "g-storage-3"); return b }, order: Order{Kind: OrderSkip},
			want: "g-storage-3 answers, and the others do not see it", later: "waits",
		},
		"not while a member is silent": {
			given: func() *bench { b := losing(); b.silent["g-storage-1"] = "no answer"; return b }, order: Order{Kind: OrderSkip, AllowMissing: 4},
			want: "g-storage-1: no answer", later: "waits",
		},
		"whoever is to come": {
			given: func() *bench {
				b := losing()
				b.Nodes = append(b.Nodes, Node{Name: "g-new", ID: id(7), Role: role("z1", gib), Held: "later"}, Node{Name: "g-far", ID: id(8), External: true, Held: "later"})
				b.silent["g-new"] = "no answer"
				return b
			},
			order: Order{Kind: OrderSkip}, want: "Skip 4: it goes on without the word of 0404040404040404", later: nodes,
		},
		"not while members show different versions": {
			given: func() *bench { b := losing(); b.sees(1, func(v *View) { v.Layout.Version = 3 }); return b }, order: Order{Kind: OrderSkip},
			want: "g-storage-1 and g-storage-0 show different layouts", later: "waits",
		},
		"or different roles": {
			given: func() *bench {
				b := losing()
				b.sees(1, func(v *View) { v.Layout.Roles = v.Layout.Roles[1:] })
				return b
			}, order: Order{Kind: OrderSkip},
			want: "g-storage-1 and g-storage-0 show different layouts", later: "waits",
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := c.given().world()
			if got := judge(w, c.order, ""); got != c.want {
				t.Errorf("%s\nwant\n%s", got, c.want)
			}
			if got := judge(w, c.order, "another"); got != c.later {
				t.Errorf("one that was taken up: %s\nwant\n%s", got, c.later)
			}
		})
	}
}

// judge is the verdict on an order, or what comes of it.
func judge(w World, order Order, hash string) string {
	order.Hash = hash
	w.Order = &order
	verdict := Judge(w)
	switch {
	case verdict.Refused != "":
		return verdict.Refused
	case verdict.Done:
		return "done"
	case hash != "":
		ordered := did(Decide(w))
		w.Order = nil
		if alone := did(Decide(w)); alone != ordered {
			return ordered
		}
		return "waits"
	}
	return did(Decide(taken(w, verdict.Hash)))
}

// taken is the World with the order taken up for what has that hash.
func taken(w World, hash string) World {
	order := *w.Order
	order.Hash = hash
	w.Order = &order
	return w
}

func did(plan Plan) string {
	if plan.Action == nil {
		return ""
	}
	missing := ""
	if plan.Action.AllowMissing {
		missing = " missing"
	}
	return string(plan.Action.Kind) + " " + string('0'+rune(plan.Action.Version)) + missing + ": " + plan.Action.For
}

// Nothing comes of an order that was not taken up, of another kind, or taken up for something else.
func TestOrdersNeedTheirHash(t *testing.T) {
	staged := settled(3)
	staged.stage(theirs)
	waiting := fresh(4)
	waiting.node(3).Held = "another disk"
	for kind, b := range map[OrderKind]*bench{OrderRevert: staged, OrderForce: waiting, OrderSkip: losing()} {
		w := b.world()
		w.Order = &Order{Kind: kind}
		hash := Judge(w).Hash
		if did(Decide(taken(w, hash))) == "" {
			t.Fatalf("%s does nothing", kind)
		}
		for _, order := range []*Order{nil, {Kind: kind}, {Kind: kind, Hash: "another"}, {Kind: "other", Hash: hash}} {
			w.Order = order
			if got := did(Decide(w)); got != "" {
				t.Errorf("%s with %+v: %s", kind, order, got)
			}
		}
	}
}

func TestActSkips(t *testing.T) {
	for name, c := range map[string]struct {
		given func(*writer)
		calls string
	}{
		"those that it was decided on": {func(*writer) {}, "Skip 4 true"},
		"not when one more is down":    {func(w *writer) { w.b.history.Trackers[id(7)] = adminapi.Tracker{Ack: 3} }, ""},
		"not when one is back":         {func(w *writer) { delete(w.b.silent, "g-storage-3") }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := &writer{b: losing(), meanwhile: map[string]func(){}}
			w.b.Order = &Order{Kind: OrderSkip, AllowMissing: 4}
			w.b.Order.Hash = Judge(w.b.world()).Hash
			action := Decide(w.b.world()).Action
			c.given(w)
			out, err := w.act(t, *action)
			if diff := cmp.Diff(c.calls, strings.Join(w.calls, " ")); diff != "" || err != nil {
				t.Errorf("calls (-want +got): %v\n%s", err, diff)
			}
			if (out.Kind() == outcome.KindRetry) != (c.calls == "") {
				t.Errorf("outcome %v", out)
			}
		})
	}
}

func TestActDropsOnOrder(t *testing.T) {
	w := &writer{b: settled(3), meanwhile: map[string]func(){}}
	w.b.stage(theirs)
	w.b.Order = &Order{Kind: OrderRevert, Hash: Hash(theirs)}
	if _, err := w.act(t, *Decide(w.b.world()).Action); err != nil || strings.Join(w.calls, " ") != "Get Revert" || len(w.b.layout.Staged) != 0 {
		t.Errorf("%v: %v", w.calls, err)
	}
}
