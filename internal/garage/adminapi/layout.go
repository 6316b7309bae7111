package adminapi

import (
	"context"
	"net/http"

	"github.com/holdfast-dev/holdfast/internal/kit/fact"
)

// Layout is who stores what: the version that is current to one member, and the changes staged for the next (Garage server
// facts, 2.5 Layout).
type Layout struct {
	// Version is 0 before the first layout.
	Version uint64
	// Roles are the nodes of this version.
	Roles []NodeRole
	// Redundancy is what this version was computed with.
	Redundancy ZoneRedundancy
	// PartitionSize is the size of one partition in bytes.
	PartitionSize uint64
	// Staged are the changes of roles for the next version, whoever asked for them, in no order.
	Staged []RoleChange
	// StagedRedundancy is the redundancy of the next version, nil when it does not change.
	StagedRedundancy *ZoneRedundancy
}

// NodeRole is a node with its role.
type NodeRole struct {
	ID NodeID
	Role
	// StoredPartitions is how many partitions the node stores, and UsableCapacity their size in bytes.
	StoredPartitions, UsableCapacity fact.Fact[uint64]
}

func readLayout(o *object) Layout {
	return Layout{
		Version: need[uint64](o, "version"),
		Roles: listOf(o, "roles", func(o *object) NodeRole {
			return NodeRole{
				ID: nodeID(o, "id"), Role: readRole(o),
				StoredPartitions: maybe[uint64](o, "storedPartitions"),
				UsableCapacity:   maybe[uint64](o, "usableCapacity"),
			}
		}),
		Redundancy:       under(o, "parameters", readParameters),
		PartitionSize:    need[uint64](o, "partitionSize"),
		Staged:           listOf(o, "stagedRoleChanges", readRoleChange),
		StagedRedundancy: underOrNull(o, "stagedParameters", readParameters),
	}
}

var getClusterLayout = call{endpoint: "GetClusterLayout", method: http.MethodGet, timeout: quick}

// GetClusterLayout reads the layout that the member takes for the current one, and what is staged.
func (c *Client) GetClusterLayout(ctx context.Context) (Layout, error) {
	return ask(ctx, c, getClusterLayout, nil, readLayout)
}

// LayoutStatus says what a version of the layout is good for.
type LayoutStatus string

const (
	// Current means: the newest version.
	Current LayoutStatus = "Current"
	// Draining means: an older version that still counts, because data is on its way from it.
	Draining LayoutStatus = "Draining"
	// Historical means: an older version that is only remembered. Garage remembers five.
	Historical LayoutStatus = "Historical"
)

// LayoutHistory is which layouts are active, and how far the nodes are (Garage server facts, 3.4 Trackers).
type LayoutHistory struct {
	CurrentVersion uint64
	// MinAck is the version up to which every node has acknowledged.
	MinAck uint64
	// Versions are the newest first.
	Versions []LayoutVersion
	// Trackers are how far each node of the active versions is. They are nil exactly when one version is active: then the
	// metadata is settled, which says nothing about blocks.
	Trackers map[NodeID]Tracker
}

// Settled says that only one version is active, so that no metadata moves.
func (h LayoutHistory) Settled() bool { return h.Trackers == nil }

// LayoutVersion is one version of the layout.
type LayoutVersion struct {
	Version                    uint64
	Status                     LayoutStatus
	StorageNodes, GatewayNodes uint64
}

// Tracker is up to which version one node has gone.
type Tracker struct {
	// Ack: the node knows the version, and has no older write in flight. Sync: it has given away what it had to. SyncAck:
	// it knows that every node has.
	Ack, Sync, SyncAck uint64
}

var getClusterLayoutHistory = call{endpoint: "GetClusterLayoutHistory", method: http.MethodGet, timeout: quick}

