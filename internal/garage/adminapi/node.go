package adminapi

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/holdfast-dev/holdfast/internal/kit/fact"
)

// NodeInfo is what a node says of itself (Garage server facts, 2.6 Node, workers, repair, blocks).
type NodeInfo struct {
	// GarageVersion is what the node calls its version, and Version the version in it.
	GarageVersion string
	Version       fact.Fact[Version]
	// DBEngine begins with "LMDB", "sqlite3" or "Fjall".
	DBEngine string
	// Hostname is the name of its machine. It is unknown before Garage 2.3.
	Hostname fact.Fact[string]
	// Addr is its address and port for RPC. It is unknown before Garage 2.4, and to a node without one.
	Addr fact.Fact[string]
	// Draining says that the node had a role in an older layout that is still active, and has none now. It is unknown before
	// Garage 2.4, and no proof of anything when it is false.
	Draining fact.Fact[bool]
	// Data and Metadata are its file systems. They are unknown before Garage 2.4.
	Data, Metadata fact.Fact[Space]
}

var getNodeInfo = call{endpoint: "GetNodeInfo", method: http.MethodGet, node: true, timeout: quick}

// GetNodeInfo reads what the node is.
func (c *Client) GetNodeInfo(ctx context.Context) (Answer[NodeInfo], error) {
	return askNode(ctx, c, getNodeInfo, nil, func(o *object) NodeInfo {
		if id := nodeID(o, "nodeId"); id != o.node {
			o.wrong("node %s calls itself %s", o.node, id)
		}
		name := need[string](o, "garageVersion")
		return NodeInfo{
			GarageVersion: name,
			Version:       ParseVersion(name),
			DBEngine:      need[string](o, "dbEngine"),
			Hostname:      maybe[string](o, "hostname"),
			Addr:          maybe[string](o, "addr"),
			Draining:      maybe[bool](o, "draining"),
			Data:          maybeUnder(o, "dataPartition", readSpace),
			Metadata:      maybeUnder(o, "metadataPartition", readSpace),
		}
	})
}

// NodeStatistics are the counts of a node. They are exact on LMDB and SQLite, not on Fjall.
type NodeStatistics struct {
	// Tables are by their names, for instance "block_ref". They are unknown before Garage 2.3.
	Tables fact.Fact[map[string]TableStatistics]
	// Blocks are unknown before Garage 2.3.
	Blocks fact.Fact[BlockStatistics]
}

// TableStatistics counts the rows of one table, and of its queues.
type TableStatistics struct{ Items, MerkleItems, MerkleQueue, InsertQueue, GCQueue uint64 }

// BlockStatistics counts what the node knows of blocks.
type BlockStatistics struct {
	// RCEntries are reference counts, some of them of blocks that are gone.
	RCEntries uint64
	// ResyncQueue has also the checks that are due in the future.
	ResyncQueue uint64
	// ResyncErrors are blocks whose last check failed.
	ResyncErrors uint64
}

// On SQLite Garage counts every row for this.
var getNodeStatistics = call{endpoint: "GetNodeStatistics", method: http.MethodGet, node: true, timeout: slow}

// GetNodeStatistics reads how much the node has of everything.
func (c *Client) GetNodeStatistics(ctx context.Context) (Answer[NodeStatistics], error) {
	return askNode(ctx, c, getNodeStatistics, nil, func(o *object) NodeStatistics {
		need[string](o, "freeform") // which all versions have: without it this is another endpoint's reply
		statistics := NodeStatistics{Blocks: maybeUnder(o, "blockManagerStats", func(o *object) BlockStatistics {
			return BlockStatistics{
				RCEntries:    need[uint64](o, "rcEntries"),
				ResyncQueue:  need[uint64](o, "resyncQueueLen"),
				ResyncErrors: need[uint64](o, "resyncErrors"),
			}
		})}
		rows := maybe[json.RawMessage](o, "tableStats")
		if text, known := rows.Get(); known {
			statistics.Tables = fact.Known(readTables(o, text))
		} else {
			statistics.Tables = fact.Unknown[map[string]TableStatistics](rows.Why())
		}
		return statistics
	})
}

