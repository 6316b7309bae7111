package garagemodel

import (
	"slices"

	"github.com/holdfast-dev/holdfast/internal/garage/adminapi"
)

// count is how many references to a block a node counts. Without one it may go at a time.
type count struct {
	refs, goes int
}

// place is where the file of a block lies on a node.
type place uint8

const (
	nowhere place = iota
	data
	dropped // in a directory that the config does not name any more
)

// due is a block that is to be checked at a time.
type due struct{ block, at int }

// failure is a block whose checks failed.
type failure struct{ times, next int }

// process is what a node forgets when it ends.
type process struct {
	workers []worker
	next    uint64
	// sleeps is until when the worker that checks blocks sleeps, missed that it has not heard of work, and busy that it has
	// not done all that is due. fails counts its errors since the last success.
	sleeps       int
	missed, busy bool
	fails        int
	unreadable   bool // its next walk cannot read a directory
	stalled      [stalls]int
}

const resyncName = adminapi.ResyncWorker + "1"

// worker is one in the list of workers.
type worker struct {
	id     uint64
	name   string
	phase  int
	errors uint64
}

// done is the phase of a repair that has ended.
const done = 2

// What of a process can be held up.
const (
	stallMerkle = iota
	stallSync
	stallOffload
	stallInserts
	stallGossip
	stallResync
	stalls
)

func (n *node) stalls(w *World, what int) bool { return w.Clock < n.stalled[what] }

// needed says that the node is to have the block.
func (n *node) needed(w *World, b int) bool { return n.rc[b].refs > 0 || w.Clock <= n.rc[b].goes }

func (n *node) enqueue(b, at int) {
	n.queue = append(n.queue, due{b, at})
	switch {
	case at >= n.sleeps:
	case n.deaf:
		n.missed = true
	default:
		n.sleeps = at
	}
}

// refer counts one more reference. A first one has the block checked, after a while in which it may be written.
func (n *node) refer(w *World, b int) {
	n.rc[b] = count{refs: n.rc[b].refs + 1}
	if n.rc[b].refs == 1 {
		n.enqueue(b, w.Clock+2*rpcTimeout)
	}
}

// unrefer counts one less, and has the block checked once it may go.
func (n *node) unrefer(w *World, b int) {
	n.rc[b].refs--
	if n.rc[b].refs <= 0 {
		n.rc[b] = count{goes: w.Clock + gcDelay}
		n.enqueue(b, w.Clock+gcDelay+10)
	}
}

// write stores the file of a block, and has it checked later.
func (n *node) write(w *World, b int) {
	if n.files[b] != data {
		n.files[b] = data
		n.enqueue(b, w.Clock+2*rpcTimeout)
	}
}

// resync is the worker that checks blocks.
func (w *World) resync(n *node) {
	if w.Clock < n.sleeps {
		return
	}
	if n.stalls(w, stallResync) {
		n.busy = slices.ContainsFunc(n.queue, func(e due) bool { return e.at <= w.Clock })
		return
	}
	n.deaf, n.missed = n.deaf && !n.missed, false
	const atOnce = 12
	left := atOnce
	rest := slices.Clone(n.queue)
	n.queue, n.sleeps = nil, w.Clock+10
	n.busy = false
	for _, e := range rest {
		switch {
		case e.at > w.Clock || n.failures[e.block].next > w.Clock:
			n.queue = append(n.queue, e)
		case left == 0:
			n.busy = true
			n.queue = append(n.queue, e)
		default:
			left--
			w.check(n, e.block)
		}
	}
	switch {
	case n.busy:
		n.sleeps = w.Clock
	case len(n.queue) > 0:
		n.sleeps = w.Clock + gcDelay
		for _, e := range n.queue {
			n.sleeps = min(n.sleeps, max(e.at, n.failures[e.block].next))
		}
	}
}

// check is one block looked at; an error has it looked at again later.
func (w *World) check(n *node, b int) {
	if w.carryOut(n, b) {
		n.failures[b], n.fails = failure{}, 0
		return
	}
	n.fails++
	f := n.failures[b]
	n.failures[b] = failure{f.times + 1, w.Clock + 60<<min(f.times, 6)}
	n.queue = append(n.queue, due{b, n.failures[b].next})
}

// carryOut gives a block away that the node is not to have, or fetches one that it is. It says whether that went well.
func (w *World) carryOut(n *node, b int) bool {
	here := n.files[b] == data
	switch {
	case here && !n.needed(w, b):
		return w.giveAway(n, b)
	case !here && n.rc[b].refs > 0:
		return w.fetch(n, b)
	case !here && !n.needed(w, b):
		n.rc[b] = count{}
	}
	return true
}

// giveAway asks every node of the partition whether it needs the block, has those that do take it, and deletes the file.
func (w *World) giveAway(n *node, b int) bool {
	if n.rows[refOf][b] == live { // the count is wrong
		return false
	}
	var needing []*node
	for _, number := range w.version(n.known).sets[w.objects[b].at] {
		other := w.nodes[number]
		switch {
		case other == n:
		case !w.reach(n, other):
			return false
		case other.rc[b].refs > 0 && other.files[b] != data:
			needing = append(needing, other)
		}
	}
	for _, other := range needing {
		other.write(w, b)
	}
	n.files[b], n.rc[b] = nowhere, count{}
	return true
}

// fetch gets a block from a node that was to have it, in this version or one before.
func (w *World) fetch(n *node, b int) bool {
	for v := n.known; v >= max(1, n.known-5); v-- {
		for _, number := range w.version(v).sets[w.objects[b].at] {
			if other := w.nodes[number]; other != n && w.reach(n, other) && other.files[b] == data {
				n.write(w, b)
				return true
			}
		}
	}
	return false
}

// launch is LaunchRepairOperation.
func (n *node) launch(repair adminapi.Repair) {
	name, _ := repair.Worker()
	n.workers = append(n.workers, worker{id: n.next, name: name})
	n.next++
}

// repairStep has each repair do its next part.
func (n *node) repairStep(w *World) {
	recount, _ := adminapi.RepairBlockRC.Worker()
	for i := range n.workers {
		r := &n.workers[i]
		switch {
		case r.name == resyncName || r.phase == done:
		case r.name == recount:
			n.recount(w)
			r.phase = done
		case r.phase == 0:
			for b := range w.objects {
				if n.rc[b] != (count{}) {
					n.enqueue(b, w.Clock)
				}
			}
			r.phase++
		default:
			for b := range w.objects {
				if n.files[b] == data && !n.unreadable {
					n.enqueue(b, w.Clock)
				}
			}
			if n.unreadable {
				r.errors++
			}
			n.unreadable = false
			r.phase = done
		}
	}
}

// recount counts references by the rows.
func (n *node) recount(w *World) {
	for b := range w.objects {
		refs := 0
		if n.rows[refOf][b] == live {
			refs = 1
		}
		if refs == 0 && n.rc[b].refs > 0 {
			n.rc[b].refs = 1
			n.unrefer(w, b)
		}
		n.rc[b].refs = refs
	}
}
