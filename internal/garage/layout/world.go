package layout

import (
	"github.com/holdfast-dev/holdfast/internal/garage/adminapi"
	"github.com/holdfast-dev/holdfast/internal/kit/fact"
)

// MaxStorageRoles is how many nodes with positive capacity a layout can have (Garage server facts, 3.1 Objects).
const MaxStorageRoles = 256

// World is what the decision rests on.
type World struct {
	// Nodes are those that belong to the GarageCluster, by name.
	Nodes []Node
	// Redundancy is the zone redundancy that the spec asks for.
	Redundancy adminapi.ZoneRedundancy
	// Factor is the replication factor.
	Factor int
	// Patient says that disks still grow, so that no role is to get more capacity yet: data then moves once.
	Patient bool
	// Mixed says why the processes are of different minor versions, or that it is not known; empty when they are not.
	Mixed string
	// Replaced is the node whose Pod is being replaced; empty for none.
	Replaced string
	// Order is what a person has asked for; nil for nothing.
	Order *Order
	// Journal is what the status says; nil for nothing.
	Journal *Journal
}

// A Node is a GarageNode, with the process that it stands for.
type Node struct {
	// Name is the GarageNode's.
	Name string
	// ID is the recorded identity; empty while there is none.
	ID adminapi.NodeID
	// Role is what the spec asks for.
	Role adminapi.Role
	// Held says why the node is to get no role now, for instance because its disk is another one; empty to give it one.
	Held string
	// Cramped says why its disks have not the room for its role yet; empty when they have. It gets no role then, and one that it
	// has does not get more capacity.
	Cramped string
	// Returns says why its process could come back if it is down; empty when it cannot.
	Returns string
	// External says that nothing but the RPC port of the process can be reached: it has no view of its own.
	External bool
	// View is the cluster as the process itself sees it. Unknown also when what answered is not ID.
	View fact.Fact[View]
}

// View is what one member says.
type View struct {
	Layout  adminapi.Layout
	History adminapi.LayoutHistory
	Status  adminapi.ClusterStatus
}

// Journal is what the facts cannot tell: which staging is our own, and what was refused.
type Journal struct {
	// Version is the one that the change was to make.
	Version uint64
	// Hash is of the change.
	Hash string
	// Refused is why Garage would not make that version of it; empty if it was not asked, or did.
	Refused string
}
