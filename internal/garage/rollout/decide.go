package rollout

import (
	"fmt"
	"slices"
	"time"

	"github.com/holdfast-dev/holdfast/api/garage/v1beta2"
	"github.com/holdfast-dev/holdfast/internal/garage/whole"
	"github.com/holdfast-dev/holdfast/internal/kit/gates"
	"github.com/holdfast-dev/holdfast/internal/kit/words"
)

// A Kind is what is done to one node.
type Kind string

const (
	// Replace writes the template and deletes the Pod, if there is one.
	Replace Kind = "Replace"
	// Correct writes the StatefulSet, and restarts nothing: the Pod is what is rendered, or never was anybody.
	Correct Kind = "Correct"
	// TakeBack marks the Pod that was to go and is to stay.
	TakeBack Kind = "TakeBack"
	// Release lets go of the claims, after which the step is over.
	Release Kind = "Release"
)

// An Action is one thing done to one node.
type Action struct {
	Kind Kind
	Node string
}

// Plan is what to do now, or what it waits for.
type Plan struct {
	Action *Action
	// Journal is what the status has to say before the action is taken; nil outside a step.
	Journal *v1beta2.StorageRollout
	// Behind are the nodes that do not run what is rendered.
	Behind []string
	// Next is the node that is being replaced, or would be next; empty when none is to be.
	Next string
	// Gates hold the replacement of a Pod back, in order.
	Gates []gates.Gate
	// Back says what the new Pod has still to show; empty outside a step, and before the old Pod is gone.
	Back string
	// Over says that the action ends the step: the status is to forget it afterwards.
	Over bool
	// Ahead is the node for whose turn the step ends before its own node is back; empty otherwise.
	Ahead string
	// Wake is when time alone may open a gate; 0 for never.
	Wake time.Duration
}

// MaxRetired is how many StatefulSets of one node a step outlives (Additive node-local pools, Parent-controlled workload rollout).
const MaxRetired = 32

// Decide says which Pod to replace.
func Decide(w World, now time.Time) Plan {
	plan := Plan{}
	for _, node := range w.Nodes {
		if node.behind() {
			plan.Behind = append(plan.Behind, node.Name)
		}
	}
	if w.Journal != nil {
		return w.goOn(plan, now)
	}
	if at := slices.IndexFunc(w.Nodes, Node.strayed); at >= 0 {
		plan.Action = &Action{Kind: Correct, Node: w.Nodes[at].Name}
		return plan
	}
	node, found := w.candidate()
	if !found {
		return plan
	}
	plan.Next = node.Name
	return w.replace(plan, node, w.begin(node), now)
}

// strayed says that the StatefulSet may be written without a restart of anybody. Without a Pod it makes one, and with that the claims
// that are not there: only one that never was anybody may begin with those.
func (n Node) strayed() bool {
	return n.Workload != nil && !n.Workload.Rendered && (n.Pod == nil && n.fresh() || !n.behind() && (n.Pod != nil || n.Claims == ""))
}

// candidate is the node to replace next: one that never was anybody, one that is down, one that is not ready, for which the others
// would wait, the first by name.
func (w World) candidate() (Node, bool) {
	for _, first := range []func(Node) bool{Node.fresh, Node.down, Node.unready, func(Node) bool { return true }} {
		for _, node := range w.Nodes {
			if node.behind() && first(node) {
				return node, true
			}
		}
	}
	return Node{}, false
}

// begin is the journal of a new step.
func (w World) begin(node Node) *v1beta2.StorageRollout {
	if node.fresh() {
		return nil // there is nothing that a step would have to keep
	}
	journal := &v1beta2.StorageRollout{
		GarageNodeName: node.Name, GarageNodeUID: node.UID, GarageNodeID: string(node.ID), PreviousPodUID: NoPod,
		DesiredConfigHash: node.Rendered.Config, DesiredPodSpecHash: node.Rendered.PodSpec,
		PersistentVolumeClaims: node.Kept, RecoveryRequest: w.Recover,
	}
	if node.Workload != nil {
		journal.WorkloadUID = node.Workload.UID
	}
	if node.Pod != nil {
		journal.PreviousPodUID = node.Pod.UID
	}
	return journal
}

// NoPod stands in the journal for the Pod of a node that had none when its step began.
const NoPod = "none"

// replace is the plan to replace the node's Pod, unless a gate holds it.
func (w World) replace(plan Plan, node Node, journal *v1beta2.StorageRollout, now time.Time) Plan {
	if node.Workload == nil {
		plan.Back = "its StatefulSet does not exist yet, or has lost its labels"
		return plan
	}
	v := w.as(node, now)
	if plan.Gates = gates.Closed(v, v.checks()); len(plan.Gates) > 0 {
		plan.Wake = v.opens()
		return plan
	}
	plan.Journal = journal
	plan.Action = &Action{Kind: Replace, Node: node.Name}
	return plan
}

