package drain

import (
	"time"

	"github.com/holdfast-dev/holdfast/internal/garage/adminapi"
	"github.com/holdfast-dev/holdfast/internal/kit/fact"
)

// World is what the decision rests on.
type World struct {
	// Order is the node that is to be taken away now; nil when nobody asks for one any more.
	Order *Order
	// Members are the nodes of the GarageCluster by name, the source among them.
	Members []Member
	// Mode is the consistency mode in every config that is rendered.
	Mode string
	// AssumeConsistent is a person's word for the processes that cannot be asked.
	AssumeConsistent bool
	// Factor is the replication factor.
	Factor int
	// Lacks says what the store lacks to be whole in either of two readings (package whole); empty when it is.
	Lacks fact.Fact[string]
	// Busy names a rollout, a migration or another drain that is under way; empty when there is none.
	Busy fact.Fact[string]
	// Directories are all data directories that the source has ever had. Unknown also when one cannot be listed.
	Directories fact.Fact[[]string]
	// Listing is what the last listing of them found.
	Listing fact.Fact[Listing]
	// Deleted says that the API server has taken the deletion of the source: there is no way back.
	Deleted bool
	// Journal is what the status says; nil outside of a drain.
	Journal *Journal
}

// Order asks for the role of a node to be taken away.
type Order struct {
	Name string
	ID   adminapi.NodeID
}

// A Member is a node of the GarageCluster, with the process that it stands for.
type Member struct {
	// Name is the GarageNode's.
	Name string
	// ID is the recorded identity; empty while there is none.
	ID adminapi.NodeID
	// External says that the process cannot be asked.
	External bool
	// Life names one life of the process: its Pod's UID and how often it was started again.
	Life string
	// Serves says that the Pod is in the S3 Service.
	Serves bool
	// RPCTimeout is the rpc_timeout_msec of its config; 0 where it is not ours.
	RPCTimeout time.Duration
	// Says is what it says of itself, asked at its own address. Unknown also when what answered is not ID.
	Says fact.Fact[Says]
}

// Says is what one member says, read in one pass.
type Says struct {
	Info        adminapi.NodeInfo
	Status      adminapi.ClusterStatus
	Layout      adminapi.Layout
	History     adminapi.LayoutHistory
	Statistics  adminapi.NodeStatistics
	Workers     []adminapi.Worker
	BlockErrors []adminapi.BlockError
}

// Listing is what a look at the directories themselves has found.
type Listing struct {
	// Token is that of the order to list.
	Token string
	// Failed says why it has found nothing; empty when it has.
	Failed string
	// Blocks counts the files that are blocks. Corrupted are those that Garage has put aside.
	Blocks    int
	Corrupted []string
}

// Journal is what the facts cannot tell. A zero time is one that has not come.
type Journal struct {
	// Name, ID and Role are the source and the role that it had. ID and Version name the transaction.
	Name string
	ID   adminapi.NodeID
	Role adminapi.Role
	// Version is the one that the removal makes, Hash is of the removal, Refused is why Garage would not make it.
	Version       uint64
	Hash, Refused string
	StartedAt     time.Time
	// Cancelled says that the role is to be given back.
	Cancelled bool
	// Seen is the layout without the source that every member has shown (E1), and Roles the hash of its roles.
	Seen  uint64
	Roles string
	// SettledAt is when one version was active in every view (E2), EmptyAt since when the source has no rows (E3).
	SettledAt, EmptyAt time.Time
	// Copies and Checks are the repairs of the destinations, the first (E4) and the second (E8).
	Copies, Checks []Repair
	// Source is the repair of the source (E6), and Recount the one that counts its references anew (E7).
	Source, Recount *Repair
	// Listed and Last are the listings of E7 and E9.
	Listed, Last *Listed
	// CompletedAt is when all of it was seen.
	CompletedAt time.Time
}

// A Repair is one that was launched on a node, or is about to be.
type Repair struct {
	Node adminapi.NodeID
	// Life is that of the process. What another one says of a worker of that number is about another worker.
	Life string
	// At is when it was decided on.
	At time.Time
	// Baseline is the highest number of a worker before it, Worker its own, 0 while it has not shown.
	Baseline, Worker uint64
	// DoneAt is when it was seen to have ended without an error.
	DoneAt time.Time
	// Idle are the resync workers that were seen idle after that.
	Idle []uint64
}

// Listed is an order to list the source's directories.
type Listed struct {
	Token string
	At    time.Time
	// Life is that of the source's process.
	Life string
	// Empty says that it has come back, and that there was no block.
	Empty bool
}
