package whole

import (
	"fmt"
	"maps"
	"slices"

	"github.com/holdfast-dev/holdfast/internal/garage/adminapi"
	"github.com/holdfast-dev/holdfast/internal/garage/layout"
	"github.com/holdfast-dev/holdfast/internal/kit/words"
)

// Why says what the store lacks to be whole and at rest; empty when it is both. without is the name of a member whose own
// state does not count, since it is already away by our hand; empty for none. While one is looked away from, the others still
// have to answer, agree and see each other.
func Why(members []Member, without string) string {
	var why []string
	var first *Member
	for i := range members {
		member := &members[i]
		if member.External || member.Name == without {
			continue
		}
		says, known := member.Says.Get()
		if !known {
			why = append(why, member.Name+" does not say: "+member.Says.Why())
			continue
		}
		if first == nil {
			first = member
		}
		why = append(why, lacks(members, *member, says, *first, without)...)
	}
	if first == nil && len(why) == 0 {
		why = append(why, "nobody says how the store is")
	}
	return words.Reasons(why)
}

// lacks is what is missing by the word of one member.
func lacks(members []Member, member Member, says Says, first Member, without string) []string {
	var why []string
	other, _ := first.Says.Get()
	switch {
	case says.Layout.Version == 0:
		why = append(why, member.Name+" has no layout")
	case says.Layout.Version != other.Layout.Version:
		why = append(why, fmt.Sprintf("%s shows version %d of the layout and %s version %d", member.Name, says.Layout.Version, first.Name, other.Layout.Version))
	case !layout.Settled(says.History):
		why = append(why, fmt.Sprintf("%s sees version %d of the layout still being taken over", member.Name, says.Layout.Version))
	}
	if missing := unseen(members, says, without); len(missing) > 0 {
		why = append(why, fmt.Sprintf("%s does not see %s", member.Name, words.Names(missing)))
	}
	if without == "" && !healthy(says.Health) {
		why = append(why, fmt.Sprintf("%s says %s: %d of %d storage nodes, %d of %d partitions", member.Name, says.Health.Status,
			says.Health.StorageNodesUp, says.Health.StorageNodes, says.Health.PartitionsAllOK, says.Health.Partitions))
	}
	return why
}

func healthy(h adminapi.ClusterHealth) bool {
	return h.Status == adminapi.Healthy && h.StorageNodes > 0 && h.StorageNodesUp == h.StorageNodes &&
		h.Partitions > 0 && h.PartitionsAllOK == h.Partitions && h.PartitionsQuorum == h.Partitions
}

// unseen are the nodes of the layout that the member is not connected to, by what to call them.
func unseen(members []Member, says Says, without string) []string {
	wanted := map[adminapi.NodeID]string{}
	for _, role := range says.Layout.Roles {
		wanted[role.ID] = fmt.Sprintf("node %.16s", role.ID)
	}
	for _, member := range members {
		if _, in := wanted[member.ID]; in {
			wanted[member.ID] = member.Name
		}
		if member.Name == without {
			delete(wanted, member.ID)
		}
	}
	for _, seen := range says.Status.Nodes {
		if seen.Up {
			delete(wanted, seen.ID)
		}
	}
	return slices.Sorted(maps.Values(wanted))
}
