package garagemodel

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/internal/garage/drain"
	"github.com/holdfast-dev/holdfast/internal/kit/fact"
)

// TestSeedOrder: the design's first order loses data, and the search finds how by itself.
func TestSeedOrder(t *testing.T) {
	t.Parallel()
	p := everything
	p.decide = seedOrder
	p.bags = slices.Clone(p.bags)
	p.bags[1].of = but(Failures, "lose the data directory") // which is no matter of order
	found, after := p.search(t, 3000)
	if found == nil {
		t.Fatalf("nothing found in %d histories", after)
	}
	t.Logf("found after %d histories, and shortened: %v\n%s", after, found.Err, strings.Join(found.Trace, "\n"))
}

func but(of []Disturbance, name string) []Disturbance {
	return slices.DeleteFunc(slices.Clone(of), func(d Disturbance) bool { return d.Name == name })
}

func without(step drain.StepName) Decide {
	steps := slices.DeleteFunc(drain.Steps(), func(s drain.Step) bool { return s.Name == step })
	return func(w drain.World, now time.Time) drain.Plan { return drain.DecideBy(steps, w, now) }
}

// lessons are what histories are about that show what a step is good for.
var lessons = map[drain.StepName]plot{
	drain.E0: inexact(),
	drain.E3: about(without(drain.E3), small, "hold up the offload", "starve the tables"),
	drain.E4: about(without(drain.E4), blocks, "lose the power", "sleep over work"),
	drain.E8: about(without(drain.E8), blocks, "lose the power", "sleep over work"),
	drain.E9: about(without(drain.E9), blocks, "lose the data directory"),
}

var (
	small  = []Disturbance{named(Clients, "put a small object"), named(Clients, "put a small object slowly")}
	blocks = []Disturbance{named(Clients, "put")}
)

func about(decide Decide, clients []Disturbance, failures ...string) plot {
	var of []Disturbance
	for _, name := range failures {
		of = append(of, named(Failures, name))
	}
	return plot{decide: decide, factors: []int{1}, rounds: 30, bags: []bag{{2, clients}, {4, of}}}
}

// inexact leaves out what E0 has against an engine that does not count exactly.
func inexact() plot {
	p := about(func(w drain.World, now time.Time) drain.Plan {
		w.Members = slices.Clone(w.Members)
		for i := range w.Members {
			if says, known := w.Members[i].Says.Get(); known {
				says.Info.DBEngine = "LMDB"
				w.Members[i].Says = fact.Known(says)
			}
		}
		return drain.Decide(w, now)
	}, small, "hold up the offload", "starve the tables")
	p.inexact = true
	return p
}

func named(of []Disturbance, name string) Disturbance {
	i := slices.IndexFunc(of, func(d Disturbance) bool { return d.Name == name })
	return of[i]
}

// TestLeftOut: without one of these steps a history that loses something is found.
func TestLeftOut(t *testing.T) {
	t.Parallel()
	for _, step := range slices.Sorted(maps.Keys(lessons)) {
		t.Run(string(step), func(t *testing.T) {
			t.Parallel()
			p := lessons[step]
			found, after := p.search(t, 3000)
			if found == nil {
				t.Fatalf("nothing found in %d histories", after)
			}
			t.Logf("found after %d histories, and shortened: %v\n%s", after, found.Err, strings.Join(found.Trace, "\n"))
		})
	}
}

// TestKept: the other steps are kept for other reasons (docs/adr/0015-the-order-of-a-drain.md): without one of them nothing is found.
func TestKept(t *testing.T) {
	t.Parallel()
	for _, step := range drain.Steps() {
		if _, is := lessons[step.Name]; is {
			continue
		}
		t.Run(string(step.Name), func(t *testing.T) {
			t.Parallel()
			p := everything
			p.decide = without(step.Name)
			if found, after := p.search(t, 100); found != nil {
				t.Fatalf("found after %d histories: tell the record of the decision: %v\n%s", after, found.Err, strings.Join(found.Trace, "\n"))
			}
		})
	}
}
