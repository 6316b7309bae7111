package s3load

import (
	"fmt"

	"github.com/holdfast-dev/holdfast/test/ledger"
)

// promise is what is known of a key at one moment. The zero promise is that of a key that was never written.
type promise struct {
	// acked is the number of the last acknowledged write, and deleted the number of the last deletion that was sent
	// and not refused; 0 for none. last is the number of the last write that was sent and not refused.
	acked, last, deleted uint64
}

// absent says that the last acknowledged write was a deletion, or that there was none.
func (p promise) absent() bool { return p.deleted == p.acked }

// mayBeAbsent says that no answer but one with content is wrong for a request that began at floor.
func mayBeAbsent(floor, ceiling promise) bool { return floor.absent() || ceiling.deleted > floor.acked }

// sizes are those that the key may have in a list, none when it must not be in it, for a key that is at rest.
func (p promise) sizes(key string) []int {
	var sizes []int
	if p.acked > 0 && !p.absent() {
		sizes = append(sizes, shapeOf(key, p.acked).size)
	}
	if p.last > p.acked && p.deleted != p.last {
		sizes = append(sizes, shapeOf(key, p.last).size)
	}
	return sizes
}

// answer is what a key was read as: absent, or damaged in some way, or the content of a write.
type answer struct {
	absent   bool
	damage   string
	sequence uint64
}

// judge holds an answer against what was known when the request began, and when the answer had ended. The kind is
// empty when the answer is right.
func judge(floor, ceiling promise, a answer) (kind ledger.Kind, detail string) {
	switch {
	case a.damage != "":
		return ledger.Corrupted, a.damage
	case a.absent && mayBeAbsent(floor, ceiling):
		return "", ""
	case a.absent:
		return ledger.Lost, fmt.Sprintf("no such key, though write %d was acknowledged", floor.acked)
	case a.sequence > ceiling.last:
		return ledger.Foreign, fmt.Sprintf("has the content of write %d, and %d was the last that was sent", a.sequence, ceiling.last)
	case a.sequence < floor.acked && floor.absent():
		return ledger.Returned, fmt.Sprintf("has the content of write %d, though the deletion %d was acknowledged", a.sequence, floor.acked)
	case a.sequence < floor.acked:
		return ledger.Stale, fmt.Sprintf("has the content of write %d, though write %d was acknowledged", a.sequence, floor.acked)
	}
	return "", ""
}
