package garagemodel

import (
	"flag"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/garage/drain"
)

const enough = 600

// A run is the same each time unless the command line says otherwise. A search for new histories is one with another -first
// and more -histories.
var (
	first   = flag.Uint64("first", 1<<32, "number of the first history")
	howMany = flag.Int("histories", enough, "number of histories")
)

// everything is about all that there is.
var everything = plot{
	decide: drain.Decide, factors: []int{1, 2, 3}, rounds: 40, faults: true,
	bags: []bag{{4, Clients}, {5, Failures}, {4, Foreigners}, {2, Users}},
}

// TestDrains: whatever happens, a source goes only when each acknowledged write can be read without it; and when nothing
// goes wrong any more, it goes.
func TestDrains(t *testing.T) {
	t.Parallel()
	seen := counts{}
	for number := range *howMany {
		told := everything.tale(*first + uint64(number))
		if found := everything.run(t, told, seen); found != nil {
			least := everything.shorten(t, told, found)
			t.Fatalf("history %d: %s: %v\n%s", *first+uint64(number), least.Kind, least.Err, strings.Join(least.Trace, "\n"))
		}
	}
	seen.report(t)
}

// report tells what has happened, and wants it to have happened often enough: a run of few histories is not asked.
func (c counts) report(t *testing.T) {
	t.Helper()
	for _, what := range slices.Sorted(maps.Keys(c)) {
		t.Logf("%5d  %s", c[what], what)
	}
	if c[histories] < enough {
		return
	}
	least := map[string]int{destroyed: c[histories] * 30 / 100}
	for _, d := range slices.Concat(Clients, Failures, Foreigners) {
		least[d.Name] = 100
	}
	for _, kind := range fates {
		least["fate: "+string(kind)] = 100
	}
	for _, what := range []string{leaders, stalling, late, stale, named(Users, "take the order back").Name} {
		least[what] = 100
	}
	for _, what := range slices.Sorted(maps.Keys(least)) {
		if c[what] < least[what] {
			t.Errorf("%s: %d times in %d histories, want at least %d", what, c[what], c[histories], least[what])
		}
	}
}
