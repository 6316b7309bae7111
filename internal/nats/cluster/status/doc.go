// Package status says what a pass of the cluster controller saw, did and waits for, as the status of a
// NatsCluster (nats-operator v1 design, 4.7 Status). It is pure, and its texts speak of states only: a message
// that changed as time passes would be written, and wake the controller, for as long as the state lasts.
package status

import (
	"github.com/holdfast-dev/holdfast/api/nats/cluster/v1beta1"
	"github.com/holdfast-dev/holdfast/internal/kit/fact"
	"github.com/holdfast-dev/holdfast/internal/nats/cluster/certificates"
	"github.com/holdfast-dev/holdfast/internal/nats/cluster/deletion"
	"github.com/holdfast-dev/holdfast/internal/nats/cluster/facts"
	"github.com/holdfast-dev/holdfast/internal/nats/cluster/reload"
	"github.com/holdfast-dev/holdfast/internal/nats/cluster/render"
	"github.com/holdfast-dev/holdfast/internal/nats/cluster/rollout"
	"github.com/holdfast-dev/holdfast/internal/nats/cluster/workload"
	"github.com/holdfast-dev/holdfast/internal/nats/settled"
)

// Report is everything that a pass found out.
type Report struct {
	// Cluster is the NatsCluster as the pass read it, its previous status included.
	Cluster *v1beta1.NatsCluster
	// Hold is why nothing was written, of whichever concern; nil when nothing holds.
	Hold *workload.Hold
	// Failure is why a write failed; empty when none did.
	Failure string
	// Deletion is what holds the NatsCluster although it is to be deleted.
	Deletion deletion.Plan
	// Waiting are the certificates that are not there yet.
	Waiting []certificates.Wait
	// Rendered are the objects that the spec asks for; nil when it could not be rendered.
	Rendered *render.Output
	// Servers are the servers' objects.
	Servers fact.Fact[facts.Servers]
	// Workload is what is missing.
	Workload workload.Plan
	// Settled is the verdict over the servers.
	Settled settled.Verdict
	// Reload is what each server needs to come to what is rendered.
	Reload reload.Plan
	// Rollout is the next step, or what it waits for; nil when the pass did not come to decide it, and then the
	// journal stays as it is.
	Rollout *rollout.Plan
	// RestartReason is what the next restart is for; empty when none is due.
	RestartReason string
}
