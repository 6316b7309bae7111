package controller

import (
	"context"
	"fmt"

	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-dev/holdfast/internal/garage/facts"
	"github.com/holdfast-dev/holdfast/internal/garage/growth"
	"github.com/holdfast-dev/holdfast/internal/garage/layout"
	"github.com/holdfast-dev/holdfast/internal/garage/render"
	"github.com/holdfast-dev/holdfast/internal/kit/fact"
	"github.com/holdfast-dev/holdfast/internal/kit/outcome"
)

// growClaims has the claims of one node ask for what the spec says.
func (p *pass) growClaims(ctx context.Context) outcome.Outcome {
	w := growth.World{Nodes: p.growing(p.nodes)}
	p.classes = p.readClasses(ctx, growth.Classes(w.Nodes))
	w.Classes = p.classes
	p.report.Growth = growth.Decide(w)
	actor := growth.Actor{Client: p.Client, Live: p.Live}
	for _, one := range p.report.Growth.Grow {
		node, _ := p.nodes.Get(one.Node) // it was decided on
		claim, err := actor.Act(ctx, w, one, p.cluster.Namespace)
		if apierrors.IsForbidden(err) || apierrors.IsInvalid(err) {
			p.report.Growth.Stuck = append(p.report.Growth.Stuck, err.Error()) // such as a quota: no reason to do nothing else
			continue
		}
		if err != nil {
			return outcome.Failed(err)
		}
		p.busy = true
		p.Events.Action(node.GarageNode, claim, "ClaimGrows", "Grow", fmt.Sprintf("%s asks for %s instead of %s", one.Claim.Name, &one.Claim.Size, &one.From))
	}
	return outcome.Continue()
}

// growing are the nodes as the growth of claims sees them.
func (p *pass) growing(nodes facts.Nodes) []growth.Node {
	var all []growth.Node
	for _, node := range nodes {
		claims, err := render.Claims(node.GarageNode)
		one := growth.Node{Name: node.Name(), Claims: claims, Live: node.Claims}
		switch {
		case err != nil:
			one.Leave = err.Error()
		case node.GarageNode.DeletionTimestamp != nil:
			one.Leave = "its node is being deleted"
		case ptr.Deref(node.GarageNode.Spec.Maintenance.Suspended, false):
			one.Leave = "spec.maintenance.suspended of its node is true"
		}
		all = append(all, one)
	}
	return all
}

// readClasses asks which StorageClasses let claims grow.
func (p *pass) readClasses(ctx context.Context, names map[string]bool) map[string]fact.Fact[bool] {
	found := map[string]fact.Fact[bool]{}
	for name := range names {
		var class storagev1.StorageClass
		if err := p.Live.Get(ctx, client.ObjectKey{Name: name}, &class); err != nil {
			found[name] = fact.Unknown[bool](err.Error())
			continue
		}
		found[name] = fact.Known(ptr.Deref(class.AllowVolumeExpansion, false))
	}
	return found
}

// makeRoom keeps roles as small as the disks are.
func (p *pass) makeRoom(w *layout.World, nodes facts.Nodes) {
	plan := growth.Decide(growth.World{Nodes: p.growing(nodes), Classes: p.classes})
	w.Patient = len(plan.Growing) > 0
	for i := range w.Nodes {
		w.Nodes[i].Cramped = plan.Cramped[w.Nodes[i].Name]
	}
}
