package identity

import (
	"k8s.io/apimachinery/pkg/types"

	"github.com/holdfast-dev/holdfast/internal/garage/adminapi"
	"github.com/holdfast-dev/holdfast/internal/kit/fact"
)

// World is what the decision rests on.
type World struct {
	// ClusterTag is the tag by which the GarageCluster knows its own roles.
	ClusterTag string
	// ClusterTagPrefix is how the tag of whatever GarageCluster begins.
	ClusterTagPrefix string
	// Nodes are the GarageCluster's, by name.
	Nodes []Node
	// Roles are those of the layout that is applied, as any member shows it.
	Roles []adminapi.NodeRole
}

// A Node is one GarageNode.
type Node struct {
	Name string
	// Recorded is the identity in its status, empty for none; of an external node, that in its spec.
	Recorded adminapi.NodeID
	// RecordedPod is the Pod that last gave it.
	RecordedPod types.UID
	// Pinned is the identity that the spec asks for, empty for any.
	Pinned adminapi.NodeID
	// Said is who the process of its Pod says it is.
	Said fact.Fact[Said]
	// Former are tags by which GarageClusters of the name that were before knew their roles, by its record and its claims.
	Former []string
	// External nodes are not asked.
	External bool
}

// Said is one process's answer.
type Said struct {
	ID  adminapi.NodeID
	Pod types.UID
}
