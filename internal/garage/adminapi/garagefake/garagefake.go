// Package garagefake is a Garage cluster in memory, for tests that cannot wait for a real one: its clock is theirs. It
// answers the Admin API as Garage of a given version does, each node with its own view, and lets what takes time take time:
// layouts that settle, tables that empty, blocks that stay for 600 s and more.
//
// What it does is what the rows of package contract show that real servers do, and no more. It has no S3 API: Store puts
// objects where they would be.
package garagefake

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// How long things take. A test that counts on a figure of these, and not on the order, is wrong; but for those of blocks,
// which are Garage's own constants.
const (
	// BlockDelay is how long a block stays that nothing refers to any more; it is looked at 10 s later.
	BlockDelay = 600 * time.Second
	// PullDelay is how long after a block should be there the node checks whether it is.
	PullDelay = 600 * time.Second

	tick        = 100 * time.Millisecond // everything happens at a multiple of it
	linkAfter   = 300 * time.Millisecond // from a start to connections to the others
	linkedAfter = 1300 * time.Millisecond
	noticeAfter = time.Second // from a death to the neighbours' notice of it
	redialAfter = 30 * time.Second
	syncAfter   = time.Second     // from the last acknowledgement to a table sync
	emptyAfter  = 2 * time.Second // from a settled layout to empty tables
	retryAfter  = time.Minute     // from a failed check of a block to the next
)

// Token is the static admin token of every node.
const Token = "1a2b3c4d5e6f708192a3b4c5d6e7f801"

// Options are what a cluster is made with.
type Options struct {
	// Version is that of Garage, for instance "2.3.0".
	Version string
	// Nodes is how many there are.
	Nodes int
	// ReplicationFactor is 0 for 3.
	ReplicationFactor int
	// Clock tells the time.
	Clock clock.PassiveClock
	// Degraded is consistency_mode = "degraded" on every node, and DisableScrub is disable_scrub.
	Degraded, DisableScrub bool
}

// Cluster is nodes that know of each other, all running, without a layout. It is safe for concurrent use.
type Cluster struct {
	options Options
	minor   int

	mu      sync.Mutex
	nodes   []*node
	last    time.Time // up to which everything has happened
	objects int
}

var _ http.RoundTripper = &Cluster{}

// New starts a cluster.
func New(options Options) (*Cluster, error) {
	options.ReplicationFactor = cmp.Or(options.ReplicationFactor, 3)
	c := &Cluster{options: options, last: options.Clock.Now()}
	if _, err := fmt.Sscanf(options.Version, "2.%d.", &c.minor); err != nil {
		return nil, fmt.Errorf("%q is not a version of Garage 2: %w", options.Version, err)
	}
	for i := range options.Nodes {
		n := &node{cluster: c, at: i}
		n.wipe()
		c.nodes = append(c.nodes, n)
	}
	for _, n := range c.nodes {
		n.start(c.last)
	}
	return c, nil
}

// node is one process and its disk.
type node struct {
	cluster *Cluster
	at      int

	// On the disk.
	lives     int // identities so far
	id        string
	saved     history
	variables map[string]string
	data

	// In the process.
	running bool
	cut     bool
	history history
	peers   map[string]*peer
	workers []*worker
	settled time.Time // since when one layout is active, zero while several are
	acked   time.Time // since when every node has acknowledged the current layout
}

// peer is another node, as one node knows it.
type peer struct {
	up     bool
	addr   string    // while it is up
	seen   time.Time // zero for never
	lost   time.Time // since when it is not there, while that is not noticed yet
	redial time.Time
}

// wipe empties the disk: the node starts with another identity.
func (n *node) wipe() {
	n.lives++
	sum := sha256.Sum256(fmt.Appendf(nil, "node %d, life %d", n.at, n.lives))
	n.id = hex.EncodeToString(sum[:])
	n.saved = newHistory()
	n.variables = map[string]string{"resync-worker-count": "1", "resync-tranquility": "2", "scrub-tranquility": "4"}
	n.data = newData()
}

