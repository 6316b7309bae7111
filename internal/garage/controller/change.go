package controller

import (
	"context"
	"errors"
	"fmt"

	"github.com/holdfast-dev/holdfast/api/garage/v1beta2"
	"github.com/holdfast-dev/holdfast/internal/garage/adminapi"
	"github.com/holdfast-dev/holdfast/internal/garage/facts"
	"github.com/holdfast-dev/holdfast/internal/garage/identity"
	"github.com/holdfast-dev/holdfast/internal/garage/layout"
	"github.com/holdfast-dev/holdfast/internal/garage/render"
	"github.com/holdfast-dev/holdfast/internal/garage/status"
	"github.com/holdfast-dev/holdfast/internal/kit/fact"
	"github.com/holdfast-dev/holdfast/internal/kit/outcome"
)

// compareLayout compares the layout with what the spec asks for.
func (p *pass) compareLayout(context.Context) outcome.Outcome {
	plan := layout.Decide(p.layoutWorld(p.nodes, p.report.Processes, p.report.Identity, p.cluster.Status.LayoutChange))
	p.report.Layout = &plan
	return outcome.Continue()
}

// changeLayout writes the journal, then at most one version of the layout.
func (p *pass) changeLayout(ctx context.Context) outcome.Outcome {
	plan := p.report.Layout
	if plan.Action == nil {
		return outcome.Continue()
	}
	if err := p.writeStatus(ctx); err != nil {
		return outcome.Failed(err)
	}
	journal := p.cluster.Status.LayoutChange
	var nodes facts.Nodes // those that the action is taken on: a Pod may be at another address by then
	actor := layout.Actor{
		Reread: func(ctx context.Context) layout.World {
			var world layout.World
			world, nodes = p.rereadLayout(ctx, journal)
			return world
		},
		Of: func(id adminapi.NodeID) (layout.API, error) { return p.writer(ctx, nodes, id) },
	}
	p.busy = true
	out, err := actor.Act(ctx, *plan.Action)
	var refused *layout.RefusedError
	switch {
	case errors.As(err, &refused):
		plan.Journal.Refused, plan.Refused = refused.Message, refused.Message
		return outcome.Continue()
	case err != nil:
		return outcome.Failed(err)
	case out.Stops():
		return out
	}
	p.Events.Action(p.cluster, nil, "LayoutChanged", string(plan.Action.Kind), fmt.Sprintf("version %d: %s", plan.Action.Version, plan.Action.For))
	return outcome.Retry(whenBusy/4, "the layout was written")
}

func (p *pass) layoutWorld(nodes facts.Nodes, processes facts.Processes, who identity.Plan, journal v1beta2.LayoutChange) layout.World {
	atLeast, _ := render.ZoneRedundancy(p.cluster)
	w := layout.World{
		Redundancy: adminapi.ZoneRedundancy{AtLeast: uint64(atLeast)},
		Factor:     int(render.Factor(p.cluster)),
		Mixed:      mixed(nodes, processes),
		Journal:    status.Journal(journal),
	}
	if rolling := p.rolling(); rolling != nil {
		w.Replaced = rolling.GarageNodeName
	}
	for _, node := range nodes {
		w.Nodes = append(w.Nodes, p.layoutNode(node, processes.Own(node), who.Held[node.Name()]))
	}
	p.makeRoom(&w, nodes)
	p.heed(&w, nodes, processes)
	for _, name := range p.report.Wanted { // a GarageNode that is still to come has to be in the first layout
		if _, exists := nodes.Get(name); !exists {
			w.Nodes = append(w.Nodes, layout.Node{Name: name, View: fact.Unknown[layout.View]("GarageNode " + name + " does not exist yet")})
		}
	}
	return w
}

// layoutNode is a node as the layout's concern sees it.
func (p *pass) layoutNode(node facts.Node, said fact.Fact[facts.Process], held string) layout.Node {
	one := layout.Node{Name: node.Name(), ID: facts.Recorded(node.GarageNode), Held: held, External: node.External()}
	role, err := p.plan.Role(node.GarageNode)
	switch {
	case held != "":
	case err != nil:
		one.Held = err.Error()
	case node.GarageNode.DeletionTimestamp != nil:
		one.Held = "it is being deleted"
	}
	one.Role = adminapi.Role{Zone: role.Zone, Tags: role.Tags, Capacity: adminapi.Bytes(uint64(role.Capacity))}
	one.View = fact.Unknown[layout.View](said.Why())
	if process, known := said.Get(); known {
		one.View = fact.Known(layout.View{Layout: process.Layout, History: process.History, Status: process.Status})
	}
	return one
}

// mixed says that processes run different minor versions, or that it is not known which.
func mixed(nodes facts.Nodes, processes facts.Processes) string {
	first, minor := "", ""
	for _, node := range nodes {
		process, known := processes.Of(node.Name()).Get()
		if !known {
			continue // whoever says nothing blocks by that
		}
		version, known := process.Info.Version.Get()
		if !known {
			return node.Name() + ": " + process.Info.Version.Why()
		}
		its := fmt.Sprintf("%d.%d", version.Major, version.Minor)
		if first == "" {
			first, minor = node.Name(), its
		}
		if its != minor {
			return fmt.Sprintf("%s runs %s and %s %s", first, minor, node.Name(), its)
		}
	}
	return ""
}

// rereadLayout makes the World that the layout is written on: objects from the API server, and new answers.
func (p *pass) rereadLayout(ctx context.Context, journal v1beta2.LayoutChange) (layout.World, facts.Nodes) {
	unknown := func(why string) (layout.World, facts.Nodes) {
		return layout.World{Nodes: []layout.Node{{Name: p.cluster.Name, View: fact.Unknown[layout.View](why)}}}, nil
	}
	read := facts.Read(ctx, p.Live, p.cluster)
	nodes, known := read.Get()
	if !known {
		return unknown(read.Why())
	}
	processes := facts.Observe(ctx, p.asker, nodes)
	world := p.layoutWorld(nodes, processes, p.decideIdentity(nodes, processes), journal)
	if !p.unchanged(ctx) { // last, after everything else was read
		return unknown("the GarageCluster was changed meanwhile")
	}
	return world, nodes
}

// writer is the Admin API of the node that is told.
func (p *pass) writer(ctx context.Context, nodes facts.Nodes, id adminapi.NodeID) (layout.API, error) {
	for _, node := range nodes {
		if facts.Recorded(node.GarageNode) == id && node.Pod != nil && !node.External() {
			return p.api(ctx, node)
		}
	}
	return nil, fmt.Errorf("node %s has no Pod", id)
}
