package gates_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast/internal/kit/gates"
)

func TestClosedReportsAllThatHoldInOrder(t *testing.T) {
	above := func(limit int) func(int) (string, bool) {
		return func(world int) (string, bool) { return "above the limit", world > limit }
	}
	checks := []gates.Check[int]{
		{Name: "Third", Holds: above(3)}, {Name: "First", Holds: above(1)}, {Name: "Second", Holds: above(2)},
	}
	for name, c := range map[string]struct {
		world int
		want  []gates.Gate
	}{
		"none holds":        {1, nil},
		"one in the middle": {2, []gates.Gate{{Name: "First", Why: "above the limit"}}},
		"all": {4, []gates.Gate{
			{Name: "Third", Why: "above the limit"}, {Name: "First", Why: "above the limit"},
			{Name: "Second", Why: "above the limit"},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, gates.Closed(c.world, checks)); diff != "" {
				t.Error(diff)
			}
		})
	}
}