// GetClusterLayoutHistory reads which versions are active.
func (c *Client) GetClusterLayoutHistory(ctx context.Context) (LayoutHistory, error) {
	return ask(ctx, c, getClusterLayoutHistory, nil, func(o *object) LayoutHistory {
		history := LayoutHistory{
			CurrentVersion: need[uint64](o, "currentVersion"),
			MinAck:         need[uint64](o, "minAck"),
			Versions: listOf(o, "versions", func(o *object) LayoutVersion {
				return LayoutVersion{
					Version: need[uint64](o, "version"), Status: LayoutStatus(need[string](o, "status")),
					StorageNodes: need[uint64](o, "storageNodes"), GatewayNodes: need[uint64](o, "gatewayNodes"),
				}
			}),
		}
		if trackers := underOrNull(o, "updateTrackers", readTrackers); trackers != nil {
			history.Trackers = *trackers
		}
		history.check(o)
		return history
	})
}

func readTrackers(o *object) map[NodeID]Tracker {
	trackers := map[NodeID]Tracker{}
	if len(o.fields) == 0 {
		o.wrong("updateTrackers has no node")
	}
	for field := range o.fields {
		node, err := ParseNodeID(field)
		if err != nil {
			o.wrong("updateTrackers: %v", err)
		}
		trackers[node] = under(o, field, func(o *object) Tracker {
			return Tracker{Ack: need[uint64](o, "ack"), Sync: need[uint64](o, "sync"), SyncAck: need[uint64](o, "syncAck")}
		})
	}
	return trackers
}

// check holds that a history agrees with itself. One that is settled and draining at once must not be taken for settled.
func (h LayoutHistory) check(o *object) {
	current, draining := 0, 0
	for _, version := range h.Versions {
		switch version.Status {
		case Current:
			current++
			if version.Version != h.CurrentVersion {
				o.wrong("version %d is current, and currentVersion is %d", version.Version, h.CurrentVersion)
			}
		case Draining:
			draining++
		case Historical:
		default:
			o.wrong("the status %.40q of version %d is not known", version.Status, version.Version)
		}
	}
	if current != 1 || (draining == 0) != h.Settled() {
		o.wrong("%d versions are current and %d are draining, and updateTrackers is null: %t", current, draining, h.Settled())
	}
}

// LayoutChange is what to stage for the next version of the layout.
type LayoutChange struct {
	Roles []RoleChange
	// Redundancy is nil to leave it as it is.
	Redundancy *ZoneRedundancy
}

var updateClusterLayout = call{endpoint: "UpdateClusterLayout", method: http.MethodPost, effect: true, timeout: quick}

// UpdateClusterLayout stages a change, and returns the layout as the member had it then. What others have staged stays and
// is applied along; and what is staged is lost without an error when another member applies or reverts at the same time.
// So there must be one writer, who reads back (Garage server facts, 3.3 Staging and its races). A change that is empty, or
// that has a role with no zone or with the zero Capacity, is Refused before anything is sent.
func (c *Client) UpdateClusterLayout(ctx context.Context, change LayoutChange) (Layout, error) {
	if len(change.Roles) == 0 && change.Redundancy == nil {
		return Layout{}, c.fail(updateClusterLayout, Refused, "the change is empty")
	}
	for _, role := range change.Roles {
		if err := role.check(); err != nil {
			return Layout{}, c.fail(updateClusterLayout, Refused, err.Error())
		}
	}
	body := map[string]any{"roles": append([]RoleChange{}, change.Roles...)}
	if change.Redundancy != nil {
		body["parameters"] = map[string]ZoneRedundancy{"zoneRedundancy": *change.Redundancy}
	}
	return ask(ctx, c, updateClusterLayout, body, readLayout)
}

// Computation is a new version of the layout, computed from what is staged.
type Computation struct {
	// Message is Garage's report for people, one line each.
	Message []string
	// Layout is the new version.
	Layout Layout
	// MovedPartitions is how many copies of partitions have to move. It is unknown before Garage 2.4, and for the first layout.
	MovedPartitions fact.Fact[uint64]
}

