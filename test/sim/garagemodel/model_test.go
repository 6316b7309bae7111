package garagemodel

import (
	"testing"

	"github.com/holdfast-dev/holdfast/internal/garage/adminapi"
)

// figures are what the source says of itself.
func (w *World) figures() (settled bool, rows, queue uint64, files int) {
	said, err := w.ask(w.source())
	if err != nil {
		panic(err)
	}
	tables, _ := said.says.Statistics.Tables.Get()
	for _, t := range tables {
		rows += t.Items
	}
	blocks, _ := said.says.Statistics.Blocks.Get()
	for _, place := range w.source().files {
		if place != nowhere {
			files++
		}
	}
	return said.says.History.Settled(), rows, blocks.ResyncQueue, files
}

func (w *World) remove(t *testing.T) {
	t.Helper()
	w.stage(w.nodes[0], []adminapi.RoleChange{adminapi.Remove(w.source().id)})
	if err := w.apply(w.nodes[0], 2); err != nil {
		t.Fatal(err)
	}
}

// TestADrainAsWatched: the order of events of a drain on real servers (Garage lab, One drain, watched): one version is active
// and its rows are gone within seconds, and its blocks stay for ten minutes.
func TestADrainAsWatched(t *testing.T) {
	t.Parallel()
	w := NewWorld(3, 4, false, 1)
	for i := range 16 {
		w.Put(Put{Through: i, Of: i, At: i / 4})
	}
	w.Pass(60)
	_, _, _, had := w.figures()
	w.remove(t)
	for _, c := range []struct {
		after         int
		settled       bool
		rows, emptied bool
	}{{5, false, true, false}, {60, true, false, false}, {500, true, false, false}, {120, true, false, true}} {
		w.Pass(c.after)
		settled, rows, queue, files := w.figures()
		if settled != c.settled || rows > 0 != c.rows || files != map[bool]int{false: had, true: 0}[c.emptied] || queue == 0 != c.emptied {
			t.Errorf("%d s: settled %t, %d rows, queue %d, %d of %d files", w.Clock, settled, rows, queue, files, had)
		}
	}
	if had == 0 || len(w.missing(false)) > 0 {
		t.Errorf("%d files, missing %v", had, w.missing(false))
	}
}

// TestDestinationsCopyAtOnce: a repair has a destination fetch within seconds what it would otherwise fetch ten minutes later
// (Garage lab, Destinations can be told to copy at once).
func TestDestinationsCopyAtOnce(t *testing.T) {
	t.Parallel()
	for _, repaired := range []bool{false, true} {
		w := NewWorld(1, 2, false, 1)
		for i := range 16 {
			w.Put(Put{Through: i, Of: i, At: i / 4})
		}
		w.Pass(60)
		w.remove(t)
		w.Pass(60)
		if repaired {
			w.nodes[0].launch(adminapi.RepairBlocks)
		}
		w.Pass(20)
		if copied := len(w.missing(false)) == 0; copied != repaired {
			t.Errorf("repaired: %t, copied: %t", repaired, copied)
		}
	}
}
