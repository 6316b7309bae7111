package status

import (
	"slices"

	"github.com/holdfast-dev/holdfast/api/garage/v1beta2"
	"github.com/holdfast-dev/holdfast/internal/garage/adminapi"
	"github.com/holdfast-dev/holdfast/internal/garage/facts"
	"github.com/holdfast-dev/holdfast/internal/garage/growth"
	"github.com/holdfast-dev/holdfast/internal/garage/identity"
	"github.com/holdfast-dev/holdfast/internal/garage/layout"
	"github.com/holdfast-dev/holdfast/internal/garage/removal"
	"github.com/holdfast-dev/holdfast/internal/garage/rollout"
	"github.com/holdfast-dev/holdfast/internal/garage/workload"
)

// Report is what one pass has found out.
type Report struct {
	// Cluster is the GarageCluster as it was read.
	Cluster *v1beta2.GarageCluster
	// Wanted are the GarageNodes that the controller is to make.
	Wanted []string
	// Nodes are the nodes and their objects; nil when they could not be read.
	Nodes *facts.Nodes
	// Processes are what the nodes say.
	Processes facts.Processes
	Identity  identity.Plan
	Workload  workload.Plan
	Removal   removal.Plan
	Growth    growth.Plan
	// Layout is nil when the pass did not come to it.
	Layout *layout.Plan
	// Rollout is nil when the pass did not come to it.
	Rollout *rollout.Plan
	// Operation is what is to be said of an order by annotation; nil to leave what was said.
	Operation *v1beta2.LastOperation
	// Endpoints are nil while nothing could be rendered.
	Endpoints *v1beta2.Endpoints
	// ScaleSelector selects the Pods that the scale subresource counts.
	ScaleSelector string
	// Failure is what stands in the way; empty when nothing does.
	Failure string
	// Warning is what is wrong and stops nothing.
	Warning string
}

// known are the processes that have said something and are who is recorded, by name.
func (r Report) known() map[string]facts.Process {
	found := map[string]facts.Process{}
	for name, said := range r.Processes {
		if process, known := said.Get(); known && r.Identity.Held[name] == "" && r.recorded(name) == process.ID {
			found[name] = process
		}
	}
	return found
}

// members are those of known that have a role in their own layout, or all while nobody has. Whoever is still joining sees nobody, and
// that says nothing of the others.
func (r Report) members() map[string]facts.Process {
	known := r.known()
	found := map[string]facts.Process{}
	for name, process := range known {
		if slices.ContainsFunc(process.Layout.Roles, func(role adminapi.NodeRole) bool { return role.ID == process.ID }) {
			found[name] = process
		}
	}
	if len(found) == 0 {
		return known
	}
	return found
}

func (r Report) nodes() facts.Nodes {
	if r.Nodes == nil {
		return nil
	}
	return *r.Nodes
}

// recorded is who a node is by its status, or of an external one by its spec.
func (r Report) recorded(name string) adminapi.NodeID {
	node, exists := r.nodes().Get(name)
	if !exists {
		return ""
	}
	return facts.Recorded(node.GarageNode)
}

// view is the process whose word is reported where one is enough: one that has a role, the first by name.
func (r Report) view() (facts.Process, bool) {
	known := r.known()
	var first *facts.Process
	for _, node := range r.nodes() {
		process, is := known[node.Name()]
		if !is {
			continue
		}
		if slices.ContainsFunc(process.Layout.Roles, func(role adminapi.NodeRole) bool { return role.ID == process.ID }) {
			return process, true
		}
		if first == nil {
			first = &process
		}
	}
	if first == nil {
		return facts.Process{}, false
	}
	return *first, true
}
