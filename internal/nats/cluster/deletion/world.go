package deletion

import (
	"github.com/holdfast-dev/holdfast/internal/kit/fact"
	"github.com/holdfast-dev/holdfast/internal/nats/cluster/facts"
)

// World is what the decision rests on.
type World struct {
	// Cluster is the NatsCluster's name.
	Cluster string
	// JetStream says that it runs it.
	JetStream bool
	// Held says that the finalizer is on the object, and Deleting that the object is to go.
	Held, Deleting bool
	// Forced says that a person has set force-delete.
	Forced bool
	// Servers are the servers' objects.
	Servers fact.Fact[facts.Servers]
	// EverUp are the servers that are on record as having run.
	EverUp map[string]bool
	// Streams are the streams that any server holds, as account/stream, sorted. It is unknown while a server does not answer.
	Streams fact.Fact[[]string]
}
