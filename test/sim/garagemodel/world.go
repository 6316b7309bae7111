package garagemodel

import (
	"fmt"
	"slices"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/garage/adminapi"
)

const (
	// partitions is how many there are. Garage has 256.
	partitions = 4
	// most is how many objects a history has at most, and so how many blocks: each has its own.
	most = 48
	// tick is how many seconds pass at a time.
	tick = 5
	// gcDelay is after how many seconds a block without references may go.
	gcDelay = 600
	// rpcTimeout is the rpc_timeout of every process, in seconds.
	rpcTimeout = 300
	// treeEvery is how often the tree of rows that nodes compare is brought up to date.
	treeEvery = 20
	// periodic is how often a node compares all its rows with the others'.
	periodic = 600
)

// World is a Garage cluster with a node that is to go, and the truth about it.
type World struct {
	// Factor is the replication factor.
	Factor int
	// Source is the number of the node that is to go.
	Source int
	// Clock is the time in seconds.
	Clock int
	// Pace is how many seconds the offload of a row takes; 0 for many rows at a time.
	Pace int
	// Inexact says that the engine of the nodes does not count rows as they come and go.
	Inexact bool
	// Restored says that another writer gave the source its role back. A source that has given its rows away, and deletes its
	// blocks before they are back, then loses them, whatever anybody proves.
	Restored bool
	// Record is what the API server has.
	Record *Store

	nodes    []*node
	versions []version // by number, from 1 on
	objects  []object
	later    []event
	stamp    int          // of staging
	cut      map[link]int // until when two nodes do not reach each other
	list     listing
}

// node is one Garage: its disk, which survives, and its process.
type node struct {
	number int
	id     adminapi.NodeID
	up     bool
	gone   bool
	noDisk bool // its data directory has gone from under it
	life   int
	shown  int  // the life that its Pod shows, a little later
	wakes  int  // when it is up again
	skips  bool // somebody has it skip dead nodes in the next change of the layout
	silent int  // until when its Admin API does not answer
	deaf   bool // its worker that checks blocks will not hear that there is work, once

	heard
	disk
	process
	saved []disk // what a loss of power leaves, the newest last
}

// heard is what a node knows of the layout.
type heard struct {
	known    int
	trackers []adminapi.Tracker // by node
	staged   staging
	writing  []int // the versions under which it is writing, as one that coordinates
}

// object is what a client wrote, and what was acknowledged of it.
type object struct {
	of, at         int // the partitions of its row and of its block
	inline         bool
	acked, deleted bool
	hurt           bool // a loss of power has taken a copy, or a disk has
}

// event is what happens later.
type event struct {
	at int
	do func()
}

type link struct{ a, b int }

// NewWorld makes so many storage nodes, and a gateway.
func NewWorld(factor, storage int, gateway bool, source int) *World {
	w := &World{Factor: factor, Source: source, Record: newStore(), cut: map[link]int{}}
	roles := map[int]adminapi.Role{}
	count := storage
	if gateway {
		count++
	}
	for i := range count {
		roles[i] = adminapi.Role{Zone: "a", Capacity: adminapi.Bytes(1 << 30)}
		if i >= storage {
			roles[i] = adminapi.Role{Zone: "a", Capacity: adminapi.Gateway()}
		}
		w.nodes = append(w.nodes, &node{
			number: i, id: adminapi.NodeID(strings.Repeat(fmt.Sprintf("%02x", i+1), 32)), up: true,
			heard: heard{known: 1}, process: process{workers: []worker{{id: 1, name: resyncName}}, next: 2},
		})
	}
	w.versions = []version{w.compute(roles)}
	for _, n := range w.nodes {
		for range w.nodes {
			n.trackers = append(n.trackers, adminapi.Tracker{Ack: 1, Sync: 1, SyncAck: 1})
		}
		n.saved = []disk{n.clone()}
	}
	return w
}

func (w *World) source() *node { return w.nodes[w.Source] }

// name is the GarageNode's.
func (n *node) name() string { return fmt.Sprintf("g-%d", n.number) }

func (w *World) byID(id adminapi.NodeID) *node {
	i := slices.IndexFunc(w.nodes, func(n *node) bool { return n.id == id })
	return w.nodes[i]
}

// reach says that a can ask b something, and gets an answer.
func (w *World) reach(a, b *node) bool {
	return a.up && b.up && (a == b || w.Clock >= w.cut[link{min(a.number, b.number), max(a.number, b.number)}])
}

// Pass lets so many seconds pass.
func (w *World) Pass(seconds int) {
	for end := w.Clock + seconds; w.Clock < end; {
		w.Clock += tick
		w.happen()
		for _, n := range w.nodes {
			if !n.up && !n.gone && w.Clock >= n.wakes {
				w.start(n)
			}
		}
		for _, n := range w.nodes {
			if n.up {
				w.work(n)
			}
		}
		for _, n := range w.nodes {
			if w.Clock%10 == 0 {
				n.shown = n.life
			}
		}
		if w.Clock%30 == 0 {
			w.save()
		}
	}
}

// happen has what was to happen by now happen.
func (w *World) happen() {
	due := w.later
	w.later = nil
	for _, e := range due {
		if e.at > w.Clock {
			w.later = append(w.later, e)
			continue
		}
		e.do()
	}
}

func (w *World) after(seconds int, do func()) {
	w.later = append(w.later, event{w.Clock + seconds, do})
}

// work is what a process does by itself in a tick.
func (w *World) work(n *node) {
	w.gossip(n)
	w.skipDead(n)
	w.takeOver(n)
	if w.Clock%treeEvery == 0 && !n.stalls(w, stallMerkle) {
		n.merkle = [tables][most]bool{}
	}
	if !n.stalls(w, stallOffload) {
		w.offload(n)
	}
	if !n.stalls(w, stallInserts) {
		w.insertQueued(n)
	}
	if w.Clock%periodic == 60*(n.number%10) {
		w.compare(n)
	}
	n.repairStep(w)
	w.resync(n)
}

// start is a process that begins: its disk is as it was, and what it only remembered is gone.
func (w *World) start(n *node) {
	n.up = true
	n.life++
	n.process = process{workers: []worker{{id: 1, name: resyncName}}, next: 2}
	n.writing = nil
}

// kill ends a process for so many seconds.
func (w *World) kill(n *node, seconds int) {
	n.up, n.wakes = false, w.Clock+seconds
}

// save remembers what is on the disks, twice.
func (w *World) save() {
	for _, n := range w.nodes {
		if n.up {
			n.saved = append(n.saved[max(0, len(n.saved)-2):], n.clone())
		}
	}
}

// losePower ends a process, and what its disk was given in the last minute is as it was before. With fewer than three
// copies this is what fsync is for: there the rows are kept, and only blocks are lost.
func (w *World) losePower(n *node, seconds int) {
	before := n.saved[0]
	for o := range w.objects {
		rows := w.Factor >= 3 && (n.rows[rowOf][o] != before.rows[rowOf][o] || n.rows[refOf][o] != before.rows[refOf][o])
		w.objects[o].hurt = w.objects[o].hurt || rows || n.files[o] != before.files[o]
	}
	if w.Factor >= 3 {
		n.disk = before.clone()
	} else {
		for b := range n.files {
			if before.files[b] == nowhere {
				n.files[b] = nowhere
			}
		}
	}
	w.kill(n, seconds)
}
