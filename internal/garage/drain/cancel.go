package drain

import (
	"slices"
	"time"

	"github.com/holdfast-dev/holdfast/internal/garage/adminapi"
	"github.com/holdfast-dev/holdfast/internal/garage/layout"
	"github.com/holdfast-dev/holdfast/internal/kit/gates"
)

// wayBack is what has to be so before the layout is touched on the way back.
var wayBack = []gates.Check[*proof]{
	{Name: GateAnswers, Holds: silent},
	{Name: GateSettled, Holds: moving},
}

// cancel closes a drain that nobody asks for any more. Before the removal was applied our own staging is dropped, and no other.
// Afterwards what was seen is dropped, and the role is given back in a version of its own. A drain that has begun to go back
// goes back to the end, whatever is asked for meanwhile.
//
// Before the role is given back the destinations have copied what they are to have (E4). A source that has given its rows away
// deletes its blocks some time later; with a role it may be the only one that it asks, and its rows come back after that.
func (p *proof) cancel() Plan {
	plan := Plan{Step: EC}
	plan.Gates = gates.Closed(p, wayBack)
	gone := p.at.Version > 0 && !hasRole(p.at, p.j.ID)
	if gone || p.j.Cancelled {
		p.turnBack()
	}
	change := p.undo(gone)
	if why, holds := foreign(p, change); holds && (gone || p.oursIsStaged()) { // what we staged has company
		plan.Gates = append(plan.Gates, gates.Gate{Name: GateStaging, Why: why})
	}
	if gone && len(plan.Gates) == 0 {
		seen := copied(p)
		plan.Gates, plan.Action = seen.gates, seen.action
	}
	switch {
	case len(plan.Gates) > 0:
	case gone:
		plan.Action = &Action{Kind: GiveBack, Node: p.teller, Change: change, Version: p.at.Version + 1, Hash: layout.Hash(change)}
	case p.oursIsStaged():
		plan.Action = &Action{Kind: Withdraw, Node: p.teller, Version: p.at.Version, Hash: p.j.Hash}
	default:
		return Plan{}
	}
	return p.finish(plan)
}

// undo is the change that may be staged on the way back: the removal before it was applied, and the role after.
func (p *proof) undo(gone bool) adminapi.LayoutChange {
	if gone {
		return adminapi.LayoutChange{Roles: []adminapi.RoleChange{adminapi.Assign(p.j.ID, p.j.Role)}}
	}
	return removal(p.j.ID)
}

// turnBack drops what was seen, except for what the destinations have copied.
func (p *proof) turnBack() {
	copies := p.j.Copies
	p.forget()
	p.j.Copies, p.j.Cancelled, p.j.CompletedAt = copies, true, time.Time{}
}

// oursIsStaged says that some member shows our removal among what is staged.
func (p *proof) oursIsStaged() bool {
	ours := adminapi.Remove(p.j.ID)
	return slices.ContainsFunc(p.Members, func(m Member) bool {
		says, known := m.Says.Get()
		return known && slices.ContainsFunc(says.Layout.Staged, ours.Equal)
	})
}
