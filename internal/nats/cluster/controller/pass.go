package controller

import (
	"context"
	"errors"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/holdfast-dev/holdfast/api/nats/cluster/v1beta1"
	"github.com/holdfast-dev/holdfast/internal/kit/apply"
	"github.com/holdfast-dev/holdfast/internal/kit/fact"
	"github.com/holdfast-dev/holdfast/internal/kit/outcome"
	"github.com/holdfast-dev/holdfast/internal/nats/cluster/certificates"
	"github.com/holdfast-dev/holdfast/internal/nats/cluster/deletion"
	"github.com/holdfast-dev/holdfast/internal/nats/cluster/facts"
	"github.com/holdfast-dev/holdfast/internal/nats/cluster/render"
	"github.com/holdfast-dev/holdfast/internal/nats/cluster/status"
	"github.com/holdfast-dev/holdfast/internal/nats/cluster/trust"
	"github.com/holdfast-dev/holdfast/internal/nats/cluster/workload"
	"github.com/holdfast-dev/holdfast/internal/nats/settled"
)

// A pass is one reconciliation: what it has found out so far, for the concerns that follow and for the report.
type pass struct {
	*Reconciler
	cluster *v1beta1.NatsCluster
	certs   certificates.Named
	foreign error // Secrets of names that are needed
	trust   *render.Trust
	// released says that nothing holds the NatsCluster any more, which is to go.
	released bool
	system   System // nil while nobody could be asked over it
	report   status.Report
}

// readServers reads the objects from the cache and asks the servers.
func (p *pass) readServers(ctx context.Context) outcome.Outcome {
	p.report.Servers, p.report.Settled = p.look(ctx, p.Client)
	return outcome.Continue()
}

// readNamed is readServers for a NatsCluster that is to go: nothing is let go of by what a cache, or a list, does not show.
func (p *pass) readNamed(ctx context.Context) outcome.Outcome {
	names := render.ServerNames(p.cluster)
	for _, server := range p.cluster.Status.Servers {
		if !slices.Contains(names, server.Name) {
			names = append(names, server.Name)
		}
	}
	p.report.Servers = facts.ReadNamed(ctx, p.Live, p.cluster, names)
	servers, _ := p.report.Servers.Get()
	p.report.Settled = p.observe(ctx, servers)
	return outcome.Continue()
}

// guard holds a NatsCluster with JetStream while it has streams. It comes before everything else while there is no finalizer
// yet, and after the servers have been asked when the object is to go.
func (p *pass) guard(ctx context.Context) outcome.Outcome {
	world := deletion.World{
		Cluster: p.cluster.Name, JetStream: p.cluster.Spec.JetStream != nil, Servers: p.report.Servers, EverUp: p.everUp(),
		Held: controllerutil.ContainsFinalizer(p.cluster, v1beta1.FinalizerJetStreamData), Deleting: !p.cluster.DeletionTimestamp.IsZero(),
	}
	_, world.Forced = p.cluster.Annotations[v1beta1.AnnotationForceDelete]
	if world.Deleting && world.Held && !world.Forced {
		servers, _ := p.report.Servers.Get()
		world.Streams = p.streams(ctx, servers)
	}
	plan := deletion.Decide(world)
	p.report.Deletion = plan
	if plan.Action != "" {
		if err := deletion.Act(ctx, p.Client, p.cluster, plan.Action); client.IgnoreNotFound(err) != nil {
			return outcome.Failed(err)
		}
	}
	p.released = world.Deleting && plan.Reason == ""
	return outcome.Continue()
}

// everUp are the servers that are on record as having run.
func (p *pass) everUp() map[string]bool {
	found := map[string]bool{}
	for _, server := range p.cluster.Status.Servers {
		found[server.Name] = server.Version != ""
	}
	return found
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
