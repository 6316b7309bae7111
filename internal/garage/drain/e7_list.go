package drain

import (
	"fmt"
	"time"

	"github.com/holdfast-dev/holdfast/internal/garage/adminapi"
	"github.com/holdfast-dev/holdfast/internal/kit/gates"
)

// Names of the gates of E7.
const (
	GateListed = "DirectoriesEmpty"
	// GateFiles holds until a person has looked: blocks lie there that no reference and no queue knows.
	GateFiles = "FilesWithoutReferences"
)

// look is how often the directories are listed while it is for a person to act.
const look = 10 * time.Minute

// listed is E7: no block lies in any directory that the source has ever had. Where some are left, the references are counted
// anew once, and the clock begins anew.
func listed(p *proof) sight {
	found, seen := p.list(GateListed, &p.j.Listed)
	switch {
	case !seen.passed() || found.Blocks == 0:
		return seen
	case p.j.Recount != nil && !p.j.Recount.DoneAt.IsZero():
		why := fmt.Sprintf("blocks lie on the disks of %s that nothing refers to: look at them, and move them away", p.j.Name)
		if p.now.Sub(p.j.Listed.At) >= look {
			p.j.Listed = nil // listed anew in the next pass: somebody may have looked
		}
		return sight{gates: []gates.Gate{{Name: GateFiles, Why: why}}}
	}
	return p.recount()
}

// list has the directories listed, and finds what came of it. Garage is asked who it is at the same time: a listing under
// another life of the process does not count.
func (p *proof) list(gate string, order **Listed) (Listing, sight) {
	hold := func(why string) sight { return sight{gates: []gates.Gate{{Name: gate, Why: why}}} }
	if _, answers := p.saysSource(); !answers {
		return Listing{}, hold(p.sourceUnknown())
	}
	if *order == nil || (*order).Life != p.source.Life {
		*order = &Listed{Token: fmt.Sprintf("%.16s-%d", p.j.ID, p.now.Unix()), At: p.now, Life: p.source.Life}
	}
	if (*order).Empty {
		return Listing{Token: (*order).Token}, sight{}
	}
	listing, known := p.Listing.Get()
	if known && listing.Token == (*order).Token {
		if listing.Failed == "" {
			came := **order
			came.Empty = listing.Blocks == 0
			*order = &came
			return listing, sight{}
		}
		if p.now.Sub((*order).At) < again {
			return Listing{}, hold("the directories could not be listed: " + listing.Failed)
		}
		*order = &Listed{Token: fmt.Sprintf("%.16s-%d", p.j.ID, p.now.Unix()), At: p.now, Life: p.source.Life}
	}
	seen := hold("the directories of " + p.j.Name + " are to be listed")
	seen.action = &Action{Kind: List, Node: p.j.ID, Token: (*order).Token}
	return Listing{}, seen
}

// recount has the source count its references anew.
func (p *proof) recount() sight {
	record := Repair{}
	if p.j.Recount != nil {
		record = *p.j.Recount
	}
	why, launch := p.follow(&record, p.source, adminapi.RepairBlockRC, false)
	p.j.Recount = &record
	seen := sight{gates: []gates.Gate{{Name: GateListed, Why: why}}}
	switch {
	case launch:
		seen.action = &Action{Kind: Launch, Node: p.j.ID, Repair: adminapi.RepairBlockRC}
	case why == "":
		seen.gates[0].Why = "blocks lie on the disks of " + p.j.Name + ", whose references were counted anew"
		p.j.EmptyAt = p.now
		p.forgetSource()
	}
	return seen
}
