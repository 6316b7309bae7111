package rollout

import (
	"fmt"
	"maps"
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
	// Paused says that spec.rollout.paused holds the next step back, whatever the gates say.
	Paused bool
	// Forced says that a person has ordered the step, whatever the gates say.
	Forced bool
	// Fence is a server that was chosen for a step that did not come about, and that the journal is about to drop. Its
	// StatefulSet has to be marked first: a write of that step may still be on its way.
	Fence string
	// Journal is what status.rollout must say before the step is taken; nil when no rollout is under way.
	Journal *v1beta1.RolloutStatus
}

// view is the World as seen for one step.
type view struct {
	World
	servers facts.Servers
	// next is the server of the step, empty where there is none.
	next string
	// apart says that next is about to go for good, or that its step is under way: its own state does not count.
	apart bool
}

// Decide says which server may be touched now, if any. now is used only as the time at which a gate is first
// seen closed.
func Decide(w World, now metav1.Time) Plan {
	servers, known := w.Servers.Get()
	if !known {
		return Plan{Gates: []gates.Gate{{Name: string(v1beta1.GateReady), Why: w.Servers.Why()}}, Journal: w.Journal}
	}
	waiting := order(w, servers)
	if len(waiting) == 0 && w.current() == "" {
		return Plan{} // nothing to do, and nothing begun that has to prove itself
	}
	plan := next(w, servers, waiting)
	if plan.Next != nil || len(plan.Gates) > 0 { // or else the last step has proved complete
		plan.Journal = journal(w, servers, waiting, plan, now)
	}
	plan.Fence = fence(w, servers, plan.Journal)
	return plan
}

// next chooses the next step, if one is left, and says what holds it.
func next(w World, servers facts.Servers, waiting []Step) Plan {
	v := view{World: w, servers: servers}
	var plan Plan
	if len(waiting) > 0 {
		plan.Next, plan.Forced = choose(v, waiting)
		plan.Paused = w.Paused && !plan.Forced
		v.next = plan.Next.Server
		v.apart = plan.Next.Kind == Remove || v.next == w.current()
	}
	if plan.Next == nil || plan.Next.Kind == Remove || !v.takesNothing(v.next) {
		plan.Gates = gates.Closed(v, checks)
	}
	if plan.Forced || len(plan.Gates) == 0 && !plan.Paused {
		plan.Step = plan.Next
	}
	return plan
}

// current is the server whose step has begun and is not proved complete.
func (w World) current() string {
	if w.Journal == nil {
		return ""
	}
	return w.Journal.Current
}

// takesNothing says that a new template takes nothing away by that server, since it does not run: it has never been up; or
// its own step is under way; or it cannot come up as it is, and no other was begun with that does not run either. A server
// that is only about to come back keeps its template, and the gate waits for it: if the target is bad, it is one of those
// that still work.
func (v view) takesNothing(name string) bool {
	server := v.servers.Get(name)
	if _, answers := v.Settled.Servers[name]; answers || !server.Stopped() {
		return false
	}
	current := v.current()
	switch {
	case !v.EverUp[name], current == name && server.TemplateRevision() == v.Journal.TargetRevision:
		return true
	case !server.Stuck():
		return false
	case current == "":
		return true
	case current == name: // its step was journalled and has not come about
		return !v.unproven(name)
	}
	return !v.servers.Get(current).Stopped() && !v.unproven(name)
}

// unproven says that a server other than that one was written for the target and does not say itself that it runs it. The
// journal cannot tell: it names one server, and may have gone on from another on facts that were stale. Nor can the state of
// a container: one that crashes runs for a moment each time. Ready it need not be: for that it may need the others.
func (v view) unproven(name string) bool {
	return slices.ContainsFunc(v.Planned, func(other string) bool {
		server := v.servers.Get(other)
		return other != name && server.StatefulSet != nil && !v.needsRestart(server) && v.Settled.Servers[other].ConfigRevision != v.Target
	})
}

