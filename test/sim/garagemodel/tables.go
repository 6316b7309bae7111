package garagemodel

import "slices"

// The tables: rows of objects, in which those of small ones have the object itself, and references to blocks.
const (
	rowOf = iota
	refOf
	tables
)

// state is a row on one node.
type state uint8

const (
	absent state = iota
	live
	tombstone
)

// disk is what a node keeps over a restart.
type disk struct {
	rows     [tables][most]state
	merkle   [tables][most]bool // rows that are not in the tree yet that is compared
	inserts  []int              // objects whose references are to be marked deleted everywhere
	rc       [most]count
	files    [most]place
	queue    []due
	failures [most]failure
}

func (d *disk) clone() disk {
	c := *d
	c.inserts, c.queue = slices.Clone(d.inserts), slices.Clone(d.queue)
	return c
}

func (w *World) partition(table, o int) int {
	if table == rowOf {
		return w.objects[o].of
	}
	return w.objects[o].at
}

// merge has a node take a row. A deletion wins.
func (w *World) merge(n *node, table, o int, s state) {
	before := n.rows[table][o]
	if s <= before {
		return
	}
	n.rows[table][o], n.merkle[table][o] = s, true
	switch {
	case table == refOf && s == live:
		n.refer(w, o)
	case table == refOf && before == live:
		n.unrefer(w, o)
	case table == rowOf && s == tombstone && !w.objects[o].inline:
		n.inserts = append(n.inserts, o)
	}
}

// each calls do for every row that a node has.
func (n *node) each(objects int, do func(table, o int)) {
	for table := range tables {
		for o := range objects {
			if n.rows[table][o] != absent {
				do(table, o)
			}
		}
	}
}

// push is the sync of a node for a new version: it gives its rows to those that are to have them, and says whether enough of
// them took all. What is not in the tree yet is not compared.
func (w *World) push(n *node, active []int) bool {
	enough := true
	n.each(len(w.objects), func(table, o int) {
		for _, v := range active {
			set := w.version(v).sets[w.partition(table, o)]
			took := 0
			for _, number := range set {
				if to := w.nodes[number]; w.reach(n, to) {
					took++
					if !n.merkle[table][o] {
						w.merge(to, table, o, n.rows[table][o])
					}
				}
			}
			enough = enough && took >= w.writeQuorum()
		}
	})
	return enough
}

// compare is the comparison of the rows of what a node stores with the others of each set, from time to time.
func (w *World) compare(n *node) {
	n.each(len(w.objects), func(table, o int) {
		set := w.version(n.known).sets[w.partition(table, o)]
		for _, number := range set {
			if to := w.nodes[number]; slices.Contains(set, n.number) && w.reach(n, to) && !n.merkle[table][o] {
				w.merge(to, table, o, n.rows[table][o])
			}
		}
	})
}

// stores says that a node stores a partition in a version that is active to it.
func (w *World) stores(n *node, partition int) bool {
	return slices.ContainsFunc(w.active(n), func(v int) bool { return slices.Contains(w.version(v).sets[partition], n.number) })
}

// offload has a node give away rows that it is not to have: to every node of the partition, all of which have to take them.
func (w *World) offload(n *node) {
	left := 8
	if w.Pace > 0 {
		left = 1 - min(1, w.Clock%w.Pace)
	}
	n.each(len(w.objects), func(table, o int) {
		p := w.partition(table, o)
		if left == 0 || w.stores(n, p) {
			return
		}
		left--
		set := w.version(n.known).sets[p]
		if slices.ContainsFunc(set, func(number int) bool { return !w.reach(n, w.nodes[number]) }) {
			return
		}
		s := n.rows[table][o]
		for _, number := range set {
			w.merge(w.nodes[number], table, o, s)
		}
		n.rows[table][o], n.merkle[table][o] = absent, false
		if table == refOf && s == live {
			n.unrefer(w, o)
		}
	})
}

// insertQueued has a node carry out the writes that follow from its own rows.
func (w *World) insertQueued(n *node) {
	n.inserts = slices.DeleteFunc(n.inserts, func(o int) bool { return w.insert(n, w.active(n), refOf, o, tombstone, nil) })
}

// insert writes a row to the sets of these versions, except to those that are late, and says whether a quorum of each took it.
func (w *World) insert(by *node, versions []int, table, o int, s state, late func(int) bool) bool {
	return w.quorum(by, versions, w.partition(table, o), late, func(to *node) { w.merge(to, table, o, s) })
}

// quorum sends something to the nodes of a partition in these versions.
func (w *World) quorum(by *node, versions []int, partition int, late func(int) bool, take func(*node)) bool {
	enough := true
	for _, v := range versions {
		took := 0
		for _, number := range w.version(v).sets[partition] {
			to := w.nodes[number]
			if !w.reach(by, to) || late != nil && late(number) {
				continue
			}
			took++
			take(to)
		}
		enough = enough && took >= w.writeQuorum()
	}
	return enough
}
