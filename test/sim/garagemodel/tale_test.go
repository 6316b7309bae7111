package garagemodel

import (
	"context"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/holdfast-dev/holdfast/test/sim/fault"
)

// A tale is all that makes a history: the same tale, the same history.
type tale struct {
	Factor, More, Source, Pace int
	Gateway                    bool
	// Before are clients and failures before the drain is ordered, by the number of the bag.
	Before []round
	Rounds []round
}

// A round is something that happens, and some time.
type round struct {
	// Kind is what it is about, What, Node and Number tell more, and For is how long.
	Kind, What, Node, Number, For int
}

// times are how many seconds a round takes.
var times = []int{5, 30, 60, 300}

// tale is the one of that number. Every choice is as likely as any other, and what was found is shortened here: the property
// library of the other tests prefers small numbers, so that some things hardly ever happen, and shortens for as long as a
// clock says.
func (p plot) tale(number uint64) tale {
	r := rand.New(rand.NewPCG(number, 0))
	some := func(least, most, kinds int) []round {
		rounds := make([]round, least+r.IntN(most-least+1))
		for i := range rounds {
			rounds[i] = round{r.IntN(kinds), r.IntN(60), r.IntN(60), r.IntN(60), r.IntN(len(times))}
		}
		return rounds
	}
	factor := p.factors[r.IntN(len(p.factors))]
	return tale{
		Factor: factor, More: 1 + r.IntN(2), Source: r.IntN(factor + 1), Pace: []int{0, 0, 60, 200}[r.IntN(4)], Gateway: r.IntN(4) == 0,
		Before: some(0, 8, 10), Rounds: some(1, p.rounds, p.kinds()),
	}
}

// run has a tale happen; nil where all was well.
func (p plot) run(t *testing.T, told tale, seen counts) *fault.Finding {
	t.Helper()
	return fault.InBubble(t, func(ctx context.Context) { p.tell(ctx, told, seen) })
}

// search looks for a tale that loses something, and shortens it as far as it can. Its bound is in tales, not in time.
func (p plot) search(t *testing.T, most int) (least *fault.Finding, after int) {
	t.Helper()
	for number := range most {
		told := p.tale(uint64(number))
		if found := p.run(t, told, counts{}); found != nil && found.Kind == unsafe {
			return p.shorten(t, told, found), number + 1
		}
	}
	return nil, most
}

// shorten leaves out whatever is not needed for what was found, until nothing can be left out any more.
func (p plot) shorten(t *testing.T, told tale, least *fault.Finding) *fault.Finding {
	t.Helper()
	for again := true; again; {
		again = false
		for i := 0; ; i++ {
			simpler, there := told.simpler(i)
			if !there {
				break
			}
			if found := p.run(t, simpler, counts{}); found != nil && found.Kind == least.Kind {
				told, least, again = simpler, found, true
				i--
			}
		}
	}
	return least
}

// simpler is the tale with something left out or made smaller: of all such tales the one of that number. There may be none.
func (told tale) simpler(number int) (tale, bool) {
	var found []tale
	add := func(change func(*tale)) {
		one := told
		one.Before, one.Rounds = slices.Clone(told.Before), slices.Clone(told.Rounds)
		change(&one)
		if !reflect.DeepEqual(one, told) {
			found = append(found, one)
		}
	}
	for _, of := range []func(*tale) *[]round{func(t *tale) *[]round { return &t.Rounds }, func(t *tale) *[]round { return &t.Before }} {
		for i := range *of(&told) {
			add(func(t *tale) { *of(t) = slices.Delete(*of(t), i, i+1) })
		}
		for i := range *of(&told) {
			add(func(t *tale) { (*of(t))[i].For = 0 })
			add(func(t *tale) { (*of(t))[i].Number = 0 })
		}
	}
	add(func(t *tale) { t.Gateway = false })
	add(func(t *tale) { t.More = 1 })
	add(func(t *tale) { t.Pace = 0 })
	if number >= len(found) {
		return tale{}, false
	}
	return found[number], true
}
