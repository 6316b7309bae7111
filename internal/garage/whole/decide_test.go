package whole

import (
	"fmt"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/garage/adminapi"
	"github.com/holdfast-dev/holdfast/internal/kit/fact"
)

func id(i int) adminapi.NodeID { return adminapi.NodeID(strings.Repeat(fmt.Sprintf("%02x", i+1), 32)) }

// store are so many members that see each other, in version 2.
func store(n int, change func(i int, says *Says)) []Member {
	var members []Member
	for i := range n {
		says := Says{
			Health:  adminapi.ClusterHealth{Status: adminapi.Healthy, StorageNodes: 3, StorageNodesUp: 3, Partitions: 256, PartitionsQuorum: 256, PartitionsAllOK: 256},
			Layout:  adminapi.Layout{Version: 2},
			History: adminapi.LayoutHistory{CurrentVersion: 2},
		}
		for j := range n {
			says.Layout.Roles = append(says.Layout.Roles, adminapi.NodeRole{ID: id(j)})
			says.Status.Nodes = append(says.Status.Nodes, adminapi.NodeStatus{ID: id(j), Up: true})
		}
		if change != nil {
			change(i, &says)
		}
		members = append(members, Member{Name: fmt.Sprintf("g-%d", i), ID: id(i), Says: fact.Known(says)})
	}
	return members
}

func silence(members []Member, i int) []Member {
	members[i].Says = fact.Unknown[Says]("no answer")
	return members
}

func TestWhy(t *testing.T) {
	second := func(change func(*Says)) []Member {
		return store(3, func(i int, says *Says) {
			if i == 1 {
				change(says)
			}
		})
	}
	away := func(says *Says) { says.Status.Nodes[2].Up = false }
	for name, c := range map[string]struct {
		members []Member
		without string
		want    string
	}{
		"whole":              {members: store(3, nil)},
		"nobody":             {want: "nobody says how the store is"},
		"only external ones": {members: []Member{{Name: "x", External: true}}, want: "nobody says how the store is"},
		"one is silent":      {members: silence(store(3, nil), 0), want: "g-0 does not say: no answer"},
		"one has no layout":  {members: second(func(s *Says) { s.Layout = adminapi.Layout{} }), want: "g-1 has no layout"},
		"one is a version behind": {
			members: second(func(s *Says) { s.Layout.Version = 1 }), want: "g-1 shows version 1 of the layout and g-0 version 2",
		},
		"one still takes over": {
			members: second(func(s *Says) {
				s.History.Trackers = map[adminapi.NodeID]adminapi.Tracker{id(0): {Sync: 1}}
			}),
			want: "g-1 sees version 2 of the layout still being taken over",
		},
		"one does not see another":     {members: second(away), want: "g-1 does not see g-2"},
		"one has never heard of it":    {members: second(func(s *Says) { s.Status.Nodes = s.Status.Nodes[:2] }), want: "g-1 does not see g-2"},
		"one says that it is degraded": {members: second(func(s *Says) { s.Health.Status = adminapi.Degraded }), want: "g-1 says degraded: 3 of 3 storage nodes, 256 of 256 partitions"},
		"one storage node is missing":  {members: second(func(s *Says) { s.Health.StorageNodesUp = 2 }), want: "g-1 says healthy: 2 of 3 storage nodes, 256 of 256 partitions"},
		"there are no storage nodes":   {members: second(func(s *Says) { s.Health.StorageNodes, s.Health.StorageNodesUp = 0, 0 }), want: "g-1 says healthy: 0 of 0 storage nodes, 256 of 256 partitions"},
		"a partition is not complete":  {members: second(func(s *Says) { s.Health.PartitionsAllOK = 255 }), want: "g-1 says healthy: 3 of 3 storage nodes, 255 of 256 partitions"},
		"a partition has no quorum":    {members: second(func(s *Says) { s.Health.PartitionsQuorum = 255 }), want: "g-1 says healthy: 3 of 3 storage nodes, 256 of 256 partitions"},
		"there are no partitions": {
			members: second(func(s *Says) { s.Health.Partitions, s.Health.PartitionsAllOK, s.Health.PartitionsQuorum = 0, 0, 0 }),
			want:    "g-1 says healthy: 3 of 3 storage nodes, 0 of 0 partitions",
		},
		"an external one has to be seen": {
			members: func() []Member {
				members := second(away)
				members[2].External = true
				return members
			}(),
			want: "g-1 does not see g-2",
		},
		"a node of somebody else has to be seen": {
			members: second(func(s *Says) { s.Layout.Roles = append(s.Layout.Roles, adminapi.NodeRole{ID: id(8)}) }),
			want:    "g-1 does not see node 0909090909090909",
		},
		"the one that is away does not count": {
			members: silence(store(3, func(_ int, s *Says) { away(s); s.Health.Status = adminapi.Degraded }), 2), without: "g-2",
		},
		"but the others do": {
			members: silence(second(func(s *Says) { s.Status.Nodes[0].Up = false }), 2), without: "g-2", want: "g-1 does not see g-0",
		},
		"one is silent, and another says that it is degraded": {
			members: silence(second(func(s *Says) { s.Health.Status = adminapi.Degraded }), 0),
			want:    "g-0 does not say: no answer; g-1 says degraded: 3 of 3 storage nodes, 256 of 256 partitions",
		},
		"one is external, and another says that it is degraded": {
			members: func() []Member {
				members := second(func(s *Says) { s.Health.Status = adminapi.Degraded })
				members[0].External = true
				return members
			}(),
			want: "g-1 says degraded: 3 of 3 storage nodes, 256 of 256 partitions",
		},
		"alone and away": {members: silence(store(1, nil), 0), without: "g-0", want: "nobody says how the store is"},
	} {
		if got := Why(c.members, c.without); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
