package garagemodel

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/holdfast-dev/holdfast/internal/garage/adminapi"
)

// version is one version of the layout: who has which role, and who stores each partition.
type version struct {
	roles map[int]adminapi.Role
	sets  [partitions][]int
}

// staging is what is staged, as one node knows it: the newest stamp wins.
type staging struct {
	stamp   int
	changes []adminapi.RoleChange
}

// writeQuorum is how many nodes of a set have to take a write.
func (w *World) writeQuorum() int { return w.Factor + 1 - (w.Factor+1)/2 }

// compute gives each partition its nodes, so that little moves when a node goes.
func (w *World) compute(roles map[int]adminapi.Role) version {
	v := version{roles: roles}
	for p := range partitions {
		var ranked []int
		for _, n := range slices.Sorted(maps.Keys(roles)) {
			if _, storage := roles[n].Capacity.Storage(); storage {
				ranked = append(ranked, n)
			}
		}
		rank := func(n int) int { return (2*n + 3*p) % 5 }
		slices.SortStableFunc(ranked, func(a, b int) int { return cmp.Compare(rank(a), rank(b)) })
		v.sets[p] = ranked[:min(w.Factor, len(ranked))]
	}
	return v
}

func (w *World) version(number int) *version { return &w.versions[number-1] }

// active are the versions that count to a node, the oldest first.
func (w *World) active(n *node) []int {
	oldest := n.known
	for number := range w.version(n.known).roles {
		oldest = min(oldest, int(n.trackers[number].SyncAck))
	}
	var found []int
	for v := max(oldest, 1); v <= n.known; v++ {
		found = append(found, v)
	}
	return found
}

// gossip has a node hear what the others know.
func (w *World) gossip(n *node) {
	if n.stalls(w, stallGossip) {
		return
	}
	for _, other := range w.nodes {
		if other == n || !w.reach(n, other) || other.stalls(w, stallGossip) {
			continue
		}
		n.known = max(n.known, other.known)
		for i := range n.trackers {
			theirs := other.trackers[i]
			n.trackers[i].Ack = max(n.trackers[i].Ack, theirs.Ack)
			n.trackers[i].Sync = max(n.trackers[i].Sync, theirs.Sync)
			n.trackers[i].SyncAck = max(n.trackers[i].SyncAck, theirs.SyncAck)
		}
		if other.staged.stamp > n.staged.stamp {
			n.staged = other.staged
		}
	}
}

// takeOver is a node's part in the change to the newest version.
func (w *World) takeOver(n *node) {
	mine := &n.trackers[n.number]
	if len(n.writing) == 0 || slices.Min(n.writing) >= n.known {
		mine.Ack = uint64(n.known)
	}
	active := w.active(n)
	acked := uint64(n.known)
	for _, v := range active {
		for number := range w.version(v).roles {
			acked = min(acked, n.trackers[number].Ack)
		}
	}
	if mine.Sync < uint64(n.known) && acked >= uint64(n.known) && !n.stalls(w, stallSync) && w.push(n, active) {
		mine.Sync = uint64(n.known)
	}
	mine.SyncAck = max(mine.SyncAck, w.synced(n, active))
}

// synced is the version up to which enough nodes have synced, in a node's view: a write quorum of each set.
func (w *World) synced(n *node, active []int) uint64 {
	least := uint64(n.known)
	for _, v := range active {
		for p := range partitions {
			var synced []uint64
			for _, number := range w.version(v).sets[p] {
				synced = append(synced, n.trackers[number].Sync)
			}
			slices.Sort(synced)
			least = min(least, synced[len(synced)-w.writeQuorum()])
		}
	}
	return least
}

// stage is UpdateClusterLayout.
func (w *World) stage(n *node, changes []adminapi.RoleChange) {
	w.stamp++
	merged := slices.DeleteFunc(slices.Clone(n.staged.changes), func(c adminapi.RoleChange) bool {
		return slices.ContainsFunc(changes, func(d adminapi.RoleChange) bool { return d.Node() == c.Node() })
	})
	n.staged = staging{w.stamp, append(merged, changes...)}
}

// revert is RevertClusterLayout.
func (w *World) revert(n *node) {
	w.stamp++
	n.staged = staging{stamp: w.stamp}
}

// apply is ApplyClusterLayout. Two versions of one number and different content are not modelled.
func (w *World) apply(n *node, number int) error {
	if number != n.known+1 || number != len(w.versions)+1 {
		return fmt.Errorf("version %d cannot be made after version %d", number, n.known)
	}
	roles := maps.Clone(w.version(n.known).roles)
	for _, change := range n.staged.changes {
		role, assigned := change.Role()
		if assigned {
			roles[w.byID(change.Node()).number] = role
		} else {
			delete(roles, w.byID(change.Node()).number)
		}
	}
	storage := 0
	for _, role := range roles {
		if _, positive := role.Capacity.Storage(); positive {
			storage++
		}
	}
	if storage < w.Factor {
		return errors.New("too few storage nodes")
	}
	w.versions = append(w.versions, w.compute(roles))
	n.known = number
	w.revert(n)
	return nil
}

// skipDead is ClusterLayoutSkipDeadNodes with missing data allowed: everybody counts as synced.
func (w *World) skipDead(n *node) {
	if !n.skips || len(w.active(n)) < 2 {
		return
	}
	n.skips = false
	for i := range n.trackers {
		n.trackers[i].Ack, n.trackers[i].Sync = uint64(n.known), uint64(n.known)
	}
}
