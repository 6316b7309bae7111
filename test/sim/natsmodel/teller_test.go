package natsmodel

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"pgregory.net/rapid"

	"github.com/holdfast-dev/holdfast/api/nats/cluster/v1beta1"
	"github.com/holdfast-dev/holdfast/test/sim/fault"
)

// counts is what has happened over all histories of a run.
type counts map[string]int

// a teller draws one history and tells it.
type teller struct {
	*rapid.T
	*History
	counts counts
	trace  []string
	number int // of disturbances so far
	plot
}

// A plot is what histories are about.
type plot struct {
	// failures, edits and tampering are what is drawn from.
	failures, edits, tampering []Disturbance
	// system has all of them be of a NatsCluster with a system user.
	system bool
	// deletion has the NatsCluster deleted at some time.
	deletion bool
	// duels has two leaders at work often, which stall at their writes.
	duels bool
	// wrap puts a fault into the controller.
	wrap func(Clients) Clients
	// end is how a history ends.
	end func(context.Context, *teller)
}

// What a history may end with.
const (
	unsafe   = "an invariant is broken"
	restless = "it does not come to rest"
	busy     = "at rest it writes"
)

// fail ends a check with what was found. rapid tells failures apart by the line at which they happen, so each kind has its
// own.
func fail(rt *rapid.T, found *fault.Finding) {
	rt.Log(strings.Join(found.Trace, "\n"))
	switch found.Kind {
	case unsafe:
		rt.Fatal(found.Kind, ": ", found.Err)
	case restless:
		rt.Fatal(found.Kind, ": ", found.Err)
	case busy:
		rt.Fatal(found.Kind, ": ", found.Err)
	}
}

// tell makes one history.
func (p plot) tell(ctx context.Context, rt *rapid.T, seen counts) {
	replicas := rapid.SampledFrom([]int32{3, 3, 3, 5, 2, 1}).Draw(rt, "replicas")
	jetstream := rapid.IntRange(0, 7).Draw(rt, "without JetStream") != 7
	cluster := natsCluster(replicas, jetstream)
	if p.system || rapid.IntRange(0, 2).Draw(rt, "without a system user") != 2 {
		cluster = Trusting(cluster)
	}
	history, err := NewHistory(cluster, rapid.Bool().Draw(rt, "reads its writes"), p.wrap)
	if err != nil {
		rt.Fatal(err)
	}
	defer history.Stop()
	h := &teller{T: rt, History: history, counts: seen, plot: p}
	h.Start(ctx)
	if rapid.IntRange(0, 3).Draw(rt, "from the creation on") != 3 {
		h.rest(60)
		h.disturb(h.edits, rapid.IntRange(0, 3).Draw(rt, "first edit"))
		if h.duels {
			h.second(ctx)
		}
	}
	rounds := rapid.IntRange(10, 90).Draw(rt, "rounds")
	goes := -1
	if h.deletion {
		goes = rapid.IntRange(0, rounds-1).Draw(rt, "is deleted in round")
	}
	for round := range rounds {
		if round == goes {
			h.disturb(Deletions, 0)
		}
		h.round(ctx)
		h.check()
	}
	if h.end != nil {
		h.end(ctx, h)
	}
	seen.add(h.Checker)
}

func (h *teller) say(format string, args ...any) {
	h.trace = append(h.trace, fmt.Sprintf("%5d ", h.World.Tick)+fmt.Sprintf(format, args...))
}

func (h *teller) ends(kind string, err error) {
	panic(&fault.Finding{Kind: kind, Err: err, Trace: h.trace})
}

func (h *teller) check() {
	if err := h.Checker.Err(); err != nil {
		h.ends(unsafe, err)
	}
}

// round is one thing that happens, or a few of a kind.
func (h *teller) round(ctx context.Context) {
	kinds := []struct {
		often int
		do    func()
	}{
		{6, h.run},
		{3, h.transitions},
		{3, h.progress},
		{2, func() { h.disturb(h.failures, -1) }},
		{1, func() { h.disturb(h.edits, -1) }},
		{1, func() { h.disturb(h.tampering, -1) }},
		{1, func() { h.second(ctx) }},
		{2, h.arrive},
		{1, h.lag},
		{1, func() { h.duel(ctx) }},
		{1, h.minutes},
	}
	if h.duels {
		kinds[len(kinds)-2].often = 8
	}
	all := 0
	for _, kind := range kinds {
		all += kind.often
	}
	drawn := rapid.IntRange(0, all-1).Draw(h.T, "round")
	for _, kind := range kinds {
		if drawn -= kind.often; drawn < 0 {
			kind.do()
			break
		}
	}
	if len(h.Alive()) == 0 {
		h.Start(ctx)
	}
}

func (h *teller) minutes() {
	minutes := rapid.IntRange(1, 4).Draw(h.T, "minutes")
	h.say("%d minutes pass", minutes)
	h.Pass(time.Duration(minutes) * time.Minute)
}

