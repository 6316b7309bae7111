package removal

import (
	"fmt"
	"slices"

	"github.com/holdfast-dev/holdfast/api/garage/v1beta2"
	"github.com/holdfast-dev/holdfast/internal/garage/adminapi"
	"github.com/holdfast-dev/holdfast/internal/kit/words"
)

// A Kind is one thing that is done, most of which cannot be taken back.
type Kind string

const (
	// Mark writes into a node's status that its GarageCluster goes.
	Mark Kind = "Mark"
	// DeleteNode deletes a GarageNode that goes with its GarageCluster.
	DeleteNode Kind = "DeleteNode"
	// Stop deletes a node's StatefulSet.
	Stop Kind = "Stop"
	// DropClaim deletes a claim.
	DropClaim Kind = "DropClaim"
	// FreeClaim takes the finalizers off a claim, that of a rollout, too.
	FreeClaim Kind = "FreeClaim"
	// FreeNode takes the finalizer off a GarageNode, and with it the object goes.
	FreeNode Kind = "FreeNode"
	// FreeCluster takes the finalizer off the GarageCluster, and with it the object goes.
	FreeCluster Kind = "FreeCluster"
)

// An Action is one of those.
type Action struct {
	Kind Kind
	// Node and Claim are what it is done to; empty where it is about the whole.
	Node, Claim string
}

// A Guard is a finalizer to put on.
type Guard struct {
	// Node is the GarageNode, empty for the GarageCluster; Claim the claim of it, empty for the node itself.
	Node, Claim string
	// Store is what a claim's annotation is to say.
	Store string
}

// Plan is what to do, and what is waited for.
type Plan struct {
	// Guards are all put on now.
	Guards []Guard
	// Action is nil when there is nothing to do.
	Action *Action
	// Held says by name why a node that is to go stays.
	Held map[string]string
	// Waits are what the end of what goes waits for.
	Waits []string
}

// Decide says what of the nodes is to be held, and what may go.
func Decide(w World) Plan {
	plan := Plan{Held: map[string]string{}}
	if w.Cluster != nil && !w.Cluster.Deleting && !w.Cluster.Guarded {
		plan.Guards = append(plan.Guards, Guard{})
	}
	for _, node := range w.Nodes {
		if node.Deleting || w.goes(node) {
			w.letGo(node, &plan)
		} else {
			plan.Guards = append(plan.Guards, w.guards(node)...)
		}
	}
	if plan.Action == nil && len(plan.Waits) == 0 && w.ended() {
		plan.Action = &Action{Kind: FreeCluster}
	}
	return plan
}

// letGo adds to the plan what is to be done with a node that is to go, or why it is not.
func (w World) letGo(node Node, plan *Plan) {
	if why := w.holds(node); why != "" {
		plan.Held[node.Name] = why
		return
	}
	switch kind, claim := w.step(node); {
	case kind == wait:
		plan.Waits = append(plan.Waits, "the Pod of "+node.Name+" stops")
	case kind != "" && plan.Action == nil:
		plan.Action = &Action{Kind: kind, Node: node.Name, Claim: claim}
	}
}

// goes says that the node's GarageCluster is being deleted, or gone.
func (w World) goes(node Node) bool { return w.Cluster == nil || w.Cluster.Deleting || node.Left }

// guards are the finalizers that the node and its claims lack.
func (w World) guards(node Node) []Guard {
	var guards []Guard
	if !node.Guarded {
		guards = append(guards, Guard{Node: node.Name})
	}
	for _, claim := range node.Claims {
		store := claim.Store
		if store == "" || w.gaveRole(node) {
			store = w.Cluster.UID
		}
		if !claim.Deleting && (!claim.Guarded || claim.Store != store) {
			guards = append(guards, Guard{Node: node.Name, Claim: claim.Name, Store: store})
		}
	}
	return guards
}

// gaveRole says that the node's role is from this GarageCluster, by the node's own word.
func (w World) gaveRole(node Node) bool {
	says, known := node.Says.Get()
	return known && slices.ContainsFunc(says.Roles, func(role adminapi.NodeRole) bool {
		return role.ID == node.ID && slices.Contains(role.Tags, v1beta2.TagClusterUID+w.Cluster.UID)
	})
}

// wait is the step of a node whose process still stops.
const wait Kind = "wait"

