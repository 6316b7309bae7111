package garagefake

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"
)

// partitions is how many partitions there are.
const partitions = 256

type role struct {
	Zone     string   `json:"zone"`
	Tags     []string `json:"tags"`
	Capacity *uint64  `json:"capacity"`
}

func (r *role) equal(other *role) bool {
	if r == nil || other == nil {
		return r == other
	}
	capacity := func(r *role) uint64 {
		if r.Capacity == nil {
			return 0
		}
		return *r.Capacity
	}
	return r.Zone == other.Zone && slices.Equal(r.Tags, other.Tags) && capacity(r) == capacity(other)
}

// version is one version of the layout. It does not change.
type version struct {
	number  uint64
	roles   map[string]role
	atLeast int // zone redundancy, 0 for the maximum
	factor  int
	size    uint64
}

// storage are the nodes that store, in order.
func (v *version) storage() []string {
	var ids []string
	for _, id := range slices.Sorted(maps.Keys(v.roles)) {
		if v.roles[id].Capacity != nil {
			ids = append(ids, id)
		}
	}
	return ids
}

// set are the nodes of a partition: neighbours in the order of their ids. Garage computes something better, which nobody
// may count on.
func (v *version) set(partition int) []string {
	all := v.storage()
	var set []string
	for i := range min(v.factor, len(all)) {
		set = append(set, all[(partition+i)%len(all)])
	}
	return set
}

// stored is how many partitions a node has.
func (v *version) stored(id string) (n uint64) {
	for partition := range partitions {
		if slices.Contains(v.set(partition), id) {
			n++
		}
	}
	return n
}

type tracker struct{ ack, sync, syncAck uint64 }

// change is a staged role, nil for a removal. The newer of two wins.
type change struct {
	role  *role
	stamp int64
}

// staging is what is staged. Between two of which one was made by an Apply or a Revert, the newer wins as a whole.
type staging struct {
	stamp   int64
	roles   map[string]change
	atLeast int
	params  int64 // stamp of atLeast
}

// history is the layouts as one node knows them.
type history struct {
	active, old []*version // the oldest first
	trackers    map[string]tracker
	staging     staging
}

func newHistory() history {
	return history{active: []*version{{}}, trackers: map[string]tracker{}, staging: staging{roles: map[string]change{}}}
}

func (h *history) clone() history {
	return history{
		active: slices.Clone(h.active), old: slices.Clone(h.old), trackers: maps.Clone(h.trackers),
		staging: staging{h.staging.stamp, maps.Clone(h.staging.roles), h.staging.atLeast, h.staging.params},
	}
}

func (h *history) current() *version { return h.active[len(h.active)-1] }
func (h *history) oldest() uint64    { return h.active[0].number }