func (h *teller) transitions() {
	for range rapid.IntRange(1, 15).Draw(h.T, "transitions") {
		h.transition()
	}
}

// progress is a few passes of one instance, with what the world does meanwhile.
func (h *teller) progress() {
	instance := h.instance()
	for range rapid.IntRange(1, 6).Draw(h.T, "passes") {
		h.pass(instance, 150)
		for i := range 15 {
			h.Step(i * 7)
		}
	}
}

// pass has an instance go on undisturbed to the end of its pass, or for so many calls.
func (h *teller) pass(instance *fault.Instance, calls int) {
	for range calls {
		call := h.Resume(instance, fault.Fate{Kind: fault.GoOn})
		if call != nil && call.Class == fault.Write {
			h.say("%s", call)
		}
		if call != nil && call.Class == fault.Idle {
			return
		}
	}
}

func (h *teller) transition() {
	transitions := h.World.Transitions()
	if len(transitions) == 0 {
		return
	}
	number := rapid.IntRange(0, 63).Draw(h.T, "transition") % len(transitions)
	h.say("%s", transitions[number].Name)
	h.Step(number)
}

// instance draws one that runs.
func (h *teller) instance() *fault.Instance {
	alive := h.Alive()
	return alive[rapid.IntRange(0, 1).Draw(h.T, "instance")%len(alive)]
}

// run has an instance make a number of calls undisturbed, and then one with a fate that is drawn.
func (h *teller) run() {
	instance := h.instance()
	writes := 3
	if h.duels {
		writes = 1
	}
	for range rapid.IntRange(0, 120).Draw(h.T, "calls") {
		next := h.Scheduler.Next(instance)
		if next != nil && next.Class == fault.Write && rapid.IntRange(0, writes).Draw(h.T, "stop at the write") == writes {
			break
		}
		if call := h.Resume(instance, fault.Fate{Kind: fault.GoOn}); call != nil && call.Class == fault.Write {
			h.say("%s", call)
		}
	}
	if rapid.IntRange(0, 3).Draw(h.T, "stalls") == 3 {
		return // at this very call, for as long as it is not drawn again
	}
	fate := h.fate(h.Scheduler.Next(instance))
	if call := h.Resume(instance, fate); call != nil && fate.Kind != fault.GoOn {
		h.say("%s: %s", call, fate.Kind)
		h.counts["fate: "+string(fate.Kind)]++
	}
}

// fates are what may come of a call of each class.
var fates = map[fault.Class][]fault.Kind{
	fault.Cached:  {fault.GoOn, fault.CrashBefore, fault.CrashAfter},
	fault.Live:    {fault.GoOn, fault.CrashBefore, fault.CrashAfter, fault.LoseReply, fault.Refuse},
	fault.Service: {fault.GoOn, fault.CrashBefore, fault.CrashAfter, fault.LoseReply, fault.Refuse},
	fault.Write:   {fault.GoOn, fault.CrashBefore, fault.CrashAfter, fault.CrashSending, fault.LoseReply, fault.Delay, fault.Refuse},
	fault.Idle:    {fault.GoOn},
}

// fate draws what comes of a call.
func (h *teller) fate(call *fault.Call) fault.Fate {
	if call == nil {
		return fault.Fate{Kind: fault.GoOn}
	}
	class := call.Class
	if call.Verb == Reloading { // it has an effect, and may have it later
		class = fault.Write
	}
	fate := fault.Fate{Kind: rapid.SampledFrom(fates[class]).Draw(h.T, "fate")}
	switch fate.Kind {
	case fault.LoseReply, fault.Delay:
		fate.Err = fmt.Errorf("no reply: %w", context.DeadlineExceeded)
	case fault.Refuse:
		fate.Err = apierrors.NewInternalError(errors.New("drawn"))
		if call.Class == fault.Write && rapid.Bool().Draw(h.T, "conflict") {
			fate.Err = apierrors.NewConflict(schema.GroupResource{Resource: call.Kind}, call.Name, errors.New("drawn"))
		}
	default:
	}
	return fate
}

// duel has an instance stall at a step's write, and another one lead meanwhile, which the user gives something else to do.
func (h *teller) duel(ctx context.Context) {
	stalled := h.instance()
	if !h.untilStep(stalled) {
		return
	}
	h.say("%s stalls at %s", stalled.Name, h.Scheduler.Next(stalled))
	h.counts[duels]++
	if len(h.Alive()) < 2 {
		h.second(ctx)
	}
	leader := h.Alive()[0]
	if leader == stalled {
		leader = h.Alive()[1]
	}
	h.disturb(h.edits, -1)
	for range rapid.IntRange(1, 15).Draw(h.T, "passes of the other") {
		h.pass(leader, 150)
		for i := range 10 {
			h.Step(i * 7)
		}
	}
	if call := h.Resume(stalled, fault.Fate{Kind: fault.GoOn}); call != nil {
		h.say("%s", call)
	}
}

