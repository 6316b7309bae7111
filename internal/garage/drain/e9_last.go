package drain

import (
	"slices"

	"github.com/holdfast-dev/holdfast/internal/garage/adminapi"
	"github.com/holdfast-dev/holdfast/internal/kit/gates"
	"github.com/holdfast-dev/holdfast/internal/kit/words"
)

// Names of the gates of E9.
const (
	GateListedAgain = "DirectoriesStillEmpty"
	GatePartitions  = "DisksPresent"
)

// onceMore is E9: in the very pass in which all that came before has passed again, the directories have been listed anew, every
// member has its disks, and the store is whole.
func onceMore(p *proof) sight {
	found, seen := p.list(GateListedAgain, &p.j.Last)
	if seen.passed() && found.Blocks > 0 {
		p.forgetSource()
		seen.gates = append(seen.gates, gates.Gate{Name: GateListedAgain, Why: "blocks have come to the disks of " + p.j.Name})
	}
	if why := p.diskless(); why != "" {
		seen.gates = append(seen.gates, gates.Gate{Name: GatePartitions, Why: why})
	}
	if why, holds := notWhole(p); holds {
		seen.gates = append(seen.gates, gates.Gate{Name: GateWhole, Why: why})
	}
	return seen
}

// diskless names the members that do not have both of their file systems.
func (p *proof) diskless() string {
	var why []string
	for _, m := range p.members() {
		says, _ := m.Says.Get()
		has := slices.ContainsFunc(says.Status.Nodes, func(n adminapi.NodeStatus) bool {
			_, data := n.Data.Get()
			_, metadata := n.Metadata.Get()
			return n.ID == m.ID && data && metadata
		})
		if !has {
			why = append(why, m.Name+" does not say that it has its disks")
		}
	}
	return words.Reasons(why)
}
