package garagefake

import (
	"maps"
	"slices"
	"time"
)

// advance lets everything happen that is due by the clock.
func (c *Cluster) advance() {
	until := c.options.Clock.Now()
	for !c.last.Add(tick).After(until) {
		c.last = c.last.Add(tick)
		for _, n := range c.nodes {
			if n.running {
				n.link(c.last)
			}
		}
		for _, n := range c.nodes {
			if n.running {
				n.gossip()
			}
		}
		for _, n := range c.nodes {
			if n.running {
				n.sync(c.last)
				n.offload(c.last)
				n.resync(c.last)
				n.work(c.last)
			}
		}
	}
}

// reaches says whether the network lets two running nodes connect.
func (n *node) reaches(other *node) bool {
	return n.running && other.running && !n.cut && !other.cut
}

// withID is the node that has this identity now, nil for none.
func (c *Cluster) withID(id string) *node {
	for _, n := range c.nodes {
		if n.id == id {
			return n
		}
	}
	return nil
}

// link notices who is there and who is not.
func (n *node) link(now time.Time) {
	for id, peer := range n.peers {
		other := n.cluster.withID(id)
		there := other != nil && n.reaches(other)
		switch {
		case peer.up:
			peer.watch(there, now)
		case peer.redial.After(now):
		case there:
			n.connect(id, now)
		default:
			peer.redial = now.Add(redialAfter)
		}
	}
}

// watch notices, late, that a peer is not there any more.
func (p *peer) watch(there bool, now time.Time) {
	switch {
	case there:
		p.lost, p.seen = time.Time{}, now
	case p.lost.IsZero():
		p.lost = now
	case !now.Before(p.lost.Add(noticeAfter)):
		*p = peer{seen: p.seen, redial: now.Add(redialAfter)}
	}
}

// connect makes a connection, which has the other one connect back.
func (n *node) connect(id string, now time.Time) {
	other := n.cluster.withID(id)
	*n.peer(id) = peer{up: true, addr: n.cluster.RPC(other.at), seen: now}
	if back := other.peer(n.id); !back.up && back.redial.After(now.Add(time.Second)) {
		back.redial = now.Add(time.Second)
	}
}

// gossip takes over what the connected nodes know.
func (n *node) gossip() {
	for _, other := range n.cluster.nodes {
		if other != n && n.up(other.id) && n.reaches(other) && n.history.merge(&other.history) {
			n.own()
		}
	}
}

// own writes what follows for the node itself from news about layouts, and saves all.
func (n *node) own() {
	h := &n.history
	mine := h.trackers[n.id]
	mine.ack = h.current().number
	mine.sync = max(mine.sync, h.oldest())
	h.trackers[n.id] = mine
	h.retire(n.cluster.options.Degraded)
	mine = h.trackers[n.id]
	mine.syncAck = max(mine.syncAck, h.minSync(n.cluster.options.ReplicationFactor))
	h.trackers[n.id] = mine
	h.retire(n.cluster.options.Degraded)
	n.saved = h.clone()
}

// sync gives away what the current layout wants elsewhere, some time after every node knows of it. That is not news about
// layouts: so a node without neighbours never sees that it is in step.
func (n *node) sync(now time.Time) {
	h := &n.history
	v := h.current().number
	if h.minAck() < v {
		n.acked = time.Time{}
		return
	}
	if n.acked.IsZero() {
		n.acked = now
	}
	if mine := h.trackers[n.id]; mine.sync < v && !now.Before(n.acked.Add(syncAfter)) {
		for _, object := range slices.Sorted(maps.Keys(n.rows)) {
			n.give(object, now)
		}
		mine.sync = v
		h.trackers[n.id] = mine
	}
}

// give has the nodes that should have an object know of it.
func (n *node) give(object int, now time.Time) (all bool) {
	all = true
	for _, id := range n.history.current().set(object % partitions) {
		other := n.cluster.withID(id)
		if other == nil || !n.reaches(other) {
			all = false
			continue
		}
		other.learn(object, now)
	}
	return all
}
