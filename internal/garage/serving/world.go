package serving

import (
	"github.com/holdfast-dev/holdfast/internal/garage/adminapi"
	"github.com/holdfast-dev/holdfast/internal/kit/fact"
)

// A Node is one node with a Pod.
type Node struct {
	Name string
	// ID is the recorded identity.
	ID adminapi.NodeID
	// Serves says that its Pod has the label.
	Serves bool
	// Source says that the node is to be drained, or is being drained.
	Source bool
	// Held says that its process is not who is recorded, or that another GarageNode has the same identity.
	Held bool
	// Current says that its present Pod has said that it is who is recorded.
	Current bool
	// Says is what its process says of the layout.
	Says fact.Fact[Says]
}

// Says is how one process sees the layout.
type Says struct {
	Layout  adminapi.Layout
	History adminapi.LayoutHistory
}
