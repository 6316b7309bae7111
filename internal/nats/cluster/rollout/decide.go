package rollout

import (
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-dev/holdfast/api/nats/cluster/v1beta1"
	"github.com/holdfast-dev/holdfast/internal/kit/gates"
	"github.com/holdfast-dev/holdfast/internal/kit/words"
	"github.com/holdfast-dev/holdfast/internal/nats/cluster/facts"
)

// A Plan is the next step, or what it waits for.
type Plan struct {
	// Step, when set, may be taken now.
	Step *Step
	// Next is the server that the gates are about: the next to be touched, empty when the last step has only to
	// prove complete.
	Next *Step
	// Gates are the facts that hold the next step back, in order.
	Gates []gates.Gate
	// Journal is what status.rollout must say before the step is taken; nil when no rollout is under way.
	Journal *v1beta1.RolloutStatus
}

// view is the World with one server looked away from.
type view struct {
	World
	servers facts.Servers
	// apart is a server that is down anyway or about to go for good; empty for none.
	apart string
}

// Decide says which server may be touched now, if any. now is used only as the time at which a gate is first
// seen closed.
func Decide(w World, now metav1.Time) Plan {
	servers, known := w.Servers.Get()
	if !known {
		plan := Plan{Gates: []gates.Gate{{Name: string(v1beta1.GateReady), Why: w.Servers.Why()}}, Journal: w.Journal}
		return plan
	}
	waiting := order(w, servers)
	if len(waiting) == 0 && (w.Journal == nil || w.Journal.Current == "") {
		return Plan{} // nothing to do, and nothing begun that has to prove itself
	}
	v := view{World: w, servers: servers}
	plan := Plan{}
	if len(waiting) > 0 {
		plan.Next = choose(w, servers, waiting)
		v.apart = lookAway(w, servers, *plan.Next)
	}
	if plan.Next == nil || !servers.Get(plan.Next.Server).NeverStarted() {
		plan.Gates = gates.Closed(v, checks)
	}
	open := len(plan.Gates) == 0
	if open && plan.Next == nil {
		return Plan{} // the last step has proved complete
	}
	if open {
		plan.Step = plan.Next
	}
	plan.Journal = journal(w, servers, waiting, plan, now)
	return plan
}

// order lists what is still to be done: servers beyond the plan first, then restarts; the highest ordinal
// first, and the meta leader's server last, since each step down is a pause for every stream that is created
// or changed meanwhile.
func order(w World, servers facts.Servers) []Step {
	var removals, restarts, last []Step
	for _, server := range slices.Backward(servers) {
		switch {
		case !slices.Contains(w.Planned, server.Name):
			if server.StatefulSet != nil || server.ConfigMap != nil {
				removals = append(removals, Step{Remove, server.Name})
			}
		case server.StatefulSet == nil || server.Revision() == w.Target && !w.Differs[server.Name]:
		case server.Name == w.Settled.MetaLeader:
			last = append(last, Step{Restart, server.Name})
		default:
			restarts = append(restarts, Step{Restart, server.Name})
		}
	}
	return slices.Concat(removals, restarts, last)
}

// choose keeps to the journalled server while its step is undone: an earlier leader's late write for it can be
// told by the StatefulSet's resourceVersion only if nobody goes on to another server in between. Otherwise a
// server that never started goes first, and then the order counts.
func choose(w World, servers facts.Servers, waiting []Step) *Step {
	if w.Journal != nil {
		if i := slices.IndexFunc(waiting, func(s Step) bool { return s.Server == w.Journal.Current }); i >= 0 {
			return &waiting[i]
		}
	}
	if i := slices.IndexFunc(waiting, func(s Step) bool { return servers.Get(s.Server).NeverStarted() }); i >= 0 {
		return &waiting[i]
	}
	return &waiting[0]
}

// lookAway names the server whose own state does not count for its own step: one that goes for good, and one
// that is down because its step is under way.
func lookAway(w World, servers facts.Servers, next Step) string {
	underWay := w.Journal != nil && w.Journal.Current == next.Server && servers.Get(next.Server).NotReady() != ""
	if next.Kind == Remove || underWay {
		return next.Server
	}
	return ""
}

// journal is the status.rollout that goes with the plan.
func journal(w World, servers facts.Servers, waiting []Step, plan Plan, now metav1.Time) *v1beta1.RolloutStatus {
	next := &v1beta1.RolloutStatus{TargetRevision: w.Target}
	if w.Journal != nil {
		next.Current = w.Journal.Current
	}
	if plan.Step != nil {
		next.Current = plan.Step.Server
	}
	for _, name := range w.Planned {
		if name != next.Current && servers.Get(name).Revision() == w.Target && !w.Differs[name] {
			next.Updated = append(next.Updated, name)
		}
	}
	for _, step := range waiting {
		if step.Server != next.Current {
			next.Pending = append(next.Pending, step.Server)
		}
	}
	if len(plan.Gates) > 0 {
		next.Gate = &v1beta1.GateStatus{WaitingFor: v1beta1.GateName(plan.Gates[0].Name), Since: since(w.Journal, next, now)}
	}
	return next
}

// since is how long the gate has been closed. It starts anew with each step and each target.
func since(old, next *v1beta1.RolloutStatus, now metav1.Time) metav1.Time {
	if old != nil && old.Gate != nil && old.TargetRevision == next.TargetRevision && old.Current == next.Current {
		return old.Gate.Since
	}
	return now
}

// checks are the gate to the next server, in the order in which they are reported.
var checks = []gates.Check[view]{
	{Name: string(v1beta1.GateSettled), Holds: notSettled},
	{Name: string(v1beta1.GateReady), Holds: notReady},
	{Name: string(v1beta1.GateTargetRevision), Holds: notReported},
}

// notSettled blocks until every Raft group has a leader and every member is online and current. For a server
// that is looked away from, its own silence and its own memberships are forgiven. A server that answers without
// being a member of the meta group is as good as behind in it.
func notSettled(v view) (string, bool) {
	verdict := v.Settled
	if !verdict.SettledApart(v.apart) {
		return verdict.Message, true
	}
	outside := slices.DeleteFunc(slices.Clone(verdict.OutsideMeta), func(name string) bool { return name == v.apart })
	if len(outside) > 0 {
		return words.Reasons(outside) + ": not in the meta leader's list of members", true
	}
	return "", false
}

// notReady blocks until the Pod of every planned server is Ready at its template.
func notReady(v view) (string, bool) {
	var why []string
	for _, name := range v.Planned {
		if reason := v.servers.Get(name).NotReady(); name != v.apart && reason != "" {
			why = append(why, reason)
		}
	}
	return words.Reasons(why), len(why) > 0
}

// notReported blocks until every server that was written for the target says itself that it runs it: only the
// process knows what it was started with.
func notReported(v view) (string, bool) {
	var why []string
	for _, name := range v.Planned {
		if v.servers.Get(name).Revision() != v.Target || name == v.apart {
			continue
		}
		if got := v.Settled.Servers[name].ConfigRevision; got != v.Target {
			why = append(why, fmt.Sprintf("%s does not report revision %s", name, v.Target))
		}
	}
	return words.Reasons(why), len(why) > 0
}
