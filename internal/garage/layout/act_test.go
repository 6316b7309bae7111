package layout

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast/internal/garage/adminapi"
	"github.com/holdfast-dev/holdfast/internal/kit/outcome"
)

// A writer is one node that does what it is told, to the bench that all nodes see.
type writer struct {
	b     *bench
	calls []string
	// meanwhile is done before the call of that name.
	meanwhile map[string]func()
	// refuses is what a preview says.
	refuses string
	// fails has the call of that name fail: before it takes effect, or after.
	failsBefore, failsAfter map[string]error
}

var errLost = errors.New("lost")

func (w *writer) call(name string, effect func()) (adminapi.Layout, error) {
	w.calls = append(w.calls, name)
	if do := w.meanwhile[name]; do != nil {
		do()
	}
	if err := w.failsBefore[name]; err != nil {
		return adminapi.Layout{}, err
	}
	effect()
	return w.b.layout, w.failsAfter[name]
}

func (w *writer) GetClusterLayout(context.Context) (adminapi.Layout, error) {
	return w.call("Get", func() {})
}

func (w *writer) UpdateClusterLayout(_ context.Context, change adminapi.LayoutChange) (adminapi.Layout, error) {
	return w.call("Update", func() { w.b.stage(change) })
}

func (w *writer) PreviewClusterLayoutChanges(context.Context) (adminapi.Computation, error) {
	_, err := w.call("Preview", func() {})
	if err == nil && w.refuses != "" {
		err = &adminapi.Error{Class: adminapi.Refused, Message: w.refuses}
	}
	return adminapi.Computation{Layout: w.next()}, err
}

func (w *writer) ApplyClusterLayout(_ context.Context, version uint64) (adminapi.Computation, error) {
	_, err := w.call("Apply", func() {
		if version == w.b.layout.Version+1 {
			w.b.layout = w.next()
		}
	})
	return adminapi.Computation{Layout: w.b.layout}, err
}

func (w *writer) RevertClusterLayout(context.Context) (adminapi.Layout, error) {
	return w.call("Revert", func() { w.b.stage(adminapi.LayoutChange{}) })
}

func (w *writer) ClusterLayoutSkipDeadNodes(_ context.Context, skip adminapi.SkipDeadNodes) (adminapi.SkippedNodes, error) {
	_, err := w.call(fmt.Sprintf("Skip %d %t", skip.Version, skip.AllowMissingData), func() { w.b.history = adminapi.LayoutHistory{CurrentVersion: skip.Version} })
	return adminapi.SkippedNodes{}, err
}

// next is the version that Garage makes of what is staged.
func (w *writer) next() adminapi.Layout {
	next := adminapi.Layout{Version: w.b.layout.Version + 1, Roles: slices.Clone(w.b.layout.Roles), Redundancy: w.b.layout.Redundancy}
	if staged := w.b.layout.StagedRedundancy; staged != nil {
		next.Redundancy = *staged
	}
	for _, change := range w.b.layout.Staged {
		next.Roles = slices.DeleteFunc(next.Roles, func(r adminapi.NodeRole) bool { return r.ID == change.Node() })
		if role, assigned := change.Role(); assigned {
			next.Roles = append(next.Roles, adminapi.NodeRole{ID: change.Node(), Role: role})
		}
	}
	return next
}

func (w *writer) act(t *testing.T, action Action) (outcome.Outcome, error) {
	t.Helper()
	actor := Actor{
		Reread: func(context.Context) World { return w.b.world() },
		Of: func(node adminapi.NodeID) (API, error) {
			if node != action.Writer {
				t.Errorf("asked for the API of %s", node)
			}
			return w, nil
		},
	}
	return actor.Act(t.Context(), action)
}

func grown() *bench {
	b := settled(4)
	b.layout.Roles = b.layout.Roles[:3]
	return b
}

