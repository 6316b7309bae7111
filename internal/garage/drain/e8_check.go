package drain

import (
	"slices"
	"time"
)

// GateChecked is the gate of E8.
const GateChecked = "DestinationsChecked"

// between is how long after a destination's first repair its second may begin: a resync worker can sleep that long over work
// that is due.
const between = 10 * time.Minute

// checked is E8: every destination looks at all its blocks once more, in the same life of its process.
func checked(p *proof) sight {
	return p.repairAll(GateChecked, &p.j.Checks, func(m *Member) string {
		i := slices.IndexFunc(p.j.Copies, func(r Repair) bool { return r.Node == m.ID })
		if i >= 0 && p.now.Sub(p.j.Copies[i].DoneAt) < between {
			return m.Name + " is repaired once more ten minutes after the first time"
		}
		return ""
	})
}