// fence is the journalled server, if the journal is about to drop it and its step has not come about: its StatefulSet is
// not at the revision that it was chosen for. One that is was written, and a write that was sent before that fails.
func fence(w World, servers facts.Servers, next *v1beta1.RolloutStatus) string {
	if w.current() == "" || next != nil && next.Current == w.current() {
		return ""
	}
	server := servers.Get(w.current())
	if server.StatefulSet == nil || server.TemplateRevision() == w.Journal.TargetRevision {
		return ""
	}
	return server.Name
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
		case !w.needsRestart(server):
		case server.Name == w.Settled.MetaLeader:
			last = append(last, Step{Restart, server.Name})
		default:
			restarts = append(restarts, Step{Restart, server.Name})
		}
	}
	return slices.Concat(removals, restarts, last)
}

// needsRestart says whether the server has to be restarted to come to the target.
func (w World) needsRestart(server facts.Server) bool {
	_, needs := w.Restarts[server.Name]
	return needs || server.Orphaned(w.Target)
}

// choose takes the server that a person names. Otherwise one goes first by which nothing is taken away, since it may be what
// all the others wait for; then the journalled one while its step is undone; and then the order counts.
func choose(v view, waiting []Step) (next *Step, forced bool) {
	if i := slices.IndexFunc(waiting, func(s Step) bool { return s.Kind == Restart && s.Server == v.Force }); i >= 0 {
		return &waiting[i], true
	}
	for _, is := range []func(Step) bool{
		func(s Step) bool { return s.Kind == Restart && v.takesNothing(s.Server) },
		func(s Step) bool { return s.Server == v.current() },
	} {
		if i := slices.IndexFunc(waiting, is); i >= 0 {
			return &waiting[i], false
		}
	}
	return &waiting[0], false
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
		if server := servers.Get(name); name != next.Current && server.StatefulSet != nil && !w.needsRestart(server) {
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
	verdict, apart := v.Settled, v.forgiven()
	if !verdict.SettledApart(apart) {
		return verdict.Message, true
	}
	outside := slices.DeleteFunc(slices.Clone(verdict.OutsideMeta), func(name string) bool { return name == apart })
	if len(outside) > 0 {
		return words.Reasons(outside) + ": not in the meta leader's list of members", true
	}
	return "", false
}

// forgiven is the server whose own state does not count, empty for none.
func (v view) forgiven() string {
	if v.apart {
		return v.next
	}
	return ""
}

// notReady blocks until the Pod of every planned server is Ready at its template, knows all the others, and until what is
// left of a removed one has gone. The next server is about to get another template: the present one does not count.
func notReady(v view) (string, bool) {
	var why []string
	for _, name := range v.Planned {
		reason := v.servers.Get(name).NotReady()
		if name == v.next {
			reason = v.servers.Get(name).NotServing()
		}
		if name != v.forgiven() && reason != "" {
			why = append(why, reason)
		}
	}
	for _, server := range v.servers {
		if server.Pod != nil && server.Name != v.next && !slices.Contains(v.Planned, server.Name) && server.StatefulSet == nil {
			why = append(why, fmt.Sprintf("Pod %s is still there", server.Pod.Name))
		}
	}
	why = append(why, apartFromEachOther(v)...)
	return words.Reasons(why), len(why) > 0
}

// apartFromEachOther names the servers that have no route to some other that answers, the next one aside: it may be the
// cause. Where there are Raft groups these tell as much; without JetStream nothing else does.
func apartFromEachOther(v view) []string {
	var answering []string
	for _, name := range slices.Sorted(maps.Keys(v.Settled.Servers)) {
		if name != v.next {
			answering = append(answering, name)
		}
	}
	var why []string
	for _, name := range answering {
		if knows := v.Settled.Servers[name].Remotes; knows < len(answering)-1 {
			why = append(why, fmt.Sprintf("%s has routes to %d of %d other servers", name, knows, len(answering)-1))
		}
	}
	return why
}

// notReported blocks until every server that was written for the target says itself that it runs it: only the
// process knows what it was started with, or has reloaded. The next server is about to be written.
func notReported(v view) (string, bool) {
	var why []string
	for _, name := range v.Planned {
		server := v.servers.Get(name)
		if server.StatefulSet == nil || v.needsRestart(server) || name == v.next {
			continue
		}
		if got := v.Settled.Servers[name].ConfigRevision; got != v.Target {
			why = append(why, fmt.Sprintf("%s does not report revision %s", name, v.Target))
		}
	}
	return words.Reasons(why), len(why) > 0
}
