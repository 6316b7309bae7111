package serving

import (
	"slices"

	"github.com/holdfast-dev/holdfast/internal/garage/adminapi"
	"github.com/holdfast-dev/holdfast/internal/garage/layout"
)

// Plan is what to write.
type Plan struct {
	// In and Out are the nodes whose Pods come into the Service, and leave it.
	In, Out []string
}

// Decide compares the labels with what the processes say.
func Decide(nodes []Node) Plan {
	var plan Plan
	for _, node := range nodes {
		switch {
		case node.Serves && node.out():
			plan.Out = append(plan.Out, node.Name)
		case !node.Serves && node.in():
			plan.In = append(plan.In, node.Name)
		}
	}
	return plan
}

// out says that the node must not get requests.
func (n Node) out() bool {
	says, known := n.Says.Get()
	return n.Source || n.Held || known && n.Current && !n.hasRole(says)
}

// in says that the node can answer requests. The tables of keys and buckets are on every node of a layout, and come with the
// version that brings the node in: while that is being taken over they may not be there yet.
func (n Node) in() bool {
	says, known := n.Says.Get()
	return known && n.Current && !n.out() && layout.Settled(says.History)
}

func (n Node) hasRole(says Says) bool {
	return slices.ContainsFunc(says.Layout.Roles, func(r adminapi.NodeRole) bool { return r.ID == n.ID })
}
