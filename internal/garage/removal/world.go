package removal

import (
	"github.com/holdfast-dev/holdfast/internal/garage/adminapi"
	"github.com/holdfast-dev/holdfast/internal/kit/fact"
)

// World is what the decision rests on.
type World struct {
	// Cluster is nil when there is no GarageCluster of the name that the nodes refer to.
	Cluster *Cluster
	// Nodes are those that refer to it, by name.
	Nodes []Node
}

// Cluster is the GarageCluster.
type Cluster struct {
	UID string
	// Guarded says that it has the finalizer, and Deleting that it is to go.
	Guarded, Deleting bool
}

// A Node is a GarageNode with what runs it.
type Node struct {
	Name string
	// Ours says that this GarageCluster controls the GarageNode, which goes with it.
	Ours bool
	// Left says that the GarageNode is controlled by a GarageCluster that is no more.
	Left bool
	// Guarded says that it has the finalizer, and Deleting that it is to go.
	Guarded, Deleting bool
	// Marked says that its status says that its GarageCluster goes.
	Marked bool
	// External says that its process is run by somebody else.
	External bool
	// ID is who it is by record, empty for nobody yet.
	ID adminapi.NodeID
	// EverInLayout says that it was given a role, or may have been.
	EverInLayout bool
	// Proof is the identity that is proved to hold nothing that is needed; empty for no proof.
	Proof adminapi.NodeID
	// Says is the layout as its process sees it. Unknown also when what answered is not ID.
	Says fact.Fact[adminapi.Layout]
	// HasStatefulSet and HasPod say what there is of what runs it.
	HasStatefulSet, HasPod bool
	// Brought says that a disk of it is a claim of a user's.
	Brought bool
	// Claims are its own, by name; a user's are none of them.
	Claims []Claim
	// DropClaims says that the spec wants them deleted with the node.
	DropClaims bool
}

// A Claim is one of a node's own.
type Claim struct {
	Name string
	// Guarded says that it has the finalizer, and Deleting that it is to go.
	Guarded, Deleting bool
	// Recorded says that the node's status has its very UID.
	Recorded bool
	// Older says that it was there before the GarageNode: what is on it may be another one's.
	Older bool
	// Store is the UID of the GarageCluster whose role the identity on it has, by its annotation; empty for none.
	Store string
}