// readComputation reads a new version, whose layout is in that field.
func readComputation(field string) func(*object) Computation {
	return func(o *object) Computation {
		statistics := maybeUnder(o, "statistics", func(o *object) fact.Fact[uint64] {
			return maybe[uint64](o, "totalMovedPartitions")
		})
		moved, known := statistics.Get()
		if !known {
			moved = fact.Unknown[uint64](statistics.Why())
		}
		return Computation{Message: texts(o, "message"), Layout: under(o, field, readLayout), MovedPartitions: moved}
	}
}

var previewClusterLayoutChanges = call{endpoint: "PreviewClusterLayoutChanges", method: http.MethodPost, timeout: slow}

// PreviewClusterLayoutChanges computes the version that ApplyClusterLayout would make, and changes nothing. What Apply
// would refuse is Refused.
func (c *Client) PreviewClusterLayoutChanges(ctx context.Context) (Computation, error) {
	var refused *string
	computed, err := ask(ctx, c, previewClusterLayoutChanges, nil, func(o *object) Computation {
		if _, there := o.fields["error"]; there {
			text := need[string](o, "error")
			refused = &text
			return Computation{}
		}
		return readComputation("newLayout")(o)
	})
	if err == nil && refused != nil {
		return Computation{}, c.fail(previewClusterLayoutChanges, Refused, *refused)
	}
	return computed, err
}

var applyClusterLayout = call{endpoint: "ApplyClusterLayout", method: http.MethodPost, effect: true, timeout: slow}

// ApplyClusterLayout makes what is staged on the member the version with this number, which must be the next one. It makes
// a version even when nothing is staged. That it succeeds means that this member has taken it: whether the others have,
// they have to say. After an error that MayHaveHappened, read the version before anything else.
func (c *Client) ApplyClusterLayout(ctx context.Context, version uint64) (Computation, error) {
	body := struct {
		Version uint64 `json:"version"`
	}{version}
	return ask(ctx, c, applyClusterLayout, body, readComputation("layout"))
}

var revertClusterLayout = call{endpoint: "RevertClusterLayout", method: http.MethodPost, effect: true, timeout: quick}

// RevertClusterLayout drops everything that is staged, whoever staged it, in the whole cluster, and returns the layout as
// the member had it then.
func (c *Client) RevertClusterLayout(ctx context.Context) (Layout, error) {
	return ask(ctx, c, revertClusterLayout, nil, readLayout)
}

// SkipDeadNodes says up to which version nodes that are down are taken to have gone.
type SkipDeadNodes struct {
	Version uint64 `json:"version"`
	// AllowMissingData also declares all nodes synced, live ones too. What only they have is lost to readers then: it takes
	// a person's order (Garage server facts, 3.5 Skip dead nodes).
	AllowMissingData bool `json:"allowMissingData"`
}

// SkippedNodes are the nodes whose trackers were raised.
type SkippedNodes struct{ Ack, Sync []NodeID }

var clusterLayoutSkipDeadNodes = call{endpoint: "ClusterLayoutSkipDeadNodes", method: http.MethodPost, effect: true, timeout: quick}

// ClusterLayoutSkipDeadNodes raises the trackers of the nodes that the member sees down, so that a change does not wait for
// their word.
func (c *Client) ClusterLayoutSkipDeadNodes(ctx context.Context, skip SkipDeadNodes) (SkippedNodes, error) {
	ids := func(o *object, field string) []NodeID {
		nodes := []NodeID{}
		for _, text := range texts(o, field) {
			node, err := ParseNodeID(text)
			if err != nil {
				o.wrong("%s: %v", field, err)
			}
			nodes = append(nodes, node)
		}
		return nodes
	}
	return ask(ctx, c, clusterLayoutSkipDeadNodes, skip, func(o *object) SkippedNodes {
		return SkippedNodes{Ack: ids(o, "ackUpdated"), Sync: ids(o, "syncUpdated")}
	})
}
