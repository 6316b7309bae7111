package drain

import (
	"github.com/holdfast-dev/holdfast/internal/garage/adminapi"
	"github.com/holdfast-dev/holdfast/internal/kit/gates"
)

// GateQueue is the gate of E6.
const GateQueue = "SourceQueueEmpty"

// flushed is E6: after a repair that looked at every block of the source, its queue has nothing left, due or not. Another life
// of its process begins it anew.
func flushed(p *proof) sight {
	hold := func(why string) sight { return sight{gates: []gates.Gate{{Name: GateQueue, Why: why}}} }
	says, answers := p.saysSource()
	if !answers {
		return hold(p.sourceUnknown())
	}
	if p.j.Source == nil || p.j.Source.Life != p.source.Life {
		p.forgetSource()
		p.j.Source = &Repair{}
	}
	record := *p.j.Source
	why, launch := p.follow(&record, p.source, adminapi.RepairBlocks, false)
	p.j.Source = &record
	if launch {
		p.forgetListings()
		seen := hold(why)
		seen.action = &Action{Kind: Launch, Node: p.j.ID, Repair: adminapi.RepairBlocks}
		return seen
	}
	if why != "" {
		return hold(why)
	}
	blocks, _ := says.Statistics.Blocks.Get() // follow holds otherwise
	if blocks.ResyncQueue > 0 {
		p.forgetListings()
		return hold(p.j.Name + " has blocks to look at")
	}
	return sight{}
}