// members are all nodes with a role in an active version.
func (h *history) members(storageOnly bool) []string {
	ids := map[string]bool{}
	for _, v := range h.active {
		for id, role := range v.roles {
			if !storageOnly || role.Capacity != nil {
				ids[id] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(ids))
}

// least is the smallest value of a tracker among nodes.
func (h *history) least(ids []string, of func(tracker) uint64) uint64 {
	least := h.current().number
	for _, id := range ids {
		least = min(least, of(h.trackers[id]))
	}
	return max(least, h.oldest())
}

func (h *history) minAck() uint64 {
	return h.least(h.members(false), func(t tracker) uint64 { return t.ack })
}

// minSync is the version up to which data was given away: by every node where each of them is needed for a write, else by
// enough nodes of each set of an older version.
func (h *history) minSync(factor int) uint64 {
	sync := func(t tracker) uint64 { return t.sync }
	quorum := factor + 1 - (factor+1)/2
	if quorum == factor {
		return h.least(h.members(true), sync)
	}
	least := h.current().number
	for _, v := range h.active[:len(h.active)-1] {
		for partition := range partitions {
			var values []uint64
			for _, id := range v.set(partition) {
				values = append(values, max(sync(h.trackers[id]), h.oldest()))
			}
			slices.Sort(values)
			least = min(least, values[len(values)-quorum])
		}
	}
	return least
}

// retire ends versions that no node of the current one reads from, and forgets all but five.
func (h *history) retire(onlyCurrent bool) {
	if len(h.active) > 1 && h.oldest() == 0 {
		h.active = h.active[1:] // the version before the first never held anything
	}
	for _, id := range h.members(false) {
		t := h.trackers[id]
		h.trackers[id] = tracker{max(t.ack, h.oldest()), max(t.sync, h.oldest()), max(t.syncAck, h.oldest())}
	}
	read := h.least(slices.Collect(maps.Keys(h.current().roles)), func(t tracker) uint64 { return t.syncAck })
	for len(h.active) > 1 && (h.oldest() < read || onlyCurrent) {
		h.old, h.active = append(h.old, h.active[0]), h.active[1:]
	}
	h.old = h.old[max(0, len(h.old)-5):]
}

// merge takes over what another node knows, and says whether that was news.
func (h *history) merge(other *history) bool {
	if h.current().number < other.oldest() {
		*h = other.clone()
		return true
	}
	changed := false
	for _, v := range other.active {
		if v.number == h.current().number+1 {
			h.active = append(h.active, v)
			changed = true
		}
	}
	for id, theirs := range other.trackers {
		t := h.trackers[id]
		merged := tracker{max(t.ack, theirs.ack), max(t.sync, theirs.sync), max(t.syncAck, theirs.syncAck)}
		changed = changed || merged != t
		h.trackers[id] = merged
	}
	return h.staging.merge(&other.staging) || changed
}

func (s *staging) merge(other *staging) bool {
	if s.stamp > other.stamp {
		return false
	}
	changed := false
	if s.stamp < other.stamp {
		*s = staging{stamp: other.stamp, roles: map[string]change{}, atLeast: other.atLeast, params: other.params}
		changed = true
	}
	for id, theirs := range other.roles {
		if mine, staged := s.roles[id]; !staged || mine.stamp < theirs.stamp {
			s.roles[id] = theirs
			changed = true
		}
	}
	if s.params < other.params {
		s.atLeast, s.params = other.atLeast, other.params
		changed = true
	}
	return changed
}

// stage adds changes to what is staged.
func (h *history) stage(roles map[string]*role, atLeast *int, now time.Time) {
	for id, role := range roles {
		h.staging.roles[id] = change{role: role, stamp: max(now.UnixMilli(), h.staging.roles[id].stamp+1)}
	}
	if atLeast != nil {
		h.staging.atLeast, h.staging.params = *atLeast, max(now.UnixMilli(), h.staging.params+1)
	}
}

// unstage drops everything that is staged, whoever staged it.
func (h *history) unstage(atLeast int, now time.Time) {
	h.staging = staging{
		stamp: max(now.UnixMilli(), h.staging.stamp+1), roles: map[string]change{}, atLeast: atLeast, params: h.staging.params + 1,
	}
}

// next computes the version that an Apply makes, or says why there is none.
func (h *history) next(factor int) (*version, string) {
	v := &version{number: h.current().number + 1, roles: maps.Clone(h.current().roles), atLeast: h.staging.atLeast, factor: factor}
	if v.roles == nil {
		v.roles = map[string]role{}
	}
	for id, change := range h.staging.roles {
		if delete(v.roles, id); change.role != nil {
			v.roles[id] = *change.role
		}
	}
	all, storing := map[string]bool{}, map[string]bool{}
	least := uint64(0)
	for _, role := range v.roles {
		all[role.Zone] = true
		if role.Capacity != nil {
			storing[role.Zone] = true
			least = min(cmp.Or(least, *role.Capacity), *role.Capacity)
		}
	}
	redundancy := cmp.Or(v.atLeast, min(len(all), factor))
	if n := len(v.storage()); n < factor {
		return nil, fmt.Sprintf("The number of nodes with positive capacity (%d) is smaller than the replication factor (%d).", n, factor)
	}
	if len(storing) < redundancy {
		return nil, fmt.Sprintf("The number of zones with non-gateway nodes (%d) is smaller than the redundancy parameter (%d)", len(storing), redundancy)
	}
	v.size = least / partitions
	return v, ""
}

// moved is how many copies of partitions a version has at nodes that had none of it.
func (h *history) moved(v *version) (n int) {
	for partition := range partitions {
		for _, id := range v.set(partition) {
			if !slices.Contains(h.current().set(partition), id) {
				n++
			}
		}
	}
	return n
}