func TestActWritesTheLayout(t *testing.T) {
	someone := adminapi.LayoutChange{Roles: []adminapi.RoleChange{adminapi.Remove(id(0))}}
	for name, c := range map[string]struct {
		given func(*writer)
		calls string
		// version and staged are what the layout is afterwards.
		version uint64
		staged  int
		retries bool
		fails   string
	}{
		"stages, reads back, previews and applies": {
			given: func(*writer) {}, calls: "Get Update Get Preview Apply", version: 5,
		},
		"applies what is staged already": {
			given: func(w *writer) { w.b.stage(assigned(w.b, 3)) }, calls: "Get Preview Apply", version: 5,
		},
		"does nothing when the facts have moved": {
			given: func(w *writer) { w.b.silent["g-storage-1"] = "gone" }, version: 4, retries: true,
		},
		"nor when another version is wanted": {
			given: func(w *writer) { w.b.layout.Version = 5 }, version: 5, retries: true,
		},
		"nor when something else is wanted": {
			given: func(w *writer) { w.b.node(1).Role.Zone = "z2" }, version: 4, retries: true,
		},
		"does not apply along what somebody stages before": {
			given: func(w *writer) { w.meanwhile["Get"] = func() { w.b.stage(someone) } }, calls: "Get", version: 4, staged: 1, retries: true,
		},
		"nor what somebody stages after our update": {
			given: func(w *writer) {
				w.meanwhile["Update"] = func() {
					w.meanwhile["Get"] = func() { w.b.layout.Staged = append(w.b.layout.Staged, someone.Roles...) }
				}
			},
			calls: "Get Update Get", version: 4, staged: 2, retries: true,
		},
		"nor a version beyond one that came meanwhile": {
			given: func(w *writer) {
				w.meanwhile["Update"] = func() { w.meanwhile["Get"] = func() { w.b.layout.Version = 5 } }
			},
			calls: "Get Update Get", version: 5, staged: 1, retries: true,
		},
		"stages nothing for a version that came meanwhile": {
			given: func(w *writer) { w.meanwhile["Get"] = func() { w.b.layout.Version = 5 } }, calls: "Get", version: 5, retries: true,
		},
		"takes back what Garage refuses": {
			given: func(w *writer) { w.refuses = "too few zones" }, calls: "Get Update Get Preview Get Revert", version: 4,
			fails: "Garage refuses the layout: too few zones",
		},
		"but nothing of somebody else": {
			given: func(w *writer) {
				w.refuses = "too few zones"
				w.meanwhile["Preview"] = func() { w.b.stage(someone) }
			},
			calls: "Get Update Get Preview Get", version: 4, staged: 1, retries: true,
		},
		"applies nothing that comes out otherwise": {
			given: func(w *writer) {
				w.meanwhile["Preview"] = func() { w.b.layout.Roles = w.b.layout.Roles[1:] }
			},
			calls: "Get Update Get Preview", version: 4, staged: 1, fails: "what Garage would make of the layout is not what was asked for: other roles",
		},
		"nor another version": {
			given: func(w *writer) { w.meanwhile["Preview"] = func() { w.b.layout.Version = 7 } },
			calls: "Get Update Get Preview", version: 7, staged: 1, fails: "what Garage would make of the layout is not what was asked for: version 8 instead of 5",
		},
		"stops when the update gets no answer": {
			given: func(w *writer) { w.failsAfter["Update"] = errLost }, calls: "Get Update", version: 4, staged: 1, fails: "lost",
		},
		"stops when the preview gets no answer": {
			given: func(w *writer) { w.failsAfter["Preview"] = errLost }, calls: "Get Update Get Preview", version: 4, staged: 1, fails: "lost",
		},
		"stops when it cannot be read back": {
			given: func(w *writer) { w.meanwhile["Update"] = func() { w.failsBefore["Get"] = errLost } },
			calls: "Get Update Get", version: 4, staged: 1, fails: "lost",
		},
		"stops when nothing can be read": {
			given: func(w *writer) { w.failsBefore["Get"] = errLost }, calls: "Get", version: 4, fails: "lost",
		},
		"tells of an Apply without an answer": {
			given: func(w *writer) { w.failsAfter["Apply"] = errLost }, calls: "Get Update Get Preview Apply", version: 5, fails: "lost",
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := &writer{b: grown(), meanwhile: map[string]func(){}, failsBefore: map[string]error{}, failsAfter: map[string]error{}}
			action := Decide(w.b.world()).Action
			c.given(w)
			out, err := w.act(t, *action)
			if got := strings.Join(w.calls, " "); got != c.calls {
				t.Errorf("calls %q, want %q", got, c.calls)
			}
			if w.b.layout.Version != c.version || len(w.b.layout.Staged) != c.staged {
				t.Errorf("version %d with %d staged, want %d with %d", w.b.layout.Version, len(w.b.layout.Staged), c.version, c.staged)
			}
			if got := out.Kind() == outcome.KindRetry; got != c.retries {
				t.Errorf("outcome %v", out)
			}
			if got := fmt.Sprint(err); got != cmp.Or(c.fails, "<nil>") {
				t.Errorf("error %q, want %q", got, c.fails)
			}
		})
	}
}

