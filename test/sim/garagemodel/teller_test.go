package garagemodel

import (
	"context"
	"errors"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/holdfast-dev/holdfast/test/sim/fault"
)

// counts is what has happened over all histories of a run.
type counts map[string]int

// A plot is what histories are about.
type plot struct {
	// decide is the order that is on trial.
	decide Decide
	// factors are drawn from.
	factors []int
	// rounds is how many there are at most.
	rounds int
	// bags are what is drawn from.
	bags []bag
	// faults has calls of the controller fail.
	faults bool
	// inexact has nodes count no rows.
	inexact bool
}

// A bag is a list of disturbances, and how often something is drawn from it.
type bag struct {
	often int
	of    []Disturbance
}

// a teller draws one history and tells it.
type teller struct {
	*History
	plot
	counts  counts
	trace   []string
	stalled map[*fault.Instance]int
	fates   map[int]fault.Fate // by the number of calls from now
}

// What a history may end with.
const (
	unsafe   = "an acknowledged write is lost"
	restless = "it does not come to an end"
)

func (h *teller) say(format string, args ...any) {
	h.trace = append(h.trace, fmt.Sprintf("%6ds ", h.World.Clock)+fmt.Sprintf(format, args...))
}

func (h *teller) ends(kind string, err error) {
	panic(&fault.Finding{Kind: kind, Err: err, Trace: h.trace})
}

func (h *teller) count(what string) { h.counts[what]++ }

// What is counted besides disturbances and fates.
const (
	histories = "histories"
	destroyed = "histories in which the source is destroyed"
	completed = "proofs"
	leaders   = "second leaders"
	stalling  = "leaders that stall"
	late      = "late calls"
	stale     = "stale caches"
)

// tell makes one history.
func (p plot) tell(ctx context.Context, told tale, seen counts) {
	world := NewWorld(told.Factor, told.Factor+told.More, told.Gateway, told.Source)
	world.Pace, world.Inexact = told.Pace, p.inexact
	h := &teller{History: NewHistory(world, p.decide), plot: p, counts: seen, stalled: map[*fault.Instance]int{}, fates: map[int]fault.Fate{}}
	defer h.Stop()
	h.say("%d copies on %d storage nodes, gateway: %t; node %d is to go, and gives a row away in %d s", told.Factor, told.Factor+told.More, told.Gateway, told.Source, told.Pace)
	h.count(histories)
	for _, r := range told.Before {
		h.disturb([][]Disturbance{p.bags[0].of, p.bags[1].of, Leftovers}[max(0, r.Kind-6)%3], r)
	}
	world.Pass(60)
	h.Start(ctx)
	world.Record.edit(func(r *Record) { r.Ordered = true })
	for _, r := range told.Rounds {
		h.round(ctx, r)
		if h.Destroyed {
			break
		}
	}
	h.settle(ctx)
	if h.Destroyed {
		h.count(destroyed)
	}
	h.counts[completed] += h.Completed
}

const (
	// calm is how often nothing happens in a round, and faulty how often something does to the controller.
	calm   = 4
	faulty = 8
)

// kinds is how many kinds of rounds there are.
func (p plot) kinds() int {
	total := calm
	for _, b := range p.bags {
		total += b.often
	}
	if p.faults {
		total += faulty
	}
	return total
}

// round is one thing that happens, and then some time.
func (h *teller) round(ctx context.Context, r round) {
	if h.Scheduler.Late() > 0 && r.Number%2 == 1 {
		call, _ := h.Scheduler.Arrive(0)
		h.say("late: %s", call)
		h.count(late)
	}
	n := r.Kind - calm
	for _, b := range h.bags {
		if n >= 0 && n < b.often {
			h.disturb(b.of, r)
		}
		n -= b.often
	}
	if n >= 0 {
		h.fault(ctx, n, r)
	}
	h.advance(ctx, times[r.For])
}

// disturb has one of a list happen.
func (h *teller) disturb(of []Disturbance, r round) {
	d := of[r.What%len(of)]
	node := r.Node % len(h.World.nodes)
	if h.World.Disturb(d, node, r.Number) {
		h.say("node %d: %s (%d)", node, d.Name, r.Number)
		h.count(d.Name)
	}
}

// fates are what may come of a call with an effect.
var fates = []fault.Kind{fault.CrashBefore, fault.CrashAfter, fault.CrashSending, fault.LoseReply, fault.Delay, fault.Refuse}

// fault is something about the controller itself.
func (h *teller) fault(ctx context.Context, kind int, r round) {
	alive := h.Alive()
	switch {
	case kind < 5: // one of the next calls with an effect fails
		h.fates[1+r.Number%2] = fault.Fate{Kind: fates[r.What%len(fates)], Err: apierrors.NewServiceUnavailable("not now")}
	case kind == 5 && len(alive) < 2:
		h.Start(ctx)
		h.say("a second leader")
		h.count(leaders)
	case kind <= 6 && len(alive) == 2:
		h.stalled[alive[0]] = h.World.Clock + while(r.Number)
		h.say("a leader stalls")
		h.count(stalling)
	case len(alive) > 0:
		h.SetLag(alive[len(alive)-1], r.Number%4)
		h.count(stale)
	}
}

