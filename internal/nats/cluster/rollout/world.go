package rollout

import (
	"github.com/holdfast-dev/holdfast/api/nats/cluster/v1beta1"
	"github.com/holdfast-dev/holdfast/internal/kit/fact"
	"github.com/holdfast-dev/holdfast/internal/nats/cluster/facts"
	"github.com/holdfast-dev/holdfast/internal/nats/settled"
)

// World is what the decision rests on.
type World struct {
	// Target is the rendered revision.
	Target string
	// Planned are the names of the servers that the spec asks for, lowest ordinal first.
	Planned []string
	// Servers are the servers' objects.
	Servers fact.Fact[facts.Servers]
	// Differs are the planned servers whose objects are not as rendered, whatever revision they carry: a user's
	// edit of a Pod template is put right like any other change.
	Differs map[string]bool
	// Settled is the verdict over the servers that exist.
	Settled settled.Verdict
	// Journal is status.rollout; nil outside a rollout.
	Journal *v1beta1.RolloutStatus
}

// A StepKind is what is done to one server.
type StepKind string

const (
	// Restart writes the server's ConfigMap and Pod template.
	Restart StepKind = "Restart"
	// Remove deletes the server's StatefulSet and ConfigMap.
	Remove StepKind = "Remove"
)

// A Step is one thing done to one server.
type Step struct {
	Kind   StepKind
	Server string
}
