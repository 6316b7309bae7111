package adminapi

import (
	"context"
	"fmt"
	"net/http"
	"regexp"

	"github.com/holdfast-dev/holdfast/internal/kit/fact"
)

// NodeID is the identity of a node: its public key as 64 lower-case hexadecimal digits.
type NodeID string

var hex64 = regexp.MustCompile(`^[0-9a-f]{64}$`)

// ParseNodeID fails for anything but 64 lower-case hexadecimal digits.
func ParseNodeID(text string) (NodeID, error) {
	if !hex64.MatchString(text) {
		return "", fmt.Errorf("%.80q is not the id of a node: want 64 lower-case hexadecimal digits", text)
	}
	return NodeID(text), nil
}

// nodeID reads a field that names a node in every version.
func nodeID(o *object, field string) NodeID {
	id, err := ParseNodeID(need[string](o, field))
	if err != nil {
		o.wrong("%s: %v", field, err)
	}
	return id
}

// ClusterStatus is the cluster as one member sees it (Garage server facts, 2.4 Cluster).
type ClusterStatus struct {
	// LayoutVersion is the number of the layout that the member takes for the current one, 0 before the first.
	LayoutVersion uint64
	// Nodes are those that the member is connected to, the member itself among them, and those with a role in a layout
	// that is still active.
	Nodes []NodeStatus
}

// NodeStatus is one node as another one sees it.
type NodeStatus struct {
	ID NodeID
	// GarageVersion is what the node calls its version, Addr its address and port for RPC, and Hostname the name of its
	// machine. They are unknown while the member has not heard of them.
	GarageVersion, Addr, Hostname fact.Fact[string]
	// Up says that the member has a connection to the node.
	Up bool
	// LastSeenSecondsAgo is how long ago the node was last heard of. It is unknown when it never was since the member's start.
	LastSeenSecondsAgo fact.Fact[uint64]
	// Role is the role in the current layout, nil for none.
	Role *Role
	// Draining says that the node stored data in an older layout that is still active, and has no role in the current one.
	// That it is false does not say that the node is empty.
	Draining bool
	// Data and Metadata are the file systems of the node. They are unknown while the member has not heard of them.
	Data, Metadata fact.Fact[Space]
}

// Space is a file system, in bytes.
type Space struct{ Available, Total uint64 }

func readSpace(o *object) Space {
	return Space{Available: need[uint64](o, "available"), Total: need[uint64](o, "total")}
}

var getClusterStatus = call{endpoint: "GetClusterStatus", method: http.MethodGet, timeout: quick}

// GetClusterStatus reads which nodes the member knows, and what it knows of them.
func (c *Client) GetClusterStatus(ctx context.Context) (ClusterStatus, error) {
	return ask(ctx, c, getClusterStatus, nil, func(o *object) ClusterStatus {
		return ClusterStatus{LayoutVersion: need[uint64](o, "layoutVersion"), Nodes: listOf(o, "nodes", readNodeStatus)}
	})
}

func readNodeStatus(o *object) NodeStatus {
	return NodeStatus{
		ID:                 nodeID(o, "id"),
		GarageVersion:      maybe[string](o, "garageVersion"),
		Addr:               maybe[string](o, "addr"),
		Hostname:           maybe[string](o, "hostname"),
		Up:                 need[bool](o, "isUp"),
		LastSeenSecondsAgo: maybe[uint64](o, "lastSeenSecsAgo"),
		Role:               underOrNull(o, "role", readRole),
		Draining:           need[bool](o, "draining"),
		Data:               maybeUnder(o, "dataPartition", readSpace),
		Metadata:           maybeUnder(o, "metadataPartition", readSpace),
	}
}

// HealthStatus is Garage's own verdict.
type HealthStatus string

const (
	// Healthy means: the member is connected to every storage node.
	Healthy HealthStatus = "healthy"
	// Degraded means: some storage node is not connected, and every partition can be written.
	Degraded HealthStatus = "degraded"
	// OutOfService means: some partition cannot be written.
	OutOfService HealthStatus = "unavailable"
)

// ClusterHealth is the cluster's health as one member sees it. A neighbour's death shows only after a second or so, and
// before the first layout Garage 2.0 calls itself healthy: one verdict on its own proves nothing (Garage lab, Health right
// after a restart lies).
type ClusterHealth struct {
	Status HealthStatus
	// KnownNodes are the nodes that the member was connected to since it started, ConnectedNodes those it is connected to.
	KnownNodes, ConnectedNodes uint64
	// StorageNodes are the nodes that store data in any active layout, StorageNodesUp those of them that are connected.
	StorageNodes, StorageNodesUp uint64
	// Partitions is how many there are, PartitionsQuorum for how many enough nodes are connected to write, and
	// PartitionsAllOK for how many all are.
	Partitions, PartitionsQuorum, PartitionsAllOK uint64
}

var getClusterHealth = call{endpoint: "GetClusterHealth", method: http.MethodGet, timeout: quick}

// GetClusterHealth reads the member's verdict and the numbers behind it.
func (c *Client) GetClusterHealth(ctx context.Context) (ClusterHealth, error) {
	return ask(ctx, c, getClusterHealth, nil, func(o *object) ClusterHealth {
		up := "storageNodesUp"
		if _, there := o.fields[up]; !there {
			up = "storageNodesOk" // its name in Garage 2.0
		}
		health := ClusterHealth{
			Status:           HealthStatus(need[string](o, "status")),
			KnownNodes:       need[uint64](o, "knownNodes"),
			ConnectedNodes:   need[uint64](o, "connectedNodes"),
			StorageNodes:     need[uint64](o, "storageNodes"),
			StorageNodesUp:   need[uint64](o, up),
			Partitions:       need[uint64](o, "partitions"),
			PartitionsQuorum: need[uint64](o, "partitionsQuorum"),
			PartitionsAllOK:  need[uint64](o, "partitionsAllOk"),
		}
		switch health.Status {
		case Healthy, Degraded, OutOfService:
		default:
			o.wrong("the status %.40q is not known", health.Status)
		}
		return health
	})
}

// Connection is what came of connecting to one node.
type Connection struct {
	Connected bool
	// Problem is why it was not connected, in Garage's words.
	Problem string
}

var connectClusterNodes = call{endpoint: "ConnectClusterNodes", method: http.MethodPost, effect: true, timeout: slow}

// ConnectClusterNodes has the member connect to nodes, each given as "<id>@<host>:<port>" of its RPC, and returns what came
// of each in their order. To be connected already counts as connected. It is done once: what lasts is bootstrap_peers.
func (c *Client) ConnectClusterNodes(ctx context.Context, nodes ...string) ([]Connection, error) {
	return ask(ctx, c, connectClusterNodes, append([]string{}, nodes...), func(o *object) []Connection {
		connections := list(o, o.whole, "the reply", func(o *object) Connection {
			connection := Connection{Connected: need[bool](o, "success")}
			if problem := orNull[string](o, "error"); problem != nil {
				connection.Problem = *problem
			}
			return connection
		})
		if len(connections) != len(nodes) {
			o.wrong("%d nodes were to be connected, and %d results came", len(nodes), len(connections))
		}
		return connections
	})
}
