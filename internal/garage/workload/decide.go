package workload

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-dev/holdfast/api/garage/v1beta2"
	"github.com/holdfast-dev/holdfast/internal/garage/facts"
	"github.com/holdfast-dev/holdfast/internal/garage/render"
)

// Plan is what to create.
type Plan struct {
	// Add are the GarageNodes to make now.
	Add []string
	// Later are those that wait for their turn.
	Later []string
	// Create are the nodes that lack a StatefulSet.
	Create []string
	// Surplus are the nodes that the controller has made and that are not asked for any more.
	Surplus []string
	// Eject are the nodes that the controller has made and that are to be a user's.
	Eject []string
}

// Decide says what is missing, and what of it may be created now.
func Decide(w World) Plan {
	var plan Plan
	for _, name := range w.Wanted {
		if _, exists := w.Nodes.Get(name); !exists {
			plan.Later = append(plan.Later, name)
		}
	}
	switch {
	case w.InLayout == nil:
		plan.Add, plan.Later = plan.Later, nil
	case len(plan.Later) > 0 && w.Settled && w.haveRoles():
		plan.Add, plan.Later = plan.Later[:1], plan.Later[1:]
	}
	for _, node := range w.Nodes {
		switch {
		case !controlled(node):
		case w.Manual:
			plan.Eject = append(plan.Eject, node.Name())
		case w.surplus(node):
			plan.Surplus = append(plan.Surplus, node.Name())
		}
		if w.lacks(node) {
			plan.Create = append(plan.Create, node.Name())
		}
	}
	return plan
}

// controlled says that the node is a GarageCluster's. One that was ejected keeps its labels, since its Pod has them, too.
func controlled(node facts.Node) bool {
	owner := metav1.GetControllerOf(node.GarageNode)
	return owner != nil && owner.Kind == v1beta2.KindGarageCluster
}

// surplus says that the controller has made the node and that it is not asked for any more.
func (w World) surplus(node facts.Node) bool {
	_, auto := render.Ordinal(node.GarageNode)
	return auto && !slices.Contains(w.Wanted, node.Name())
}

// lacks says that nothing runs the node, or is about to. A Pod that has lost its StatefulSet still runs it.
func (w World) lacks(node facts.Node) bool {
	_, rendered := w.Rendered[node.Name()]
	return rendered && node.StatefulSet == nil && node.Pod == nil && node.GarageNode.DeletionTimestamp == nil
}

// haveRoles says that every node that exists and is asked for has its role.
func (w World) haveRoles() bool {
	return !slices.ContainsFunc(w.Nodes, func(node facts.Node) bool {
		return slices.Contains(w.Wanted, node.Name()) && !w.InLayout[node.Name()]
	})
}
