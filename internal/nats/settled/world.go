package settled

import (
	"time"

	"github.com/holdfast-dev/holdfast/internal/kit/fact"
	"github.com/holdfast-dev/holdfast/internal/nats/monitorapi"
)

// Target is one server that should exist.
type Target struct {
	// Name is its server_name.
	Name string
	// At is where the API reaches it: over HTTP the URL of its monitoring port, for instance "http://10.0.0.7:8222",
	// over $SYS its name. Empty: it has no address yet, and is silent.
	At string
}

// Observation is what the servers of one NATS cluster said.
type Observation struct {
	// JetStream says whether the cluster is meant to run JetStream.
	JetStream bool
	// Servers holds every target, in the order they were given.
	Servers []Server
}

// Server is one target and what it answered. Unknown is a silent server, with the reason.
type Server struct {
	Name   string
	Answer fact.Fact[Answer]
}

// Answer is what one server said about itself and about the groups of which it holds a copy.
type Answer struct {
	ServerFacts
	// JetStreamUp is false while the server reports JetStream as disabled, as it also does while it starts.
	JetStreamUp bool
	// Reports has one entry for each group. A clustered server reports the meta group among them as soon as it has read
	// its disk; a standalone one never does.
	Reports []Report
}

// ServerFacts is what an answering server reported about its process.
type ServerFacts struct {
	// ID is new at every start of the process.
	ID string
	// Version is the version of nats-server that runs.
	Version string
	// ConfigRevision is config_revision of the server_metadata that the process has loaded, empty when it has none.
	ConfigRevision string
	// Remotes is the number of other servers of the cluster that the process has routes to.
	Remotes int
	// ConfigDigest identifies the configuration that the process has loaded, and Loaded is when it did.
	ConfigDigest string
	Loaded       time.Time
	// ClientCertificateEnds and RouteCertificateEnds are when the certificates end that the process shows on its listeners;
	// zero where it shows none.
	ClientCertificateEnds, RouteCertificateEnds time.Time
	// Start is when the process started.
	Start time.Time
}

// Group says which Raft group. The zero value is the meta group; one without Consumer is a stream's.
type Group struct {
	// Account is the account's ID, which unlike its name is its own.
	Account          string
	Stream, Consumer string
}

// Report is one group as one of its members sees it.
type Report struct {
	Group Group
	// AccountName is what people call the account.
	AccountName string
	// Copies is how many members the configuration asks for, 0 when it was not read.
	Copies int
	// Raft says whether the server runs a Raft node for the group. It has none for a group of one.
	Raft bool
	// Leader is whom the server takes for the leader, empty when it knows none.
	Leader string
	// Members are the other members, and what the server thinks of them.
	Members []Member
}

// Member is one member of a group in another member's list.
type Member = monitorapi.Peer
