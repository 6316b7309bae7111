package peers

import (
	"context"

	"github.com/holdfast-dev/holdfast/internal/garage/adminapi"
	"github.com/holdfast-dev/holdfast/internal/kit/fact"
)

// World is what the decision rests on.
type World struct {
	// Nodes are the GarageCluster's, by name.
	Nodes []Node
	// Static are further peers that the spec names, as "<id>@<host>:<port>".
	Static []string
}

// A Node is one member.
type Node struct {
	Name string
	ID   adminapi.NodeID
	// Address is the host:port of its RPC, empty while it is not to be connected to: it has none, or is held, or its Pod has not
	// said who it is.
	Address string
	// Sees is the cluster as it sees it.
	Sees fact.Fact[adminapi.ClusterStatus]
}

// API is what a member is told over.
type API interface {
	ConnectClusterNodes(ctx context.Context, nodes ...string) ([]adminapi.Connection, error)
}
