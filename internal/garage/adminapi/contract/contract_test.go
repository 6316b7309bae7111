package contract

import (
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast/internal/garage/adminapi"
)

// row is one thing that Garage does.
type row struct {
	name string
	// calls are the methods of the client that this row is the row of. They are made in it.
	calls string
	// traps are the traps it springs, by their numbers in Garage server facts, 6 Traps for an operator.
	traps []int
	run   func(lab)
}

// group is rows about one cluster, in order. Each leaves it as the next one finds it.
type group struct {
	name  string
	setup setup
	// slow says that the rows wait for blocks to go.
	slow bool
	rows []row
}

func table() []group {
	return slices.Concat(freshRows(), settledRows(), processRows(), transitionRows(), drainRows())
}

// beyond has the traps that no row springs, and why.
var beyond = map[int]string{
	5:  "the client has no such calls",
	10: "a second process with the same disk is no matter of this API",
	12: "the paths of data are configuration",
	13: "needs an error of a disk",
	15: "the replication factor is configuration",
	16: "dynamic tokens and S3 are not used by the client",
	22: "the network's names are configuration",
	23: "the configuration is not read over this API",
	25: "Fjall is not compiled into the servers under test",
	27: "buckets and keys are not asked for by the client",
	28: "the files of a node are not reached over this API",
}

func TestContract(t *testing.T) {
	var mu sync.Mutex
	counted := map[string]int{}
	t.Cleanup(func() {
		for _, name := range slices.Sorted(maps.Keys(counted)) {
			t.Logf("%s: %d rows", name, counted[name])
		}
	})
	for _, b := range backends(t) {
		t.Run(b.name, func(t *testing.T) {
			t.Parallel()
			for _, g := range table() {
				if g.slow && !b.slow || !g.slow && !b.quick {
					continue
				}
				t.Run(g.name, func(t *testing.T) {
					t.Parallel()
					n := g.hold(t, b)
					mu.Lock()
					defer mu.Unlock()
					counted[b.name] += n
				})
			}
		})
	}
}

// hold holds one backend to the rows of a group, and counts them.
func (g group) hold(t *testing.T, b backend) (held int) {
	t.Helper()
	c := b.make(t, g.setup)
	l := lab{T: t, cluster: c, version: parseVersion(t, b.version), nodes: g.setup.nodes}
	l.asked = &asked{by: c.transport(), endpoints: map[string]bool{}}
	l.connected()
	if g.setup.laidOut {
		l.layOut()
		l.check(c.store(t, g.setup.objects))
	}
	for _, r := range g.rows {
		t.Run(r.name, func(t *testing.T) {
			l := l
			l.T, l.asked = t, &asked{by: c.transport(), endpoints: map[string]bool{}}
			r.run(l)
			for call := range strings.FieldsSeq(r.calls) {
				if !l.asked.endpoints[call] {
					t.Errorf("%s is not called", call)
				}
			}
		})
		held++
	}
	return held
}

// TestTable wants a row for each call of the client, and one or a reason for each trap.
func TestTable(t *testing.T) {
	called, sprung, rows := map[string]bool{}, map[int]bool{}, 0
	names := map[string]bool{}
	for _, g := range table() {
		for _, r := range g.rows {
			rows++
			for call := range strings.FieldsSeq(r.calls) {
				called[call] = true
			}
			for _, trap := range r.traps {
				sprung[trap] = true
			}
			if names[g.name+"/"+r.name] {
				t.Errorf("two rows are called %s/%s", g.name, r.name)
			}
			names[g.name+"/"+r.name] = true
		}
	}
	methods := map[string]bool{}
	for method := range reflect.TypeFor[*adminapi.Client]().Methods() {
		methods[method.Name] = true
	}
	if diff := cmp.Diff(methods, called); diff != "" {
		t.Errorf("calls (-of the client +with a row):\n%s", diff)
	}
	const traps = 28
	for trap := 1; trap <= traps; trap++ {
		if _, reason := beyond[trap]; sprung[trap] == reason {
			t.Errorf("trap %d: sprung %t, and a reason why not %t", trap, sprung[trap], reason)
		}
	}
	t.Logf("%d rows, %d of %d traps sprung, %d calls", rows, len(sprung), traps, len(called))
}