// step is what to do next with a node that may go; empty for nothing.
func (w World) step(node Node) (kind Kind, claim string) {
	switch {
	case w.goes(node) && !node.Marked:
		return Mark, ""
	case node.Deleting:
		if !node.Guarded {
			return "", "" // nothing of it is held
		}
	case w.Cluster == nil || node.Left:
		return "", "" // whose it was does not say any more; its owner, or Kubernetes, deletes it
	case node.Ours:
		return DeleteNode, ""
	}
	if kind, claim := w.stop(node); kind != "" || !node.Deleting {
		return kind, claim
	}
	return FreeNode, ""
}

// stop is what to do next with what runs a node and with its claims.
func (w World) stop(node Node) (kind Kind, claim string) {
	switch {
	case node.HasStatefulSet:
		return Stop, ""
	case node.HasPod:
		return wait, ""
	}
	for _, claim := range node.Claims {
		switch {
		case !claim.Guarded:
		case node.DropClaims && claim.Recorded && !claim.Deleting && !w.spares(node, claim):
			return DropClaim, claim.Name
		default:
			return FreeClaim, claim.Name
		}
	}
	return "", ""
}

// spares says that a claim is kept whatever the spec wants. The spec has no say over a node of a GarageCluster that was before; and
// what is on a disk that was there before the node may be another store's as long as this one has given it no role.
func (w World) spares(node Node, claim Claim) bool {
	gaveRole := w.Cluster != nil && node.EverInLayout && claim.Store == w.Cluster.UID
	return node.Left || claim.Older && node.Proof == "" && !gaveRole
}

// ended says that nothing is left that the GarageCluster has to see the end of.
func (w World) ended() bool {
	return w.Cluster != nil && w.Cluster.Deleting && w.Cluster.Guarded && !slices.ContainsFunc(w.Nodes, func(node Node) bool {
		return node.Ours || !node.Left && (node.HasStatefulSet || node.HasPod)
	})
}

// holds says why a node that is to be deleted must stay; empty when nothing is lost by its end.
func (w World) holds(node Node) string {
	if w.goes(node) || !node.Guarded {
		return ""
	}
	role, unknown := w.role(node)
	order := fmt.Sprintf("kubectl annotate garagenode %s %s=true", node.Name, v1beta2.AnnotationDrain)
	switch {
	case role:
		return "it has its role in the layout, and what it holds may be nowhere else: it goes on running, and goes once it is drained: " + order
	case len(unknown) > 0:
		return "whether it has a role in the layout is not known: " + words.Reasons(unknown)
	case node.ID != "" && node.Proof == node.ID:
		return ""
	case node.EverInLayout:
		return "it has had a role in the layout, and nothing shows that what it holds is on the other nodes: it goes on running, and goes once it is drained: " + order
	case node.ID == "" && w.mayBe(node):
		return "it has not said who it is, its disk was there before, and the layout has a role of a node that nobody is: it goes once it has said so, or that role is gone"
	}
	return ""
}

// role says whether some member shows a role of the node, and which members do not say.
func (w World) role(node Node) (shown bool, unknown []string) {
	for _, other := range w.Nodes {
		if other.External {
			continue
		}
		says, known := other.Says.Get()
		switch {
		case known:
			shown = shown || node.ID != "" && slices.ContainsFunc(says.Roles, func(role adminapi.NodeRole) bool { return role.ID == node.ID })
		case other.EverInLayout && other.Name != node.Name:
			unknown = append(unknown, other.Name+": "+other.Says.Why())
		}
	}
	return shown, unknown
}

// mayBe says that the node, which has not said who it is, may have one of the roles: it came with a disk, and of some role nobody
// is known to be it.
func (w World) mayBe(node Node) bool {
	if !node.Brought && !slices.ContainsFunc(node.Claims, func(claim Claim) bool { return claim.Older }) {
		return false
	}
	known := map[adminapi.NodeID]bool{}
	for _, other := range w.Nodes {
		known[other.ID] = true
	}
	return slices.ContainsFunc(w.Nodes, func(other Node) bool {
		says, _ := other.Says.Get()
		return slices.ContainsFunc(says.Roles, func(role adminapi.NodeRole) bool { return !known[role.ID] })
	})
}

// Waiting is what the end of a GarageCluster waits for, as a clause.
func (p Plan) Waiting() string {
	if len(p.Waits) == 0 {
		return "its GarageNodes go"
	}
	return words.Clauses(p.Waits)
}
