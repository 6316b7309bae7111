package controller

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-dev/holdfast/api/nats/cluster/v1beta1"
	"github.com/holdfast-dev/holdfast/internal/kit/apply"
	"github.com/holdfast-dev/holdfast/internal/kit/events"
	"github.com/holdfast-dev/holdfast/internal/kit/fact"
	"github.com/holdfast-dev/holdfast/internal/kit/outcome"
	"github.com/holdfast-dev/holdfast/internal/nats/cluster/certificates"
	"github.com/holdfast-dev/holdfast/internal/nats/cluster/facts"
	"github.com/holdfast-dev/holdfast/internal/nats/cluster/reload"
	"github.com/holdfast-dev/holdfast/internal/nats/cluster/render"
	"github.com/holdfast-dev/holdfast/internal/nats/cluster/rollout"
	"github.com/holdfast-dev/holdfast/internal/nats/cluster/status"
	"github.com/holdfast-dev/holdfast/internal/nats/cluster/trust"
	"github.com/holdfast-dev/holdfast/internal/nats/cluster/workload"
	"github.com/holdfast-dev/holdfast/internal/nats/settled"
	"github.com/holdfast-dev/holdfast/internal/nats/sysapi"
)

// told are the conditions whose changes become events. Settled is left out: it changes with every restart.
var told = events.Rules{
	Types: []string{v1beta1.ConditionReady, v1beta1.ConditionProgressing},
	Warnings: []string{v1beta1.ReasonReconcileFailed, v1beta1.ReasonUnsupportedSpec, v1beta1.ReasonScaleDownBlocked, v1beta1.ReasonReplacementBlocked, v1beta1.ReasonQuorumUnavailable,
		v1beta1.ReasonGateBlocked, v1beta1.ReasonNoGrant, v1beta1.ReasonTrustNotFound, v1beta1.ReasonTrustInvalid},
}

// A pass is one reconciliation: what it has found out so far, for the concerns that follow and for the report.
type pass struct {
	*Reconciler
	cluster *v1beta1.NatsCluster
	certs   certificates.Named
	foreign error // Secrets of names that are needed
	trust   *render.Trust
	system  *sysapi.Client // nil while nobody could be asked over it
	report  status.Report
}

// readServers reads the objects from the cache and asks the servers.
func (p *pass) readServers(ctx context.Context) outcome.Outcome {
	p.report.Servers, p.report.Settled = p.look(ctx, p.Client)
	return outcome.Continue()
}

func (p *pass) look(ctx context.Context, reader client.Reader) (fact.Fact[facts.Servers], settled.Verdict) {
	servers := facts.Read(ctx, reader, p.cluster)
	known, _ := servers.Get()
	return servers, p.observe(ctx, known)
}

// readTrust finds out whom the servers are to trust, or holds everything.
func (p *pass) readTrust(ctx context.Context) outcome.Outcome {
	if p.cluster.Spec.Auth == nil {
		return outcome.Continue()
	}
	plan := trust.Decide(trust.Read(ctx, p.Client, p.cluster, p.report.Servers), p.Clock.Now())
	if plan.Trust == nil {
		return p.hold(workload.Hold{Reason: plan.Reason, Message: plan.Message})
	}
	p.trust = plan.Trust
	return outcome.Continue()
}

// refuse holds what cannot be carried out before anything is written, a certificate too. Whether a spec can be
// carried out does not depend on certificates, so it is judged without.
func (p *pass) refuse(ctx context.Context) outcome.Outcome {
	if out := p.render(ctx); out.Stops() {
		return out
	}
	if hold := p.plan().Hold; hold != nil {
		return p.hold(*hold)
	}
	p.report.Rendered = nil // not to be told: the revision depends on certificates
	return outcome.Continue()
}

func (p *pass) plan() workload.Plan { return p.planOn(p.report.Servers) }

func (p *pass) planOn(servers fact.Fact[facts.Servers]) workload.Plan {
	return workload.Decide(workload.World{
		Rendered: *p.report.Rendered, JetStream: p.cluster.Spec.JetStream != nil,
		CertificateMissing: len(p.certs.Waiting) > 0, Servers: servers, Unfinished: p.unfinished(), Edited: p.edited(servers),
	})
}

// edited are the servers whose configuration somebody has changed by hand: it is no witness of what they run.
func (p *pass) edited(servers fact.Fact[facts.Servers]) map[string]bool {
	found := map[string]bool{}
	known, _ := servers.Get()
	for _, server := range known {
		if server.ConfigMap != nil {
			found[server.Name] = !p.applier().Owns(server.ConfigMap, "data", render.ConfigKey)
		}
	}
	return found
}

func (p *pass) keepCertificates(ctx context.Context) outcome.Outcome {
	named, err := certificates.Keep(ctx, p.applier(), p.cluster, p.Clock.Now())
	switch {
	case len(apply.Foreign(err)) > 0: // reported together with the other objects that are in the way
		p.foreign = err
		named.Waiting = append(named.Waiting, certificates.Wait{Reason: v1beta1.ReasonRouteCertificateNotReady, Message: err.Error()})
	case err != nil:
		return p.failed(err)
	}
	p.certs, p.report.Waiting = named, named.Waiting
	return outcome.Continue()
}

