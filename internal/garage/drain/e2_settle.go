package drain

import (
	"fmt"

	"github.com/holdfast-dev/holdfast/internal/kit/gates"
	"github.com/holdfast-dev/holdfast/internal/kit/words"
)

// GateOneVersion is the gate of E2.
const GateOneVersion = "OneLayoutVersion"

// oneVersion is E2: one version is active in every member's view. That every node has synced is not enough here: the source
// is still one of those that a partition may be read from.
func oneVersion(p *proof) sight {
	var why []string
	for _, m := range p.members() {
		says, known := m.Says.Get()
		switch {
		case !known:
			why = append(why, m.Name+": "+m.Says.Why())
		case !says.History.Settled():
			why = append(why, fmt.Sprintf("%s sees an older version than %d still in use", m.Name, p.at.Version))
			if !p.j.SettledAt.IsZero() { // versions do not come back: this is another history
				p.forget()
			}
		}
	}
	if len(why) > 0 {
		return sight{gates: []gates.Gate{{Name: GateOneVersion, Why: words.Reasons(why)}}}
	}
	if p.j.SettledAt.IsZero() {
		p.j.SettledAt = p.now
	}
	return sight{}
}
