package controller

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-dev/holdfast/api/nats/cluster/v1beta1"
	"github.com/holdfast-dev/holdfast/internal/kit/apply"
	"github.com/holdfast-dev/holdfast/internal/kit/events"
	"github.com/holdfast-dev/holdfast/internal/kit/outcome"
	"github.com/holdfast-dev/holdfast/internal/nats/cluster/status"
	"github.com/holdfast-dev/holdfast/internal/nats/cluster/workload"
)

// told are the conditions whose changes become events. Settled is left out: it changes with every restart.
var told = events.Rules{
	Types: []string{v1beta1.ConditionReady, v1beta1.ConditionProgressing, v1beta1.ConditionDeleting},
	Warnings: []string{v1beta1.ReasonReconcileFailed, v1beta1.ReasonUnsupportedSpec, v1beta1.ReasonScaleDownBlocked, v1beta1.ReasonReplacementBlocked, v1beta1.ReasonQuorumUnavailable,
		v1beta1.ReasonGateBlocked, v1beta1.ReasonNoGrant, v1beta1.ReasonTrustNotFound, v1beta1.ReasonTrustInvalid,
		v1beta1.ReasonJetStreamDataRemains},
}

func (p *pass) hold(hold workload.Hold) outcome.Outcome {
	p.report.Hold = &hold
	return outcome.Retry(p.wake(), hold.Reason)
}

// failed reports what stands in the way.
func (p *pass) failed(err error) outcome.Outcome {
	problem, foreign := apply.Problem(err, v1beta1.KindNatsCluster)
	if problem != "" {
		p.report.Failure = problem
	}
	if foreign {
		return outcome.Retry(whenUnsettled, "foreign objects")
	}
	return outcome.Failed(err)
}

// wake is when to look again if nothing happens.
func (p *pass) wake() time.Duration {
	switch {
	case p.report.Rollout != nil && p.report.Rollout.Journal != nil || len(p.report.Workload.Create) > 0 || len(p.report.Reload.Pending()) > 0:
		return whenBusy
	case p.report.Settled.Settled && p.report.Hold == nil && p.report.Deletion.Reason == "":
		return whenSettled
	}
	return whenUnsettled
}

// writeStatus writes the status if it changed, with the resourceVersion that the pass was decided on: of two
// controllers that decided on the same NatsCluster, one fails here.
func (p *pass) writeStatus(ctx context.Context) error {
	next := status.Build(p.report, p.Clock.Now())
	key := client.ObjectKeyFromObject(p.cluster)
	defer func() {
		p.Metrics.Conditions(v1beta1.KindNatsCluster, key, p.cluster.Status.Conditions)
		pending, waitingFor := 0, ""
		if rollout := p.cluster.Status.Rollout; rollout != nil {
			pending = len(rollout.Pending)
			if rollout.Gate != nil {
				waitingFor = string(rollout.Gate.WaitingFor)
			}
		}
		p.Metrics.Rollout(v1beta1.KindNatsCluster, key, pending, waitingFor)
	}()
	if equality.Semantic.DeepEqual(p.cluster.Status, next) {
		return nil
	}
	previous := p.cluster.Status
	p.cluster.Status = next
	if err := p.Client.Status().Update(ctx, p.cluster); err != nil {
		p.cluster.Status = previous
		return fmt.Errorf("writing the status of %s: %w", key, err)
	}
	p.Events.Report(p.cluster, events.Transitions(previous.Conditions, next.Conditions, told))
	return nil
}
