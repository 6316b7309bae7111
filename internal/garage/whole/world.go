package whole

import (
	"time"

	"github.com/holdfast-dev/holdfast/internal/garage/adminapi"
	"github.com/holdfast-dev/holdfast/internal/kit/fact"
)

// Apart is how far apart the two readings of somebody who acts have to be: longer than a member may go on calling a dead
// neighbour up (Garage lab, Health right after a restart lies).
const Apart = 3 * time.Second

// A Member is a node that can be asked, or that has to be seen.
type Member struct {
	// Name is the GarageNode's.
	Name string
	ID   adminapi.NodeID
	// External says that it cannot be asked: the others have to see it.
	External bool
	// Says is what it says of the store. Unknown also when what answered is not ID.
	Says fact.Fact[Says]
}

// Says is how one member sees the store.
type Says struct {
	Health  adminapi.ClusterHealth
	Status  adminapi.ClusterStatus
	Layout  adminapi.Layout
	History adminapi.LayoutHistory
}
