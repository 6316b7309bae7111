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
func (p *proof) cancel() Plan {
	plan := Plan{Step: EC}
	plan.Gates = gates.Closed(p, wayBack)
	gone := p.at.Version > 0 && !hasRole(p.at, p.j.ID)
	if gone || p.j.Cancelled {
		p.forget()
		p.j.Cancelled, p.j.CompletedAt = true, time.Time{}
	}
	change := removal(p.j.ID)
	if gone {
		change = adminapi.LayoutChange{Roles: []adminapi.RoleChange{adminapi.Assign(p.j.ID, p.j.Role)}}
	}
	if why, holds := foreign(p, change); holds && (gone || p.oursIsStaged()) { // what we staged has company
		plan.Gates = append(plan.Gates, gates.Gate{Name: GateStaging, Why: why})
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

// oursIsStaged says that some member shows our removal among what is staged.
func (p *proof) oursIsStaged() bool {
	ours := adminapi.Remove(p.j.ID)
	return slices.ContainsFunc(p.Members, func(m Member) bool {
		says, known := m.Says.Get()
		return known && slices.ContainsFunc(says.Layout.Staged, ours.Equal)
	})
}
