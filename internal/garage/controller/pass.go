package controller

import (
	"context"
	"errors"

	"k8s.io/utils/ptr"

	"github.com/holdfast-dev/holdfast/api/garage/v1beta2"
	"github.com/holdfast-dev/holdfast/internal/garage/credentials"
	"github.com/holdfast-dev/holdfast/internal/garage/facts"
	"github.com/holdfast-dev/holdfast/internal/garage/render"
	"github.com/holdfast-dev/holdfast/internal/garage/status"
	"github.com/holdfast-dev/holdfast/internal/garage/workload"
	"github.com/holdfast-dev/holdfast/internal/kit/fact"
	"github.com/holdfast-dev/holdfast/internal/kit/outcome"
)

// A pass is one reconciliation: what it has found out so far, for the concerns that follow and for the report.
type pass struct {
	*Reconciler
	cluster *v1beta2.GarageCluster
	nodes   facts.Nodes
	secrets credentials.Plan
	plan    *render.Plan
	objects workload.Objects
	// classes says which StorageClasses let claims grow, as far as it matters.
	classes map[string]fact.Fact[bool]
	// busy says that something was done that the next look has to show.
	busy   bool
	report status.Report
}

func newPass(r *Reconciler, cluster *v1beta2.GarageCluster) *pass {
	return &pass{
		Reconciler: r, cluster: cluster,
		report: status.Report{Cluster: cluster, ScaleSelector: render.ScaleSelector(cluster)},
	}
}

// readObjects reads the objects from the cache.
func (p *pass) readObjects(ctx context.Context) outcome.Outcome {
	for ordinal := range int(render.Replicas(p.cluster)) {
		p.report.Wanted = append(p.report.Wanted, render.NodeName(p.cluster.Name, ordinal))
	}
	read := facts.Read(ctx, p.Client, p.cluster)
	nodes, known := read.Get()
	if !known {
		return outcome.Failed(errors.New(read.Why()))
	}
	p.nodes, p.report.Nodes = nodes, &nodes
	return outcome.Continue()
}

// suspend ends the pass on a person's order.
func (p *pass) suspend(context.Context) outcome.Outcome {
	if !ptr.Deref(p.cluster.Spec.Maintenance.Suspended, false) {
		return outcome.Continue()
	}
	return p.hold("spec.maintenance.suspended is true: nothing is changed until it is not")
}

func (p *pass) keepCredentials(ctx context.Context) outcome.Outcome {
	plan, err := credentials.Keep(ctx, p.applier(), p.cluster, p.mayRun())
	if err != nil {
		return p.failed(err)
	}
	p.secrets, p.report.Warning = plan, plan.Warning
	if plan.Wait != "" {
		return p.hold(plan.Wait)
	}
	return outcome.Continue()
}

// mayRun says that some node may have been started already.
func (p *pass) mayRun() bool {
	for _, node := range p.nodes {
		stopped := node.GarageNode.Status.TeardownSince != nil // with the GarageCluster of the name that was before
		if node.StatefulSet != nil || node.Pod != nil || node.GarageNode.Status.NodeID != "" && !stopped {
			return true
		}
	}
	return ptr.Deref(p.cluster.Status.LayoutVersion, 0) > 0
}

// render makes the objects that the spec asks for. What cannot be carried out holds everything, and nothing is written.
func (p *pass) render(context.Context) outcome.Outcome {
	err := p.renderAll()
	var unsupported *render.UnsupportedError
	switch {
	case errors.As(err, &unsupported):
		return p.hold(unsupported.Error())
	case err != nil:
		return p.failed(err)
	}
	endpoints := p.plan.Endpoints()
	p.report.Endpoints = &endpoints
	return outcome.Continue()
}

func (p *pass) renderAll() error {
	in := render.Input{
		Cluster: p.cluster, DefaultImage: p.DefaultImage,
		RPC:   render.SecretKey{Name: p.secrets.RPC, Key: render.KeyRPCSecret},
		Admin: render.SecretKey{Name: p.secrets.Static, Key: render.KeyAdminToken},
	}
	if p.secrets.Metrics {
		in.Metrics = render.SecretKey{Name: p.secrets.Static, Key: render.KeyMetricsToken}
	}
	var err error
	if p.plan, err = render.NewPlan(in); err != nil {
		return err
	}
	if p.objects.Nodes, err = p.plan.AutoNodes(); err != nil {
		return err
	}
	p.objects.Rendered = map[string]render.Node{}
	here := int32(0)
	for _, node := range p.nodes {
		if node.External() {
			continue
		}
		here++
		rendered, err := p.plan.Node(node.GarageNode)
		switch {
		case err == nil:
			p.objects.Rendered[node.Name()] = rendered
		case node.GarageNode.DeletionTimestamp == nil: // what is to go is not to be in the way of its own end
			return err
		}
	}
	p.objects.Shared = p.plan.Shared(here)
	return nil
}

// bringIntoBeing makes what is missing.
func (p *pass) bringIntoBeing(ctx context.Context) outcome.Outcome {
	layout := p.report.Layout
	plan := workload.Decide(workload.World{
		Wanted: p.report.Wanted, Nodes: p.nodes, InLayout: p.inLayout(), Manual: render.Policy(p.cluster) == v1beta2.LayoutPolicyManual,
		Settled:  !layout.Wanted && layout.Settled,
		Rendered: p.objects.Rendered,
	})
	p.report.Workload = plan
	if err := workload.Act(ctx, p.applier(), p.cluster, p.objects, p.nodes, plan); err != nil {
		return p.failed(err)
	}
	p.busy = p.busy || len(plan.Add)+len(plan.Create) > 0
	return outcome.Continue()
}

// inLayout are the nodes with a role in the layout that is applied. It is nil before the first layout, which no member and no record
// speaks against.
func (p *pass) inLayout() map[string]bool {
	found := map[string]bool{}
	exists := ptr.Deref(p.cluster.Status.LayoutVersion, 0) > 0
	for _, node := range p.nodes {
		exists = exists || ptr.Deref(node.GarageNode.Status.InLayout, false)
		process, known := p.report.Processes.Of(node.Name()).Get()
		if !known {
			continue
		}
		exists = exists || process.Layout.Version > 0
		for _, role := range process.Layout.Roles {
			if role.ID == facts.Recorded(node.GarageNode) {
				found[node.Name()] = true
			}
		}
	}
	if !exists {
		return nil
	}
	return found
}
