package rollout

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/holdfast-dev/holdfast/api/garage/v1beta2"
	"github.com/holdfast-dev/holdfast/internal/garage/adminapi"
	"github.com/holdfast-dev/holdfast/internal/garage/whole"
)

// World is what the decision rests on.
type World struct {
	// Nodes are those that run here, by name.
	Nodes []Node
	// Members are all nodes of the GarageCluster as the verdict on the whole store sees them.
	Members []whole.Member
	// WholeSince is since when every look at the same processes has found the store whole; zero while it is not, or was not
	// looked at before.
	WholeSince time.Time
	// Layout says that a change of the layout is wanted, which comes first and waits for a step that is under way; empty for none.
	Layout string
	// Foreign says that somebody else has staged one; empty for nobody.
	Foreign string
	// Recover is the value of the annotation recover-storage-rollout; empty without it.
	Recover string
	// Journal is status.storageRollout; nil outside a step.
	Journal *v1beta2.StorageRollout
}

// Revision is what a Pod is made from: digests of its configuration and of everything else.
type Revision struct{ Config, PodSpec string }

// A Node is one GarageNode with what runs it.
type Node struct {
	Name string
	UID  types.UID
	// ID is the recorded identity; empty while there is none.
	ID adminapi.NodeID
	// Rendered is what it is to run from.
	Rendered Revision
	// Workload is its StatefulSet; nil while it has none.
	Workload *Workload
	// Pod is nil while it has none.
	Pod *Pod
	// Held says why its process is not who is recorded; empty while it is, or says nothing.
	Held string
	// Current says that its present Pod has said that it is who is recorded.
	Current bool
	// Answers says that its process answers.
	Answers bool
	// Seen says that some other member that answers calls it up.
	Seen bool
	// Claims says why its claims would not outlast the Pod; empty when they would.
	Claims string
	// Kept are its claims.
	Kept []v1beta2.KeptClaim
}

// A Workload is a StatefulSet.
type Workload struct {
	UID types.UID
	// Revision is that of its template.
	Revision Revision
	// Rendered says that it is in every way as it is to be.
	Rendered bool
}

// A Pod is one Pod.
type Pod struct {
	UID types.UID
	// Owner is the UID of its StatefulSet.
	Owner    types.UID
	Revision Revision
	// Ready says that it is, and is to stay.
	Ready bool
	// Leaving says that it is being deleted.
	Leaving bool
	// Why says what it waits for while it is not ready; empty when that is not known.
	Why string
}

// unready says that it has no Pod that is ready.
func (n Node) unready() bool { return n.Pod == nil || !n.Pod.Ready }

// down says that nothing is taken away from anybody by a new Pod.
func (n Node) down() bool { return n.unready() && !n.Answers && !n.Seen }

// fresh says that it never was anybody.
func (n Node) fresh() bool { return n.ID == "" && !n.Answers }

// behind says that what runs, or would run next, is not what is rendered.
func (n Node) behind() bool {
	switch {
	case n.Pod != nil:
		return n.Pod.Revision != n.Rendered
	case n.Workload != nil:
		return n.Workload.Revision != n.Rendered
	}
	return false
}
