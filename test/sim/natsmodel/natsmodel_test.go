package natsmodel

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
	edits  int
	// eager has the history be about two leaders that stall at their writes.
	eager bool
}

// A finding ends a history.
type finding struct {
	kind  string
	err   error
	trace []string
}

// What a history may end with.
const (
	unsafe   = "an invariant is broken"
	restless = "it does not come to rest"
	busy     = "at rest it writes"
)

// inBubble runs one history in a bubble of its own, and says what it ended with; nil where all was well.
func inBubble(t *testing.T, run func(context.Context)) *finding {
	t.Helper()
	var reason any
	synctest.Test(t, func(t *testing.T) {
		defer func() { reason = recover() }()
		run(t.Context())
	})
	found, is := reason.(*finding)
	if !is && reason != nil {
		panic(reason) // rapid's
	}
	return found
}

// fail ends a check with what was found. rapid tells failures apart by the line at which they happen, so each kind has its
// own.
func fail(rt *rapid.T, found *finding) {
	rt.Log(strings.Join(found.trace, "\n"))
	switch found.kind {
	case unsafe:
		rt.Fatal(found.kind, ": ", found.err)
	case restless:
		rt.Fatal(found.kind, ": ", found.err)
	case busy:
		rt.Fatal(found.kind, ": ", found.err)
	}
}

func natsCluster(replicas int32, jetstream bool) *v1beta1.NatsCluster {
	cluster := &v1beta1.NatsCluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: Namespace, Name: Name},
		Spec: v1beta1.NatsClusterSpec{
			Version: Good, Replicas: replicas,
			Resources: corev1.ResourceRequirements{Limits: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("4Gi")}},
		},
	}
	cluster.Spec.Exporter.Enabled = new(false)
	cluster.Spec.Routes.TLS.Enabled = new(false)
	if jetstream {
		cluster.Spec.JetStream = &v1beta1.JetStream{VolumeClaimTemplate: &v1beta1.VolumeClaimTemplate{Spec: corev1.PersistentVolumeClaimSpec{
			Resources: corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("20Gi")}},
		}}}
	}
	return cluster
}

// tell makes one history, in which anything may happen.
func tell(ctx context.Context, rt *rapid.T, seen counts, wrap func(Clients) Clients, end func(*teller)) {
	replicas := rapid.SampledFrom([]int32{3, 3, 3, 5, 2, 1}).Draw(rt, "replicas")
	jetstream := rapid.IntRange(0, 7).Draw(rt, "without JetStream") != 7
	history, err := NewHistory(natsCluster(replicas, jetstream), rapid.Bool().Draw(rt, "reads its writes"), wrap)
	if err != nil {
		rt.Fatal(err)
	}
	defer history.Stop()
	h := &teller{T: rt, History: history, counts: seen, eager: wrap != nil}
	h.Start(ctx)
	if rapid.IntRange(0, 3).Draw(rt, "from the creation on") != 3 {
		h.rest(60)
		h.disturb(Edits, rapid.IntRange(0, 1).Draw(rt, "first edit"))
		if h.eager {
			h.second(ctx)
		}
	}
	for range rapid.IntRange(10, 90).Draw(rt, "rounds") {
		h.round(ctx)
		h.check()
	}
	if h.Checker.Last {
		seen[last]++
	}
	seen[touched] += h.Checker.Touched
	seen[forced] += h.Checker.Forced
	end(h)
}

func (h *teller) say(format string, args ...any) {
	h.trace = append(h.trace, fmt.Sprintf("%5d ", h.World.Tick)+fmt.Sprintf(format, args...))
}

func (h *teller) end(kind string, err error) { panic(&finding{kind, err, h.trace}) }

func (h *teller) check() {
	if err := h.Checker.Err(); err != nil {
		h.end(unsafe, err)
	}
}

