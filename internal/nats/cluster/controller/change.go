package controller

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-dev/holdfast/api/nats/cluster/v1beta1"
	"github.com/holdfast-dev/holdfast/internal/kit/fact"
	"github.com/holdfast-dev/holdfast/internal/kit/outcome"
	"github.com/holdfast-dev/holdfast/internal/nats/cluster/facts"
	"github.com/holdfast-dev/holdfast/internal/nats/cluster/reload"
	"github.com/holdfast-dev/holdfast/internal/nats/cluster/rollout"
	"github.com/holdfast-dev/holdfast/internal/nats/settled"
)

// roll writes the journal, then takes the step.
func (p *pass) roll(ctx context.Context) outcome.Outcome {
	world := p.world(p.report.Servers, p.report.Settled)
	plan := rollout.Decide(world, metav1.NewTime(p.Clock.Now()))
	actor := rollout.Actor{Applier: p.applier(), Reread: func(ctx context.Context) rollout.World {
		// The journal that was decided on, and not the one with the step in it: by that the step would be under way already,
		// and what was a reason to wait for another server's would be none.
		again := p.reread(ctx)
		again.Journal = world.Journal
		return again
	}}
	if plan.Fence != "" {
		if err := actor.Fence(ctx, p.cluster, plan.Fence); err != nil {
			return outcome.Failed(err) // the journal stays as it is
		}
	}
	p.report.Rollout = &plan
	if plan.Next != nil {
		p.report.RestartReason = world.Restarts[plan.Next.Server]
	}
	if plan.Step == nil {
		return p.takeOrder(ctx) // of a server that does not wait for anything
	}
	if err := p.writeStatus(ctx); err != nil {
		return outcome.Failed(err)
	}
	if out := p.takeOrder(ctx); out.Stops() {
		return out
	}
	out, err := actor.Act(ctx, p.cluster, *p.report.Rendered, *plan.Step)
	switch {
	case err != nil:
		return p.failed(err)
	case out.Stops():
		return out
	}
	p.tellStep(plan)
	return outcome.Retry(whenBusy, "step taken")
}

// reread makes the World that a step is taken on. The StatefulSets are read first, and then the NatsCluster: while that is
// still the one that was decided on, nobody else has begun a step, so that whoever begins one later makes the StatefulSet's
// resourceVersion fail. Where it is not, or where these facts would hold the whole NatsCluster, nothing is known.
func (p *pass) reread(ctx context.Context) rollout.World {
	servers, verdict := p.look(ctx, p.Live)
	world := p.world(servers, verdict)
	var live v1beta1.NatsCluster
	err := p.Live.Get(ctx, client.ObjectKeyFromObject(p.cluster), &live)
	switch {
	case err != nil:
		world.Servers = fact.Unknown[facts.Servers](err.Error())
	case live.UID != p.cluster.UID || live.ResourceVersion != p.cluster.ResourceVersion:
		world.Servers = fact.Unknown[facts.Servers]("the NatsCluster was changed meanwhile")
	default:
		if hold := p.planOn(servers).Hold; hold != nil {
			world.Servers = fact.Unknown[facts.Servers](hold.Message)
		}
	}
	return world
}

func (p *pass) tellStep(plan rollout.Plan) {
	note := fmt.Sprintf("%s of %s", plan.Step.Kind, plan.Step.Server)
	if plan.Forced {
		note += ", as ordered by " + v1beta1.AnnotationForceStep
	}
	p.Events.Action(p.cluster, nil, "RolloutStep", string(plan.Step.Kind), note)
}

// takeOrder takes the annotation force-step off the NatsCluster, once it is read, whatever it names.
func (p *pass) takeOrder(ctx context.Context) outcome.Outcome {
	if _, ordered := p.cluster.Annotations[v1beta1.AnnotationForceStep]; !ordered {
		return outcome.Continue()
	}
	without := p.cluster.DeepCopy()
	delete(without.Annotations, v1beta1.AnnotationForceStep)
	patch := client.MergeFromWithOptions(p.cluster, client.MergeFromWithOptimisticLock{})
	if err := p.Client.Patch(ctx, without, patch); err != nil {
		return outcome.Failed(fmt.Errorf("taking %s off %s: %w", v1beta1.AnnotationForceStep, p.cluster.Name, err))
	}
	p.cluster.ResourceVersion = without.ResourceVersion
	return outcome.Continue()
}

func (p *pass) world(servers fact.Fact[facts.Servers], verdict settled.Verdict) rollout.World {
	world := rollout.World{
		Target: p.report.Rendered.Revision, Servers: servers, Settled: verdict, Journal: p.cluster.Status.Rollout,
		Restarts: reload.Decide(p.changes(servers, verdict), p.Clock.Now()).Restarts(),
		EverUp:   p.everUp(),
		Paused:   ptr.Deref(p.cluster.Spec.Rollout.Paused, false), Force: p.cluster.Annotations[v1beta1.AnnotationForceStep],
	}
	for _, wanted := range p.report.Rendered.Servers {
		world.Planned = append(world.Planned, wanted.Name)
	}
	for name, completing := range p.unfinished() { // which restarts nothing
		if completing {
			delete(world.Restarts, name)
		}
	}
	return world
}

// dropOrder takes the annotation force-step off where the pass did not come to the rollout: no server waits for a restart
// then, so the order is for nobody, and must not be found when one does.
func (p *pass) dropOrder(ctx context.Context, out outcome.Outcome) outcome.Outcome {
	if p.report.Rollout != nil || out.Kind() == outcome.KindFailed || !p.cluster.DeletionTimestamp.IsZero() {
		return outcome.Continue()
	}
	return p.takeOrder(ctx)
}

// reload brings about what needs no restart.
func (p *pass) reload(ctx context.Context) outcome.Outcome {
	world := p.changes(p.report.Servers, p.report.Settled)
	plan := reload.Decide(world, p.Clock.Now())
	p.report.Reload = plan
	var reloader reload.Reloader
	if p.system != nil {
		reloader = p.system
	}
	if err := reload.Act(ctx, p.applier(), reloader, p.cluster, world, plan, p.Clock.Now()); err != nil {
		return p.failed(err)
	}
	return outcome.Continue()
}

// changes compares the servers with what is rendered for them, without a request. A comparison that fails counts as a
// difference: the step that follows fails with the same error, and says so.
func (p *pass) changes(servers fact.Fact[facts.Servers], verdict settled.Verdict) reload.World {
	known, _ := servers.Get()
	world := reload.World{
		Rendered: *p.report.Rendered, Servers: known, Processes: verdict.Servers, Credentials: p.hasSystemUser(),
		Pods: map[string]bool{}, Configs: map[string]bool{},
	}
	for _, wanted := range p.report.Rendered.Servers {
		server := known.Get(wanted.Name)
		if server.StatefulSet != nil {
			same, err := p.applier().Matches(p.cluster, wanted.StatefulSetLike(server.StatefulSet), server.StatefulSet)
			world.Pods[server.Name] = same && err == nil
		}
		if server.ConfigMap != nil {
			same, err := p.applier().Matches(p.cluster, reload.Carry(wanted.ConfigMap, server.ConfigMap), server.ConfigMap)
			world.Configs[server.Name] = same && err == nil
		}
	}
	return world
}