// readTables wants rows: a node without any table is not empty, it is something else.
func readTables(o *object, text json.RawMessage) map[string]TableStatistics {
	tables := map[string]TableStatistics{}
	rows := list(o, text, "tableStats", func(o *object) struct{} {
		tables[need[string](o, "tableName")] = TableStatistics{
			Items:       need[uint64](o, "items"),
			MerkleItems: need[uint64](o, "merkleItems"),
			MerkleQueue: need[uint64](o, "merkleQueueLen"),
			InsertQueue: need[uint64](o, "insertQueueLen"),
			GCQueue:     need[uint64](o, "gcQueueLen"),
		}
		return struct{}{}
	})
	if len(rows) == 0 || len(rows) != len(tables) {
		o.wrong("tableStats has %d rows for %d tables", len(rows), len(tables))
	}
	return tables
}

var createMetadataSnapshot = call{
	endpoint: "CreateMetadataSnapshot", method: http.MethodPost, node: true, effect: true, timeout: copying,
}

// CreateMetadataSnapshot has the node copy its metadata to a new directory beside the newest one before it, and returns the
// node when that is done. It is Refused while another one goes on.
func (c *Client) CreateMetadataSnapshot(ctx context.Context) (NodeID, error) {
	answer, err := askNode(ctx, c, createMetadataSnapshot, nil, nothing)
	return answer.Node, err
}

// nothing reads the success of a call that has nothing to say.
func nothing(o *object) struct{} {
	if !null(o.whole) {
		o.wrong("the success is not null")
	}
	return struct{}{}
}

// Repair is a kind of repair.
type Repair string

// The repairs that Holdfast launches (Garage server facts, 3.9 Repair types).
const (
	RepairTables           Repair = "tables"
	RepairBlocks           Repair = "blocks"
	RepairVersions         Repair = "versions"
	RepairMultipartUploads Repair = "multipartUploads"
	RepairBlockRefs        Repair = "blockRefs"
	RepairBlockRC          Repair = "blockRc"
	RepairRebalance        Repair = "rebalance"
	RepairAliases          Repair = "aliases"
	ScrubStart             Repair = "scrub start"
	ScrubPause             Repair = "scrub pause"
	ScrubResume            Repair = "scrub resume"
	ScrubCancel            Repair = "scrub cancel"
)

// forms is how Garage spells each repair.
var forms = map[Repair]any{
	RepairTables: RepairTables, RepairBlocks: RepairBlocks, RepairVersions: RepairVersions,
	RepairMultipartUploads: RepairMultipartUploads, RepairBlockRefs: RepairBlockRefs, RepairBlockRC: RepairBlockRC,
	RepairRebalance: RepairRebalance, RepairAliases: RepairAliases,
	ScrubStart: scrub("start"), ScrubPause: scrub("pause"), ScrubResume: scrub("resume"), ScrubCancel: scrub("cancel"),
}

func scrub(command string) map[string]string { return map[string]string{"scrub": command} }

// workers has the name of the worker that each repair starts.
var workers = map[Repair]string{
	RepairBlocks: "Block repair worker", RepairVersions: "version repair worker",
	RepairMultipartUploads: "multipart_upload repair worker", RepairBlockRefs: "block_ref repair worker",
	RepairBlockRC: "Block refcount repair worker", RepairRebalance: "Block rebalance worker",
}

// Worker is the name of the worker that the repair starts, and false for one that starts none: tables are synced by workers
// that are always there, aliases are repaired before the call returns, and scrubs have one worker that is always there.
func (r Repair) Worker() (string, bool) {
	name, starts := workers[r]
	return name, starts
}

var launchRepairOperation = call{
	endpoint: "LaunchRepairOperation", method: http.MethodPost, node: true, effect: true, timeout: slow,
}

// LaunchRepairOperation starts a repair on the node, and returns the node. Which worker carries it out is not said: it is
// a new one of the repair's name in ListWorkers, a moment later. A scrub command that does not fit, such as to resume what
// is not paused, succeeds and does nothing. A Repair that is none is Refused before anything is sent.
func (c *Client) LaunchRepairOperation(ctx context.Context, repair Repair) (NodeID, error) {
	form, known := forms[repair]
	if !known {
		return "", c.fail(launchRepairOperation, Refused, "there is no such repair")
	}
	answer, err := askNode(ctx, c, launchRepairOperation, map[string]any{"repairType": form}, nothing)
	return answer.Node, err
}