// round is one thing that happens, or a few of a kind.
func (h *teller) round(ctx context.Context) {
	switch kind := rapid.IntRange(0, 19).Draw(h.T, "round"); {
	case kind < 6:
		h.run()
	case kind < 9:
		for range rapid.IntRange(1, 15).Draw(h.T, "transitions") {
			h.transition()
		}
	case kind < 12:
		h.progress()
	case kind < 14:
		h.disturb(Failures, -1)
	case kind < 15:
		h.disturb(Edits, -1)
	case kind < 16:
		h.disturb(Tampering, -1)
	case kind < 17:
		h.second(ctx)
	case kind < 19:
		h.arrive()
	default:
		h.lag()
	}
	if len(h.Alive()) == 0 {
		h.Start(ctx)
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
	if h.eager {
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
	fate := fault.Fate{Kind: rapid.SampledFrom(fates[call.Class]).Draw(h.T, "fate")}
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

// disturb does one of a list; number, unless negative, says which. Where there is nothing to do it to, it does the one after.
func (h *teller) disturb(of []Disturbance, number int) {
	if number < 0 {
		number = rapid.IntRange(0, len(of)-1).Draw(h.T, "which")
	}
	planned := h.World.Planned()
	server := planned[rapid.IntRange(0, 4).Draw(h.T, "server")%len(planned)]
	h.edits++
	for i := range of {
		if one := of[(number+i)%len(of)]; h.World.Disturb(one, server, h.edits) {
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
		if p := h.World.running(server); p == nil || p.process.revision != cluster.Status.Config.Revision || !h.World.Whole(server) || !h.World.back(server) {
			return false
		}
	}
	return len(h.World.Transitions()) == 0 && meta.IsStatusConditionTrue(cluster.Status.Conditions, v1beta1.ConditionReady)
}

// settle ends all that disturbs, and wants the last spec carried out, and then silence.
func (h *teller) settle(ctx context.Context) {
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
	if !h.rest(120) {
		h.end(restless, errors.New(h.World.describe()))
	}
	revision := h.World.API.Revision()
	h.rest(1)
	h.rest(1)
	h.check()
	if now := h.World.API.Revision(); now != revision {
		h.end(busy, fmt.Errorf("there were %d writes", now-revision))
	}
}

// defaults are what a run is unless the command line says otherwise: as many histories as a minute has room for, and the same
// each time. A search for new ones is one with -rapid.seed and a larger -rapid.checks.
var defaults = map[string]string{checksFlag: "60", "rapid.seed": "1"}

// TestMain sets the defaults.
func TestMain(m *testing.M) {
	flag.Parse()
	given := map[string]bool{}
	flag.Visit(func(f *flag.Flag) { given[f.Name] = true })
	for name, value := range defaults {
		if !given[name] {
			if err := flag.Set(name, value); err != nil {
				panic(err)
			}
		}
	}
	os.Exit(m.Run())
}

const checksFlag = "rapid.checks"

// TestRollouts: whatever happens to a NATS cluster and its controllers, never are two servers down by their hand, and none
// is taken down on what is not known; and when nothing disturbs any more, all comes to what the spec says, and to rest.
func TestRollouts(t *testing.T) {
	t.Parallel()
	seen := counts{}
	rapid.Check(t, func(rt *rapid.T) {
		seen[histories]++
		if found := inBubble(t, func(ctx context.Context) { tell(ctx, rt, seen, nil, func(h *teller) { h.settle(ctx) }) }); found != nil {
			fail(rt, found)
		}
	})
	seen.report(t)
}

// Counts that are about whole histories and controllers, and not about one fate or disturbance.
const (
	histories = "histories"
	last      = "histories with a last server"
	touched   = "servers taken down"
	forced    = "servers taken down by an order"
	leaders   = "second leaders"
	late      = "late writes"
	stale     = "stale caches"
)

// report tells what has happened, and wants all of it to have, and enough rollouts to have come to their last server. A run
// of few histories proves nothing, and is not asked.
func (c counts) report(t *testing.T) {
	t.Helper()
	for _, what := range slices.Sorted(maps.Keys(c)) {
		t.Logf("%5d  %s", c[what], what)
	}
	if c[histories] < 50 {
		return
	}
	least := map[string]int{touched: c[histories], forced: c[histories] / 100, leaders: c[histories] / 4, late: c[histories] / 20, stale: c[histories] / 4, last: c[histories] * 3 / 10}
	for _, kinds := range fates {
		for _, kind := range kinds {
			least["fate: "+string(kind)] = c[histories] / 20
		}
	}
	delete(least, "fate: "+string(fault.GoOn))
	for _, disturbance := range slices.Concat(Failures, Edits, Tampering) {
		least[disturbance.Name] = 1
	}
	for _, what := range slices.Sorted(maps.Keys(least)) {
		if c[what] < least[what] {
			t.Errorf("%s: %d times in %d histories, want at least %d", what, c[what], c[histories], least[what])
		}
	}
}
