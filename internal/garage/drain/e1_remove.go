package drain

import (
	"fmt"

	"github.com/holdfast-dev/holdfast/internal/garage/layout"
	"github.com/holdfast-dev/holdfast/internal/kit/gates"
	"github.com/holdfast-dev/holdfast/internal/kit/words"
)

// Names of the gates of E1.
const (
	GateServes  = "SourceOutOfService"
	GateRefused = "RemovalAccepted"
	GateShown   = "RemovalShown"
)

// hasRole says that the source has a role in the newest layout. An older one than was seen is that of a member that has not
// heard, and says nothing.
func (p *proof) hasRole() bool { return p.at.Version > p.j.Seen && hasRole(p.at, p.j.ID) }

// remove takes the role away, and says whether that has happened already. Whatever held the beginning holds this too: until
// then nothing has changed. Where the source has got a role again in another version, all begins anew.
func (p *proof) remove() (plan Plan, applied bool) {
	if p.at.Version > 0 && !p.hasRole() && p.at.Version >= p.j.Version {
		return Plan{}, true
	}
	plan.Step = E1
	if p.at.Version >= p.j.Version || p.j.Seen > 0 {
		p.forget()
		p.base()
		p.j.Refused = ""
	}
	plan.Gates = gates.Closed(p, refusals)
	if p.source != nil && p.source.Serves {
		plan.Gates = append(plan.Gates, gates.Gate{Name: GateServes, Why: p.j.Name + " is still in the S3 Service"})
	}
	if p.j.Refused != "" {
		plan.Gates = append(plan.Gates, gates.Gate{Name: GateRefused, Why: p.j.Refused})
	}
	if len(plan.Gates) == 0 {
		plan.Action = &Action{Kind: Remove, Node: p.teller, Change: removal(p.j.ID), Version: p.j.Version, Hash: p.j.Hash}
	}
	return p.finish(plan), false
}

// shown is E1: every member shows the same version without the source, and nothing staged.
func shown(p *proof) sight {
	if why, holds := p.unshown(); holds {
		return sight{gates: []gates.Gate{{Name: GateShown, Why: why}}}
	}
	if roles := hashOf(p.at); p.at.Version != p.j.Seen || roles != p.j.Roles {
		p.forget()
		p.j.Refused = ""
		p.j.Seen, p.j.Roles = p.at.Version, roles
	}
	return sight{}
}

func (p *proof) unshown() (string, bool) {
	if why, holds := silent(p); holds {
		return why, true
	}
	var why []string
	for _, m := range p.members() {
		says, _ := m.Says.Get() // silent holds otherwise
		switch {
		case says.Layout.Version != p.at.Version:
			why = append(why, fmt.Sprintf("%s shows version %d of the layout, and there is version %d", m.Name, says.Layout.Version, p.at.Version))
		case !layout.SameRoles(says.Layout, p.at):
			why = append(why, fmt.Sprintf("%s shows version %d with other roles", m.Name, p.at.Version))
		case !nothing(staged(says.Layout)):
			why = append(why, m.Name+" has something staged")
		}
	}
	return words.Reasons(why), len(why) > 0
}