func (p *pass) render(context.Context) outcome.Outcome {
	out, err := render.Render(render.Input{
		Cluster: p.cluster, ControllerNamespace: p.Namespace, Exporter: p.Exporter,
		ClientTLS: p.certs.Client, RoutesTLS: p.certs.Routes, Trust: p.trust,
	})
	var unsupported *render.UnsupportedError
	switch {
	case errors.As(err, &unsupported):
		return p.hold(workload.Hold{Reason: v1beta1.ReasonUnsupportedSpec, Message: unsupported.Error()})
	case err != nil:
		return p.failed(err)
	}
	p.report.Rendered = &out
	return outcome.Continue()
}

func (p *pass) bringIntoBeing(ctx context.Context) outcome.Outcome {
	plan := p.plan()
	p.report.Workload = plan
	switch {
	case plan.Hold != nil:
		return p.hold(*plan.Hold)
	case plan.Unknown != "":
		return outcome.Retry(whenBusy, plan.Unknown)
	}
	servers, _ := p.report.Servers.Get() // known: a plan was made of them
	err := errors.Join(p.foreign, workload.Act(ctx, p.applier(), p.cluster, *p.report.Rendered, servers, plan))
	if err != nil {
		return p.failed(err)
	}
	if len(p.certs.Waiting) > 0 { // nothing restarts towards a certificate that is not there
		return outcome.Retry(whenUnsettled, p.certs.Waiting[0].Message)
	}
	return outcome.Continue()
}

// unfinished are the servers whose creation an earlier pass could not complete. The StatefulSet controller writes to a
// new StatefulSet at once, so that is ordinary. One of another revision is left to the rollout: to complete it would
// restart it.
func (p *pass) unfinished() map[string]bool {
	servers, _ := p.report.Servers.Get()
	found := map[string]bool{}
	for _, server := range servers.Existing() {
		cut := p.applier().Unfinished(server.StatefulSet) || server.ConfigMap != nil && p.applier().Unfinished(server.ConfigMap)
		found[server.Name] = cut && server.TemplateRevision() == p.report.Rendered.Revision
	}
	return found
}

// roll writes the journal, then takes the step.
func (p *pass) roll(ctx context.Context) outcome.Outcome {
	world := p.world(p.report.Servers, p.report.Settled)
	plan := rollout.Decide(world, metav1.NewTime(p.Clock.Now()))
	actor := rollout.Actor{Applier: p.applier(), Reread: p.reread}
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
		EverUp:   map[string]bool{},
		Paused:   ptr.Deref(p.cluster.Spec.Rollout.Paused, false), Force: p.cluster.Annotations[v1beta1.AnnotationForceStep],
	}
	for _, wanted := range p.report.Rendered.Servers {
		world.Planned = append(world.Planned, wanted.Name)
	}
	for _, server := range p.cluster.Status.Servers {
		world.EverUp[server.Name] = server.Version != ""
	}
	for name, completing := range p.unfinished() { // which restarts nothing
		if completing {
			delete(world.Restarts, name)
		}
	}
	return world
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
			same, err := p.applier().Matches(p.cluster, wanted.StatefulSetAt(server.TemplateRevision()), server.StatefulSet)
			world.Pods[server.Name] = same && err == nil
		}
		if server.ConfigMap != nil {
			same, err := p.applier().Matches(p.cluster, reload.Carry(wanted.ConfigMap, server.ConfigMap), server.ConfigMap)
			world.Configs[server.Name] = same && err == nil
		}
	}
	return world
}

func (p *pass) hold(hold workload.Hold) outcome.Outcome {
	p.report.Hold = &hold
	return outcome.Retry(p.wake(), hold.Reason)
}

// failed reports what stands in the way: every foreign object by name, or the error itself. An object that moved,
// or an API server that is busy, is no news to a person: the pass is only repeated.
func (p *pass) failed(err error) outcome.Outcome {
	foreign := apply.Foreign(err)
	if len(foreign) == 0 {
		if !passing(err) {
			p.report.Failure = err.Error()
		}
		return outcome.Failed(err)
	}
	names := make([]string, 0, len(foreign))
	for _, object := range foreign {
		names = append(names, object.Kind+" "+object.Name)
	}
	p.report.Failure = fmt.Sprintf("%s: of a name that this NatsCluster needs, and not controlled by it; nothing of that name was written: delete or rename each, or rename the NatsCluster",
		strings.Join(names, ", "))
	return outcome.Retry(whenUnsettled, "foreign objects")
}

// passing says that an error goes away by itself.
func passing(err error) bool {
	for _, is := range []func(error) bool{
		apierrors.IsConflict, apierrors.IsAlreadyExists, apierrors.IsTimeout, apierrors.IsServerTimeout,
		apierrors.IsTooManyRequests, apierrors.IsServiceUnavailable, apierrors.IsInternalError,
	} {
		if is(err) {
			return true
		}
	}
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)
}

// wake is when to look again if nothing happens.
func (p *pass) wake() time.Duration {
	switch {
	case p.report.Rollout != nil && p.report.Rollout.Journal != nil || len(p.report.Workload.Create) > 0 || len(p.report.Reload.Pending()) > 0:
		return whenBusy
	case p.report.Settled.Settled && p.report.Hold == nil:
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
