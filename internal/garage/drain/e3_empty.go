package drain

import (
	"fmt"
	"maps"
	"slices"

	"github.com/holdfast-dev/holdfast/internal/kit/gates"
	"github.com/holdfast-dev/holdfast/internal/kit/words"
)

// GateEmpty is the gate of E3.
const GateEmpty = "TablesEmpty"

// emptied is E3: the source has no row in any table, nor in the queues of one. Since when, a clock tells. A reading with a row
// stops it and drops all that was seen after; one that fails does not.
func emptied(p *proof) sight {
	why, known := p.rows()
	if why != "" {
		if known {
			p.forgetRows()
		}
		return sight{gates: []gates.Gate{{Name: GateEmpty, Why: why}}}
	}
	if p.j.EmptyAt.IsZero() {
		p.j.EmptyAt = p.now
	}
	return sight{}
}

// rows says which tables of the source are not empty, and whether that is known.
func (p *proof) rows() (string, bool) {
	says, answers := p.saysSource()
	if !answers {
		return p.sourceUnknown(), false
	}
	tables, known := says.Statistics.Tables.Get()
	if !known {
		return p.j.Name + ": " + says.Statistics.Tables.Why(), false
	}
	var why []string
	for _, name := range slices.Sorted(maps.Keys(tables)) {
		if t := tables[name]; t.Items+t.InsertQueue+t.MerkleQueue > 0 {
			why = append(why, fmt.Sprintf("%s still has rows of table %s", p.j.Name, name))
		}
	}
	if len(tables) == 0 {
		return p.j.Name + " names no table", false
	}
	return words.Reasons(why), true
}

// saysSource is what the source says.
func (p *proof) saysSource() (Says, bool) {
	if p.source == nil {
		return Says{}, false
	}
	return p.source.Says.Get()
}

func (p *proof) sourceUnknown() string {
	if p.source == nil {
		return "there is no node " + p.j.Name
	}
	return p.j.Name + ": " + p.source.Says.Why()
}
