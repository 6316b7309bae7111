package garagefake

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"
)

// data is what a node has on its disks. Each object has one row in each table, and one block.
type data struct {
	rows, blocks map[int]bool
	// unneeded is since when nothing refers to a block.
	unneeded map[int]time.Time
	queue    []check
	failed   map[int]failure
}

// check is that a block is to be looked at, at a time that may be in the future.
type check struct {
	object int
	due    time.Time
}

type failure struct {
	errors int
	last   time.Time
}

func newData() data {
	return data{rows: map[int]bool{}, blocks: map[int]bool{}, unneeded: map[int]time.Time{}, failed: map[int]failure{}}
}

// Store writes so many objects of one block each, as clients do: every node that should have them has them.
func (c *Cluster) Store(objects int) error {
	return do(c, func() error {
		for range objects {
			object := c.objects
			c.objects++
			for _, n := range c.nodes {
				for _, v := range n.history.active {
					if !slices.Contains(v.set(object%partitions), n.id) {
						continue
					}
					if !n.running {
						return fmt.Errorf("node %d does not run", n.at)
					}
					n.learn(object, c.last)
					n.blocks[object] = true
				}
			}
		}
		return nil
	})
}

// Blocks is how many blocks are on the disk of node number i.
func (c *Cluster) Blocks(i int) int { return do(c, func() int { return len(c.nodes[i].blocks) }) }

// LoseBlock takes one block from the disk of node number i.
func (c *Cluster) LoseBlock(i int) {
	do(c, func() struct{} {
		n := c.nodes[i]
		delete(n.blocks, slices.Min(slices.Collect(maps.Keys(n.blocks))))
		return struct{}{}
	})
}

// learn adds the rows of an object, and has its block looked at later.
func (n *node) learn(object int, now time.Time) {
	if !n.rows[object] {
		n.rows[object] = true
		delete(n.unneeded, object)
		n.queue = append(n.queue, check{object, now.Add(PullDelay)})
	}
}

// stores says whether the node should have an object by its own view.
func (n *node) stores(object int) bool {
	return slices.Contains(n.history.current().set(object%partitions), n.id)
}

// offload gives the rows away that are not the node's any more, some time after one layout is active. Their blocks stay.
func (n *node) offload(now time.Time) {
	if len(n.history.active) > 1 {
		n.settled = time.Time{}
		return
	}
	if n.settled.IsZero() {
		n.settled = now
	}
	if now.Before(n.settled.Add(emptyAfter)) {
		return
	}
	for _, object := range slices.Sorted(maps.Keys(n.rows)) {
		if !n.stores(object) && n.give(object, now) {
			delete(n.rows, object)
			n.unneeded[object] = now
			n.queue = append(n.queue, check{object, now.Add(BlockDelay + 10*time.Second)})
		}
	}
}

// resync looks at the blocks that are due.
func (n *node) resync(now time.Time) {
	worker := n.workers[0]
	worker.state = "idle"
	slow, _ := strconv.Atoi(n.variables["resync-tranquility"])
	var later []check
	for _, check := range n.queue {
		switch failure, failed := n.failed[check.object]; {
		case check.due.After(now) || worker.state == throttled:
			later = append(later, check)
		case failed && now.Before(failure.last.Add(retryAfter)):
			check.due = failure.last.Add(retryAfter)
			later = append(later, check)
		case n.settle(check.object, now):
			delete(n.failed, check.object)
			if slow > 10 {
				worker.state = throttled
			}
		default:
			failure.errors, failure.last = failure.errors+1, now
			n.failed[check.object] = failure
			later = append(later, check)
		}
	}
	n.queue = later
}

// settle does with a block what its rows say, or fails.
func (n *node) settle(object int, now time.Time) bool {
	since, unneeded := n.unneeded[object]
	switch {
	case n.blocks[object] && unneeded && !now.Before(since.Add(BlockDelay)):
		return n.hand(object)
	case n.rows[object] && !n.blocks[object] && n.stores(object):
		for _, other := range n.cluster.nodes {
			if other != n && n.reaches(other) && other.blocks[object] {
				n.blocks[object] = true
				return true
			}
		}
		return false
	}
	return true
}

// hand gives a block to the nodes that lack it, all of which must be there, and deletes it.
func (n *node) hand(object int) bool {
	for _, id := range n.history.current().set(object % partitions) {
		other := n.cluster.withID(id)
		if other == nil || !n.reaches(other) {
			return false
		}
		other.blocks[object] = true
	}
	delete(n.blocks, object)
	delete(n.unneeded, object)
	return true
}