// goOn is the plan within a step.
func (w World) goOn(plan Plan, now time.Time) Plan {
	journal := w.Journal.DeepCopy()
	plan.Journal, plan.Next = journal, journal.GarageNodeName
	at := slices.IndexFunc(w.Nodes, func(n Node) bool { return n.UID == journal.GarageNodeUID })
	if at < 0 {
		plan.Action, plan.Over = &Action{Kind: Release, Node: journal.GarageNodeName}, true // it was let go by who guards its deletion
		return plan
	}
	node := w.Nodes[at]
	journal.DesiredConfigHash, journal.DesiredPodSpecHash = node.Rendered.Config, node.Rendered.PodSpec
	if why := retire(journal, node); why != "" {
		plan.Journal, plan.Back = w.Journal, why
		return plan
	}
	switch {
	case node.Workload == nil:
		plan.Back = "its StatefulSet does not exist, or has lost its labels"
	case node.Pod == nil && !node.Workload.Rendered:
		plan.Action = &Action{Kind: Replace, Node: node.Name}
	case node.Pod == nil:
		plan.Back = "its StatefulSet has not made the new Pod yet"
	case node.Pod.Leaving:
		plan.Back = "its Pod is stopping"
	case node.Pod.UID == journal.PreviousPodUID:
		return w.before(plan, node, now)
	default:
		return w.after(plan, node, now)
	}
	return plan
}

// retire keeps the UID of a StatefulSet that was replaced. It says why that is not possible any more.
func retire(journal *v1beta2.StorageRollout, node Node) string {
	if node.Workload == nil || node.Workload.UID == journal.WorkloadUID {
		return ""
	}
	if len(journal.RetiredWorkloadUIDs) >= MaxRetired {
		return fmt.Sprintf("its StatefulSet was replaced %d times in one step, and more are not kept apart", MaxRetired)
	}
	journal.RetiredWorkloadUIDs = append(journal.RetiredWorkloadUIDs, string(journal.WorkloadUID))
	journal.WorkloadUID = node.Workload.UID
	return ""
}

// before is the plan while the Pod that is to go is there.
func (w World) before(plan Plan, node Node, now time.Time) Plan {
	switch {
	case node.behind(), node.down(): // one that is down is no less so with a new Pod, which a person may have asked for
		return w.held(w.replace(plan, node, plan.Journal, now), node, TakeBack)
	case !node.Workload.Rendered:
		plan.Action = &Action{Kind: Correct, Node: node.Name}
	default:
		plan.Action, plan.Over = &Action{Kind: TakeBack, Node: node.Name}, true
	}
	return plan
}

// after is the plan when another Pod is there.
func (w World) after(plan Plan, node Node, now time.Time) Plan {
	if node.behind() || w.recovers(node) {
		journal := plan.Journal.DeepCopy()
		journal.PreviousPodUID, journal.RecoveryRequest = node.Pod.UID, w.Recover
		return w.held(w.replace(plan, node, journal, now), node, Release)
	}
	if plan.Back = w.missing(node, plan.Journal); plan.Back == "" {
		plan.Action, plan.Over = &Action{Kind: Release, Node: node.Name}, true
	}
	return plan
}

// held keeps the journal as it was where a gate is closed: what was not done is not written down. Where that gate waits for a node
// which itself waits for its turn, end is how the step makes way.
func (w World) held(plan Plan, node Node, end Kind) Plan {
	if plan.Action != nil {
		return plan
	}
	plan.Journal = w.Journal
	if ahead := w.ahead(node); ahead != "" && !node.down() {
		plan.Action, plan.Over, plan.Ahead = &Action{Kind: end, Node: node.Name}, true, ahead
	}
	return plan
}

// recovers says that a person wants the Pod that does not come up made once more.
func (w World) recovers(node Node) bool {
	return w.Recover != "" && w.Recover != w.Journal.RecoveryRequest && node.down()
}

// missing says what the new Pod has still to show; empty for nothing.
func (w World) missing(node Node, journal *v1beta2.StorageRollout) string {
	pod := node.Pod
	switch {
	case slices.Contains(journal.RetiredWorkloadUIDs, string(pod.Owner)):
		return "its Pod is that of a StatefulSet that is gone"
	case node.Held != "":
		return node.Held
	case !pod.Ready:
		return words.Because("its new Pod is not ready", pod.Why)
	case !node.Answers, !node.Current:
		return "its new Pod has not said who it is"
	case !node.Workload.Rendered:
		return "its StatefulSet is not as it is to be"
	case w.ahead(node) != "":
		return "" // the store is not whole before that one is back, and its turn has to come
	case w.unmade():
		return "" // the first layout waits for the end of the step
	}
	return whole.Why(w.Members, "")
}

// unmade says that there is no layout yet, by the word of all that say something.
func (w World) unmade() bool {
	answers := 0
	for _, member := range w.Members {
		says, known := member.Says.Get()
		if says.Layout.Version > 0 {
			return false
		}
		if known {
			answers++
		}
	}
	return answers > 0
}

// ahead is another node that does not serve and waits for what is rendered; empty for none.
func (w World) ahead(node Node) string {
	for _, other := range w.Nodes {
		if other.Name != node.Name && other.ID != "" && other.unready() && other.behind() {
			return other.Name
		}
	}
	return ""
}
