package drain

import (
	"time"

	"github.com/holdfast-dev/holdfast/internal/kit/gates"
)

// GateDelays is the gate of E5.
const GateDelays = "DelaysPassed"

const (
	// deletion is after how long a block whose last row has gone is looked at.
	deletion = 610 * time.Second
	// assumed is the rpc_timeout of a process whose config is not ours, Garage's own.
	assumed = 300 * time.Second
	margin  = 30 * time.Second
)

// delayed is E5: everything that Garage does some time later on the source has come due.
func delayed(p *proof) sight {
	if end := p.delayEnd(); p.now.Before(end) {
		return sight{gates: []gates.Gate{{Name: GateDelays, Why: "the source looks at its last blocks until " + end.UTC().Format(time.TimeOnly)}}}
	}
	return sight{}
}

// delayEnd is when the source has looked at all blocks: the rows of the last one have gone, and what was written to it last
// is checked.
func (p *proof) delayEnd() time.Time {
	end := p.j.EmptyAt.Add(deletion)
	if written := p.j.SettledAt.Add(p.rpc()); written.After(end) {
		end = written
	}
	return end.Add(margin)
}

// rpc is how long after a write a block is checked: twice the longest time-out of any process.
func (p *proof) rpc() time.Duration {
	longest := time.Duration(0)
	for _, m := range p.Members {
		timeout := m.RPCTimeout
		if timeout == 0 {
			timeout = assumed
		}
		longest = max(longest, timeout)
	}
	if len(p.at.Roles) > len(p.Members) {
		longest = max(longest, assumed)
	}
	return 2 * longest
}