func (n *node) start(now time.Time) {
	n.running = true
	n.history = n.saved.clone()
	n.settled, n.acked = time.Time{}, time.Time{}
	n.startWorkers()
	n.peers = map[string]*peer{}
	for _, other := range n.cluster.nodes {
		if other != n {
			n.peers[other.firstID()] = &peer{}
			n.peer(other.id).redial = now.Add(linkAfter)
			if other.running {
				other.peer(n.id).redial = now.Add(linkedAfter)
			}
		}
	}
	n.own()
}

// firstID is the identity that the others have as a bootstrap peer.
func (n *node) firstID() string {
	first := &node{at: n.at}
	first.wipe()
	return first.id
}

func (n *node) peer(id string) *peer {
	if n.peers[id] == nil {
		n.peers[id] = &peer{}
	}
	return n.peers[id]
}

// up says whether the node has a connection to another one, or is it.
func (n *node) up(id string) bool {
	return id == n.id || n.peers[id] != nil && n.peers[id].up
}

// ID is the identity of node number i, as it is on its disk now.
func (c *Cluster) ID(i int) string { return do(c, func() string { return c.nodes[i].id }) }

// Admin is the base URL of the Admin API of node number i, which the cluster answers as a transport.
func (c *Cluster) Admin(i int) string { return "http://" + adminAddress(i) }

func adminAddress(i int) string { return fmt.Sprintf("10.0.0.%d:3903", i+1) }

// RPC is the address and port at which other nodes reach node number i.
func (c *Cluster) RPC(i int) string { return fmt.Sprintf("10.0.0.%d:3901", i+1) }

// Stop ends the process of node number i, cleanly or not: the neighbours notice as late. It may start again.
func (c *Cluster) Stop(i int) {
	do(c, func() struct{} { c.nodes[i].running = false; return struct{}{} })
}

// Start starts the process of node number i.
func (c *Cluster) Start(i int) {
	do(c, func() struct{} { c.nodes[i].start(c.last); return struct{}{} })
}

// Wipe empties the disk of node number i, which does not run. It starts with another identity then.
func (c *Cluster) Wipe(i int) {
	do(c, func() struct{} { c.nodes[i].wipe(); return struct{}{} })
}

// Cut breaks the connections between node number i and all others. Clients still reach it.
func (c *Cluster) Cut(i int) {
	do(c, func() struct{} { c.nodes[i].cut = true; return struct{}{} })
}

// Heal lets connections through again. The nodes try half a minute later, or when they are told to connect.
func (c *Cluster) Heal(i int) {
	do(c, func() struct{} { c.nodes[i].cut = false; return struct{}{} })
}

// do lets everything happen that is due, and then something more.
func do[T any](c *Cluster, what func() T) T {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.advance()
	return what()
}

// RoundTrip carries a request to the node with that address, and fails as a dialler does when none runs there.
func (c *Cluster) RoundTrip(request *http.Request) (*http.Response, error) {
	if err := request.Context().Err(); err != nil {
		return nil, err
	}
	recorder := httptest.NewRecorder()
	if served := do(c, func() bool {
		for i, n := range c.nodes {
			if n.running && adminAddress(i) == request.URL.Host {
				n.serve(recorder, request)
				return true
			}
		}
		return false
	}); !served {
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: errors.New("connect: connection refused")}
	}
	response := recorder.Result()
	response.Request = request
	return response, nil
}

// Handler serves node number i over connections of the caller's.
func (c *Cluster) Handler(i int) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !do(c, func() bool {
			n := c.nodes[i]
			if n.running {
				n.serve(w, r)
			}
			return n.running
		}) {
			panic(http.ErrAbortHandler) // nobody is there: the connection breaks
		}
	})
}

// garageVersion is the version's name as a published crate has it.
func (c *Cluster) garageVersion() string {
	return "cargo:" + strings.TrimPrefix(c.options.Version, "v")
}
