package garagemodel

import (
	"github.com/holdfast-dev/holdfast/internal/garage/adminapi"
)

// A Disturbance is something that happens to the store, or that somebody does to it. It says whether there was anything to do
// it to.
type Disturbance struct {
	// Name says what.
	Name string
	do   func(w *World, n *node, number int) bool
}

// Disturb does it to a node. number tells one from another.
func (w *World) Disturb(d Disturbance, node, number int) bool {
	n := w.nodes[node%len(w.nodes)]
	return !n.gone && d.do(w, n, number)
}

// whiles are how long something lasts, in seconds.
var whiles = []int{20, 90, 300, 700, 1500}

func while(number int) int { return whiles[number%len(whiles)] }

// Failures are what goes wrong by itself.
var Failures = []Disturbance{
	{"kill the process", func(w *World, n *node, number int) bool {
		was := n.up
		w.kill(n, while(number))
		return was
	}},
	{"lose the power", func(w *World, n *node, number int) bool {
		was := n.up
		if was {
			w.losePower(n, while(number))
		}
		return was
	}},
	{"cut a connection", func(w *World, n *node, number int) bool {
		other := w.nodes[(n.number+1+number%(len(w.nodes)-1))%len(w.nodes)]
		w.cut[link{min(n.number, other.number), max(n.number, other.number)}] = w.Clock + while(number/3)
		return true
	}},
	{"silence the Admin API", func(w *World, n *node, number int) bool {
		n.silent = w.Clock + while(number)
		return true
	}},
	stall("the tree of rows", stallMerkle),
	stall("the sync", stallSync),
	stall("the offload", stallOffload),
	{"starve the tables", func(w *World, n *node, number int) bool {
		n.stalled[stallMerkle] = w.Clock + while(number)
		n.stalled[stallOffload] = n.stalled[stallMerkle]
		return n.up
	}},
	stall("the queue of rows", stallInserts),
	stall("the gossip", stallGossip),
	stall("the checks of blocks", stallResync),
	{"sleep over work", func(_ *World, n *node, _ int) bool {
		was := n.deaf
		n.deaf = true
		return !was
	}},
	{"cannot read a directory", func(_ *World, n *node, _ int) bool {
		was := n.unreadable
		n.unreadable = true
		return !was
	}},
	{"lose the data directory", func(w *World, n *node, _ int) bool {
		if n.noDisk || n.number == w.Source {
			return false
		}
		n.noDisk = true
		for b := range n.files {
			if n.files[b] != nowhere {
				n.files[b] = nowhere
				w.objects[b].hurt = true
			}
		}
		return true
	}},
}

func stall(what string, part int) Disturbance {
	return Disturbance{"hold up " + what, func(w *World, n *node, number int) bool {
		n.stalled[part] = w.Clock + while(number)
		return n.up
	}}
}

// Clients are what those do who use the store.
var Clients = []Disturbance{
	{"put", func(w *World, n *node, number int) bool {
		return w.Put(Put{Through: n.number, Of: number, At: number / 4})
	}},
	{"put a small object", func(w *World, n *node, number int) bool {
		return w.Put(Put{Through: n.number, Of: number, Inline: true})
	}},
	{"put, and one node is late", func(w *World, n *node, number int) bool {
		return w.Put(Put{Through: n.number + number, Of: number, At: number / 4, Late: n.number, After: []int{-1, 40, 250}[number%3]})
	}},
	{"put slowly", func(w *World, n *node, number int) bool {
		return w.Put(Put{Through: n.number, Of: number, At: number / 4, Slow: while(number)})
	}},
	{"put a small object slowly", func(w *World, n *node, number int) bool {
		return w.Put(Put{Through: n.number, Of: number, Inline: true, Slow: while(number)})
	}},
	{"delete", func(w *World, n *node, number int) bool { return w.Delete(n.number, number) }},
}

// Leftovers are what lies on the source from before.
var Leftovers = []Disturbance{
	{"a file that nothing refers to", func(w *World, _ *node, number int) bool { return w.leave(number, dropped) }},
	{"a count without rows", func(w *World, _ *node, number int) bool {
		if !w.leave(number, data) {
			return false
		}
		w.source().rc[len(w.objects)-1].refs++
		return true
	}},
}

// leave puts a file on the source that no object has.
func (w *World) leave(number int, where place) bool {
	if len(w.objects) == most {
		return false
	}
	w.objects = append(w.objects, object{of: number % partitions, at: number % partitions})
	w.source().files[len(w.objects)-1] = where
	return true
}

// Users are what those do who have a say.
var Users = []Disturbance{
	{"take the order back", func(w *World, _ *node, _ int) bool {
		if now := w.Record.newest(); !now.Ordered || now.Deleted {
			return false
		}
		w.Record.edit(func(r *Record) { r.Ordered = false })
		return true
	}},
	{"order it again", func(w *World, _ *node, _ int) bool {
		if w.Record.newest().Ordered {
			return false
		}
		w.Record.edit(func(r *Record) { r.Ordered = true })
		return true
	}},
	{"look at the leftovers", func(w *World, _ *node, _ int) bool {
		found := false
		for b := range w.source().files {
			if w.source().files[b] == dropped {
				w.source().files[b], found = nowhere, true
			}
		}
		return found
	}},
}

// Foreigners are what another writer does to the layout.
var Foreigners = []Disturbance{
	{"stage another capacity", func(w *World, n *node, number int) bool { return w.stageForeign(n, number) }},
	{"apply another capacity", func(w *World, n *node, number int) bool {
		return w.stageForeign(n, number) && w.apply(n, n.known+1) == nil
	}},
	{"apply whatever is staged", func(w *World, n *node, _ int) bool { return n.up && w.apply(n, n.known+1) == nil }},
	{"revert what is staged", func(w *World, n *node, _ int) bool {
		if n.up {
			w.revert(n)
		}
		return n.up
	}},
	{"give the source its role back", func(w *World, n *node, _ int) bool {
		if _, has := w.version(n.known).roles[w.Source]; has || !n.up || w.Record.newest().Deleted {
			return false
		}
		w.Restored = true
		w.stage(n, []adminapi.RoleChange{adminapi.Assign(w.source().id, adminapi.Role{Zone: "a", Capacity: adminapi.Bytes(1 << 30)})})
		return w.apply(n, n.known+1) == nil
	}},
	{"skip dead nodes, and allow missing data", func(_ *World, n *node, _ int) bool {
		was := n.skips
		n.skips = true // as soon as there is something to skip
		return !was
	}},
}

func (w *World) stageForeign(n *node, number int) bool {
	other := w.nodes[(w.Source+1)%len(w.nodes)]
	role, has := w.version(n.known).roles[other.number]
	if !has || !n.up {
		return false
	}
	if _, storage := role.Capacity.Storage(); storage {
		role.Capacity = adminapi.Bytes(uint64(1<<30 + number))
	}
	role.Tags = []string{"foreign"}
	w.stage(n, []adminapi.RoleChange{adminapi.Assign(other.id, role)})
	return true
}

// Heal undoes what goes wrong by itself, for good. A disk that was lost stays lost.
func (w *World) Heal() {
	clear(w.cut)
	for _, n := range w.nodes {
		n.stalled, n.silent, n.deaf, n.unreadable, n.skips = [stalls]int{}, 0, false, false, false
		n.wakes = min(n.wakes, w.Clock)
	}
}