// fateOf is what comes of the next call of an instance. Reads of members go wrong by themselves: see Failures.
func (h *teller) fateOf(call *fault.Call) fault.Fate {
	if call.Class == fault.Idle || call.Class == fault.Cached || call.Verb == "ask" || call.Verb == "get" {
		return fault.Fate{Kind: fault.GoOn}
	}
	next := map[int]fault.Fate{}
	fate := fault.Fate{Kind: fault.GoOn}
	for in, f := range h.fates {
		if in > 1 {
			next[in-1] = f
		} else {
			fate = f
		}
	}
	h.fates = next
	if fate.Kind != fault.GoOn {
		h.say("%s: %s", call, fate.Kind)
		h.count("fate: " + string(fate.Kind))
	}
	return fate
}

// advance lets the controller work for so many seconds.
func (h *teller) advance(ctx context.Context, seconds int) {
	end := h.World.Clock + seconds
	for h.World.Clock < end && !h.Destroyed {
		alive := h.Alive()
		if len(alive) == 0 {
			alive = append(alive, h.Start(ctx))
		}
		moved := false
		for _, instance := range alive {
			if h.World.Clock < h.stalled[instance] && len(alive) > 1 {
				continue
			}
			moved = true
			call := h.Scheduler.Next(instance)
			if call == nil {
				continue
			}
			h.tellOf(call)
			h.Resume(instance, h.fateOf(call))
			if err := h.Err(); err != nil {
				h.ends(unsafe, err)
			}
		}
		if !moved {
			h.World.Pass(tick)
		}
		h.deletes()
	}
}

// tellOf is the line of a call that has an effect.
func (h *teller) tellOf(call *fault.Call) {
	if call.Class != fault.Idle && call.Verb != "ask" && call.Verb != "get" {
		h.say("%s", call)
	}
}

// deletes is the user who has waited for the proof. The policy of the API server takes a DELETE only with it.
func (h *teller) deletes() {
	now := h.World.Record.newest()
	if now.Ordered && !now.Deleted && now.Journal != nil && !now.Journal.CompletedAt.IsZero() {
		h.World.Record.edit(func(r *Record) { r.Deleted = true })
		h.say("the user deletes the source")
	}
}

// settle is the end of a history: nothing goes wrong any more, and what is ordered comes about. In the end everything can be
// read that was acknowledged.
func (h *teller) settle(ctx context.Context) {
	h.World.Heal()
	for _, instance := range h.Instances {
		h.SetLag(instance, 0)
	}
	clear(h.stalled)
	clear(h.fates)
	h.say("nothing goes wrong any more")
	for range 100 {
		now := h.World.Record.newest()
		if h.Destroyed || !now.Ordered && now.Journal == nil {
			break
		}
		h.advance(ctx, 60)
	}
	if h.World.Record.newest().Ordered && !h.Destroyed && !h.mayHold() {
		h.ends(restless, errors.New(h.describe()))
	}
	h.World.Pass(1800)
	for _, o := range h.World.missing(false) {
		if h.Destroyed && !h.World.objects[o].hurt {
			h.ends(unsafe, fmt.Errorf("half an hour after the end object %d cannot be read", o))
		}
	}
}

// mayHold says that it is right that the source is still there: a person has to look, or something is lost that was to be found.
func (h *teller) mayHold() bool {
	w := h.World
	if w.Restored {
		return true
	}
	for o, object := range w.objects {
		if object.hurt && !object.deleted {
			return true
		}
		if s := w.source(); s.files[o] == dropped || s.files[o] == data && s.rc[o].refs > 0 && s.rows[refOf][o] != live {
			return true
		}
	}
	for _, n := range w.nodes {
		if n.noDisk || len(n.staged.changes) > 0 {
			return true
		}
	}
	return false
}

func (h *teller) describe() string {
	var out strings.Builder
	now := h.World.Record.newest()
	fmt.Fprintf(&out, "gates %v\njournal %+v\n", h.last.Gates, now.Journal)
	for _, n := range h.World.nodes {
		fmt.Fprintf(&out, "node %d: up %t life %d knows %d, trackers %v, queue %v, workers %v\n", n.number, n.up, n.life, n.known, n.trackers, n.queue, n.workers)
	}
	fmt.Fprintf(&out, "objects %+v\nfiles of the source %v, counts %v\n", h.World.objects, h.World.source().files[:len(h.World.objects)], h.World.source().rc[:len(h.World.objects)])
	return out.String()
}
