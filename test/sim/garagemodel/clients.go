package garagemodel

import "slices"

// A Put is how a client writes an object.
type Put struct {
	// Through is the node that is asked; the next one that serves is, where it does not.
	Through int
	// Of and At are the partitions of its row and of its block.
	Of, At int
	// Inline is an object without a block.
	Inline bool
	// Late is the number of a node that takes part later than the client is told, and After how many seconds; for ever, when
	// it is negative.
	Late, After int
	// Slow is how many seconds the client takes.
	Slow int
}

// Put has a client write an object. It says whether there was somebody to ask.
func (w *World) Put(put Put) bool {
	by := w.serving(put.Through)
	if by == nil || len(w.objects) == most {
		return false
	}
	o := len(w.objects)
	w.objects = append(w.objects, object{of: put.Of % partitions, at: put.At % partitions, inline: put.Inline})
	if put.Slow == 0 {
		w.store(by, o, w.active(by), put)
		return true
	}
	versions, life := w.active(by), by.life
	by.writing = append(by.writing, by.known)
	at := by.known
	w.after(min(put.Slow, rpcTimeout), func() {
		if !by.up || by.life != life {
			return
		}
		w.store(by, o, versions, put)
		by.writing = slices.Delete(by.writing, slices.Index(by.writing, at), slices.Index(by.writing, at)+1)
	})
	return true
}

// store writes block and rows, and acknowledges what a quorum of each set of these versions has taken.
func (w *World) store(by *node, o int, versions []int, put Put) {
	late := func(number int) bool { return put.After != 0 && number == put.Late }
	send := func(late func(int) bool) bool {
		enough := true
		if !put.Inline {
			enough = w.quorum(by, versions, w.objects[o].at, late, func(to *node) { to.write(w, o) })
			enough = w.insert(by, versions, refOf, o, live, late) && enough
		}
		return w.insert(by, versions, rowOf, o, live, late) && enough
	}
	if put.After > 0 {
		life := by.life
		w.after(min(put.After, rpcTimeout), func() {
			if by.up && by.life == life {
				send(func(number int) bool { return !late(number) })
			}
		})
	}
	w.objects[o].acked = send(late)
}

// Delete has a client delete an object that is acknowledged. Whatever comes of it, nobody is promised the object any more.
func (w *World) Delete(through, number int) bool {
	by := w.serving(through)
	if by == nil || len(w.objects) == 0 {
		return false
	}
	o := number % len(w.objects)
	if !w.objects[o].acked || w.objects[o].deleted {
		return false
	}
	w.objects[o].deleted = true
	w.insert(by, w.active(by), rowOf, o, tombstone, nil)
	return true
}

// serving is a node that answers S3 requests, from that number on: it is in the Service, and has the keys.
func (w *World) serving(from int) *node {
	for i := range w.nodes {
		n := w.nodes[(from+i)%len(w.nodes)]
		_, role := w.version(n.known).roles[n.number]
		out := n.number == w.Source && !w.Record.newest().Serves
		if n.up && role && !out {
			return n
		}
	}
	return nil
}

// missing says which acknowledged writes have too few copies without the source. It is to be as many as a write quorum, so that
// whoever reaches a read quorum reads them; and one where a disk has lost its own. With held, only those count of which
// the source has something.
func (w *World) missing(held bool) []int {
	var found []int
	for o, object := range w.objects {
		if !object.acked || object.deleted {
			continue
		}
		s := w.source()
		has := s.rows[rowOf][o] != absent || s.rows[refOf][o] != absent || s.files[o] != nowhere
		if (has || !held) && w.few(o) {
			found = append(found, o)
		}
	}
	return found
}

// few says that an object has too few copies without the source, or that too few nodes are asked for it.
func (w *World) few(o int) bool {
	object, need := w.objects[o], w.writeQuorum()
	if object.hurt {
		need = 1
	}
	rows := w.copies(object.of, func(n *node) bool { return n.rows[rowOf][o] != absent })
	files := w.copies(object.at, func(n *node) bool { return n.files[o] == data })
	return rows < need || !object.inline && files < need || !w.asked(object.of)
}

// asked says that without the source every node still has enough nodes to ask for a row: it asks those of the oldest version
// that is in use to it.
func (w *World) asked(partition int) bool {
	quorum := (w.Factor + 1) / 2
	for _, n := range w.nodes {
		if _, member := w.versions[len(w.versions)-1].roles[n.number]; !member || !n.up || n.number == w.Source {
			continue
		}
		left := slices.DeleteFunc(slices.Clone(w.version(w.active(n)[0]).sets[partition]), func(number int) bool { return number == w.Source })
		if len(left) < quorum {
			return false
		}
	}
	return true
}

// copies counts the nodes of a partition other than the source that have something.
func (w *World) copies(partition int, has func(*node) bool) int {
	found := 0
	for _, number := range w.versions[len(w.versions)-1].sets[partition] {
		if n := w.nodes[number]; number != w.Source && !n.gone && has(n) {
			found++
		}
	}
	return found
}
