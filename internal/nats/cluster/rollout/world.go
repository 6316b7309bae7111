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
	// Restarts are the planned servers that need one to come to the target, and why. What a reload can bring about is not
	// among them.
	Restarts map[string]string
	// EverUp are the servers that are on record as having run. One that is not serves nobody.
	EverUp map[string]bool
	// Settled is the verdict over the servers that exist.
	Settled settled.Verdict
	// Paused is spec.rollout.paused.
	Paused bool
	// Force is the server that the annotation force-step names; empty without it.
	Force string
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