// untilStep has an instance go on until it is about to write a StatefulSet. It says whether it came to that.
func (h *teller) untilStep(instance *fault.Instance) bool {
	for range 300 {
		next := h.Scheduler.Next(instance)
		if next != nil && next.Verb == "apply" && next.Kind == "StatefulSet" && !next.DryRun {
			return true
		}
		h.Resume(instance, fault.Fate{Kind: fault.GoOn})
	}
	return false
}

// disturb does one of a list; number, unless negative, says which. Where there is nothing to do it to, it does the one after.
func (h *teller) disturb(of []Disturbance, number int) {
	if number < 0 {
		number = 7*h.number + rapid.IntRange(0, len(of)-1).Draw(h.T, "which") // rapid draws the first much more often than the last
	}
	planned := h.World.Planned()
	server := planned[rapid.IntRange(0, 4).Draw(h.T, "server")%len(planned)]
	h.number++
	for i := range of {
		if one := of[(number+i)%len(of)]; h.World.Disturb(one, server, h.number) {
			h.counts[one.Name]++
			h.say("%s of %s", one.Name, server)
			break
		}
	}
	h.Checker.Observe()
}

// second starts a second leader. Where there are two, one of them ends.
func (h *teller) second(ctx context.Context) {
	if alive := h.Alive(); len(alive) > 1 {
		h.Scheduler.Kill(alive[rapid.IntRange(0, 1).Draw(h.T, "ends")])
		h.say("one of two leaders ends")
		return
	}
	h.Start(ctx)
	h.say("a second leader")
	h.counts[leaders]++
}

func (h *teller) arrive() {
	if sent := h.Scheduler.Late(); sent > 0 {
		call, err := h.Scheduler.Arrive(rapid.IntRange(0, 3).Draw(h.T, "late write") % sent)
		h.World.Tick++
		h.Checker.Observe()
		h.say("arrives: %s (%v)", call, err)
		h.counts[late]++
	}
}

func (h *teller) lag() {
	lag := rapid.SampledFrom([]fault.Lag{{}, {Writes: 2}, {Writes: 10}, {Writes: 40}, {Frozen: true}}).Draw(h.T, "lag")
	if lag != (fault.Lag{}) {
		lag.Except = rapid.SampledFrom([]string{"", v1beta1.KindNatsCluster, "StatefulSet", "Pod"}).Draw(h.T, "but not of")
	}
	h.instance().SetLag(lag)
	if lag != (fault.Lag{}) {
		h.counts[stale]++
	}
}

// rest has the only instance make passes undisturbed, and the world move on between them, until nothing is left to do. It
// says whether that was so within so many passes.
func (h *teller) rest(passes int) bool {
	instance := h.Alive()[0]
	for range passes {
		before := h.World.API.Revision()
		for range 4 { // the world moves while the instance is at it
			h.pass(instance, 25)
			for i := range 12 {
				h.Step(i * 7)
			}
		}
		h.check()
		if h.atRest() && h.World.API.Revision() == before {
			return true
		}
	}
	return false
}

// atRest says that nothing is left to do for anybody.
func (h *teller) atRest() bool {
	cluster := h.World.Cluster()
	progressing := meta.FindStatusCondition(cluster.Status.Conditions, v1beta1.ConditionProgressing)
	if progressing == nil || progressing.Reason != v1beta1.ReasonUpToDate || cluster.Status.ObservedGeneration != cluster.Generation {
		return false
	}
	for _, server := range h.World.Planned() {
		p := h.World.running(server)
		if p == nil || p.process.revision != cluster.Status.Config.Revision || !h.World.runsItsConfig(server) || !h.World.Whole(server) || !h.World.back(server) {
			return false
		}
	}
	return len(h.World.Transitions()) == 0 && meta.IsStatusConditionTrue(cluster.Status.Conditions, v1beta1.ConditionReady)
}

// calm ends all that disturbs, and leaves one new instance.
func (h *teller) calm(ctx context.Context) {
	for _, instance := range h.Alive() {
		h.Scheduler.Kill(instance)
	}
	for h.Scheduler.Late() > 0 {
		_, _ = h.Scheduler.Arrive(0)
		h.Checker.Observe()
	}
	h.World.Heal()
	h.World.Settle()
	h.Checker.Observe()
	h.Start(ctx)
	h.say("nothing disturbs any more")
}

// settle ends all that disturbs, and wants the last spec carried out, and then silence.
func settle(ctx context.Context, h *teller) {
	h.calm(ctx)
	if !h.rest(120) {
		h.ends(restless, errors.New(h.World.describe()))
	}
	revision := h.World.API.Revision()
	h.rest(1)
	h.rest(1)
	h.check()
	if now := h.World.API.Revision(); now != revision {
		h.ends(busy, fmt.Errorf("there were %d writes", now-revision))
	}
}
