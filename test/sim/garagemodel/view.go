package garagemodel

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/holdfast-dev/holdfast/internal/garage/adminapi"
	"github.com/holdfast-dev/holdfast/internal/garage/drain"
	"github.com/holdfast-dev/holdfast/internal/kit/fact"
)

// listing is the Pod that lists the source's directories.
type listing struct {
	token string
	done  bool
	found drain.Listing
}

var errSilent = errors.New("no answer")

// answer is what a node says, and its health.
type answer struct {
	says   drain.Says
	health adminapi.ClusterHealth
}

// ask asks a node at its own address.
func (w *World) ask(n *node) (answer, error) {
	if !n.up || w.Clock < n.silent {
		return answer{}, errSilent
	}
	says := drain.Says{
		Info:   adminapi.NodeInfo{Version: fact.Known(adminapi.Version{Major: 2, Minor: 3}), DBEngine: "LMDB"},
		Layout: w.layoutOf(n), History: w.historyOf(n), Status: w.statusOf(n),
		Statistics: adminapi.NodeStatistics{Tables: fact.Known(w.tablesOf(n)), Blocks: fact.Known(n.blockCounts())},
		Workers:    n.workerList(),
	}
	if w.Inexact {
		says.Info.DBEngine = "Fjall"
	}
	for b := range n.failures {
		if n.failures[b].times > 0 {
			says.BlockErrors = append(says.BlockErrors, adminapi.BlockError{Hash: fmt.Sprint(b)})
		}
	}
	return answer{says, w.healthOf(n)}, nil
}

func (w *World) layoutOf(n *node) adminapi.Layout {
	layout := adminapi.Layout{Version: uint64(n.known), Staged: slices.Clone(n.staged.changes)}
	roles := w.version(n.known).roles
	for _, number := range slices.Sorted(maps.Keys(roles)) {
		layout.Roles = append(layout.Roles, adminapi.NodeRole{ID: w.nodes[number].id, Role: roles[number]})
	}
	return layout
}

func (w *World) historyOf(n *node) adminapi.LayoutHistory {
	history := adminapi.LayoutHistory{CurrentVersion: uint64(n.known)}
	if active := w.active(n); len(active) > 1 {
		history.Trackers = map[adminapi.NodeID]adminapi.Tracker{}
		for _, v := range active {
			for number := range w.version(v).roles {
				history.Trackers[w.nodes[number].id] = n.trackers[number]
			}
		}
	}
	return history
}

func (w *World) statusOf(n *node) adminapi.ClusterStatus {
	var status adminapi.ClusterStatus
	for _, other := range w.nodes {
		seen := adminapi.NodeStatus{ID: other.id, Up: w.reach(n, other)}
		if !other.noDisk {
			seen.Data = fact.Known(adminapi.Space{Available: 1, Total: 2})
		}
		seen.Metadata = fact.Known(adminapi.Space{Available: 1, Total: 2})
		status.Nodes = append(status.Nodes, seen)
	}
	return status
}

func (w *World) healthOf(n *node) adminapi.ClusterHealth {
	health := adminapi.ClusterHealth{Status: adminapi.Healthy, Partitions: partitions, PartitionsQuorum: partitions, PartitionsAllOK: partitions}
	for _, other := range w.nodes {
		if role, has := w.version(n.known).roles[other.number]; has {
			if _, storage := role.Capacity.Storage(); storage {
				health.StorageNodes++
				if w.reach(n, other) {
					health.StorageNodesUp++
				}
			}
		}
	}
	if health.StorageNodesUp < health.StorageNodes {
		health.Status, health.PartitionsAllOK = adminapi.Degraded, 0
	}
	return health
}

func (w *World) tablesOf(n *node) map[string]adminapi.TableStatistics {
	found := map[string]adminapi.TableStatistics{}
	for table, name := range []string{"object", "block_ref"} {
		var counts adminapi.TableStatistics
		for o := range n.rows[table] {
			if n.rows[table][o] != absent && !w.Inexact {
				counts.Items++
			}
			if n.merkle[table][o] && !w.Inexact {
				counts.MerkleQueue++
			}
		}
		if table == refOf {
			counts.InsertQueue = uint64(len(n.inserts))
		}
		found[name] = counts
	}
	return found
}

func (n *node) blockCounts() adminapi.BlockStatistics {
	counts := adminapi.BlockStatistics{ResyncQueue: uint64(len(n.queue))}
	for b := range n.rc {
		if n.rc[b] != (count{}) {
			counts.RCEntries++
		}
		if n.failures[b].times > 0 {
			counts.ResyncErrors++
		}
	}
	return counts
}

func (n *node) workerList() []adminapi.Worker {
	var found []adminapi.Worker
	for _, r := range n.workers {
		one := adminapi.Worker{ID: r.id, Name: r.name, State: adminapi.WorkerBusy, Errors: r.errors}
		switch {
		case r.name == resyncName:
			one.QueueLength, one.ConsecutiveErrors = fact.Known(uint64(len(n.queue))), uint64(n.fails)
			if !n.busy {
				one.State = adminapi.WorkerIdle
			}
		case r.phase == done:
			one.State = adminapi.WorkerDone
		}
		found = append(found, one)
	}
	return found
}

// order has the directories of the source listed, a little later. A token that is known is not ordered twice.
func (w *World) order(token string) {
	if w.list.token == token {
		return
	}
	w.list = listing{token: token}
	w.after(10, func() {
		if w.list.token != token || w.source().gone {
			return
		}
		w.list.done, w.list.found = true, drain.Listing{Token: token}
		for b := range w.source().files {
			if w.source().files[b] != nowhere {
				w.list.found.Blocks++
			}
		}
	})
}