func TestActTakesTheRedundancyAlong(t *testing.T) {
	w := &writer{b: settled(3)}
	w.b.Redundancy = adminapi.ZoneRedundancy{AtLeast: 2}
	w.b.node(1).Role.Zone = "z2"
	if _, err := w.act(t, *Decide(w.b.world()).Action); err != nil {
		t.Fatal(err)
	}
	if plan := Decide(w.b.world()); plan.Wanted || w.b.layout.Redundancy.AtLeast != 2 {
		t.Errorf("the layout is %+v, and still wanted is %+v", w.b.layout, plan)
	}
}

func TestActWithdraws(t *testing.T) {
	for name, c := range map[string]struct {
		given   func(*writer)
		calls   string
		staged  int
		retries bool
	}{
		"our own staging": {given: func(*writer) {}, calls: "Get Revert"},
		"unless more is staged meanwhile": {
			given: func(w *writer) {
				w.meanwhile["Get"] = func() { w.b.layout.Staged = append(w.b.layout.Staged, adminapi.Remove(id(1))) }
			},
			calls: "Get", staged: 2, retries: true,
		},
		"unless there is another version": {
			given: func(w *writer) { w.meanwhile["Get"] = func() { w.b.layout.Version = 5 } }, calls: "Get", staged: 1, retries: true,
		},
		"unless more was staged before": {
			given: func(w *writer) { w.b.layout.Staged = append(w.b.layout.Staged, adminapi.Remove(id(1))) }, staged: 2, retries: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := &writer{b: settled(3), meanwhile: map[string]func(){}}
			old := assigned(fresh(4), 3)
			w.b.stage(old)
			w.b.Journal = &Journal{Version: 5, Hash: Hash(old)}
			action := Decide(w.b.world()).Action
			c.given(w)
			out, err := w.act(t, *action)
			if err != nil {
				t.Fatal(err)
			}
			if diff := gocmp.Diff(c.calls, strings.Join(w.calls, " ")); diff != "" {
				t.Errorf("calls (-want +got):\n%s", diff)
			}
			if len(w.b.layout.Staged) != c.staged || (out.Kind() == outcome.KindRetry) != c.retries {
				t.Errorf("%d staged, outcome %v", len(w.b.layout.Staged), out)
			}
		})
	}
}

func TestActNeedsTheWritersAPI(t *testing.T) {
	b := grown()
	action := Decide(b.world()).Action
	actor := Actor{
		Reread: func(context.Context) World { return b.world() },
		Of:     func(adminapi.NodeID) (API, error) { return nil, errLost },
	}
	if _, err := actor.Act(t.Context(), *action); !errors.Is(err, errLost) {
		t.Errorf("error %v", err)
	}
}
