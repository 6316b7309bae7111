package controller

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-dev/holdfast/api/garage/v1beta1"
	"github.com/holdfast-dev/holdfast/api/garage/v1beta2"
	"github.com/holdfast-dev/holdfast/internal/kit/apply"
	"github.com/holdfast-dev/holdfast/internal/kit/events"
	"github.com/holdfast-dev/holdfast/internal/kit/outcome"
)

// told are the conditions whose changes become events.
var (
	toldOfCluster = events.Rules{
		Types:    []string{v1beta2.ConditionReady, v1beta2.ConditionStorageTopologyReady, v1beta2.ConditionStorageRolloutReady, v1beta2.ConditionQuorumAtRisk, v1beta2.ConditionPeerUnreachable},
		Warnings: []string{v1beta2.ReasonReconcileFailed, v1beta2.ReasonPartitionsBelowQuorum, v1beta2.ReasonSustainedUnreachable},
	}
	toldOfNode = events.Rules{
		Types:    []string{v1beta1.ConditionReady, v1beta1.ConditionDrainPrepared},
		Warnings: []string{v1beta1.ReasonReconcileFailed, v1beta1.ReasonPreparationBlocked},
	}
)

// hold reports what a person has to see to.
func (p *pass) hold(why string) outcome.Outcome {
	p.report.Failure = why
	return outcome.Retry(whenUnsettled, why)
}

// failed reports what stands in the way.
func (p *pass) failed(err error) outcome.Outcome {
	problem, foreign := apply.Problem(err, v1beta2.KindGarageCluster)
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
	layout, rolling := p.report.Layout, p.report.Rollout
	switch {
	case p.busy || layout == nil || layout.Wanted || !layout.Settled || len(p.report.Workload.Later) > 0:
		return whenBusy
	case rolling != nil && rolling.Wake > 0:
		return rolling.Wake
	case rolling != nil && rolling.Journal != nil:
		return whenBusy
	case p.cluster.Status.Phase == v1beta2.PhaseRunning:
		return whenSettled
	}
	return whenUnsettled
}

// writeStatus writes the statuses that changed, each with the resourceVersion that the pass was decided on: of two controllers that
// decided on the same object, one fails here.
func (p *pass) writeStatus(ctx context.Context) error {
	now := p.Clock.Now()
	nodes := map[string]v1beta1.GarageNodeStatus{}
	for _, node := range p.nodes {
		next := p.report.Node(node, now)
		nodes[node.Name()] = next
		if equality.Semantic.DeepEqual(node.GarageNode.Status, next) {
			continue
		}
		previous := node.GarageNode.Status
		node.GarageNode.Status = next
		if err := p.Client.Status().Update(ctx, node.GarageNode); err != nil {
			return fmt.Errorf("writing the status of GarageNode %s: %w", node.Name(), err)
		}
		p.Events.Report(node.GarageNode, events.Transitions(previous.Conditions, next.Conditions, toldOfNode))
	}
	next := p.report.Build(nodes, now)
	key := client.ObjectKeyFromObject(p.cluster)
	defer func() { p.Metrics.Conditions(v1beta2.KindGarageCluster, key, p.cluster.Status.Conditions) }()
	if equality.Semantic.DeepEqual(p.cluster.Status, next) {
		return nil
	}
	previous := p.cluster.Status
	p.cluster.Status = next
	if err := p.Client.Status().Update(ctx, p.cluster); err != nil {
		p.cluster.Status = previous
		return fmt.Errorf("writing the status of %s: %w", key, err)
	}
	p.Events.Report(p.cluster, events.Transitions(previous.Conditions, next.Conditions, toldOfCluster))
	return nil
}
