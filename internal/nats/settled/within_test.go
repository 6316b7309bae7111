package settled

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast/internal/kit/fact"
	"github.com/holdfast-dev/holdfast/internal/nats/monitorapi"
)

func TestWithin(t *testing.T) {
	stream := Group{Account: "A", Stream: "S"}
	// led is a cluster of a, b and c with one stream, led by leader, whose list is members.
	led := func(leader, idOfB string, members ...Member) Observation {
		answer := func(name, id string, reports ...Report) Server {
			return Server{Name: name, Answer: fact.Known(Answer{ServerFacts: ServerFacts{ID: id}, JetStreamUp: true, Reports: reports})}
		}
		follower := says(stream, leader, behind("b"), behind("c"))
		reports := map[string]Report{"a": follower, "b": follower, "c": follower}
		reports[leader] = says(stream, leader, members...)
		return Observation{JetStream: true, Servers: []Server{
			answer("a", "1", reports["a"]), answer("b", idOfB, reports["b"]), answer("c", "3", reports["c"]),
		}}
	}
	cases := map[string]struct{ earlier, later, want Observation }{
		"each current once": {
			led("a", "2", good("b"), behind("c")), led("a", "2", behind("b"), good("c")), led("a", "2", good("b"), good("c")),
		},
		"never current": {
			led("a", "2", good("b"), behind("c")), led("a", "2", good("b"), behind("c")), led("a", "2", good("b"), behind("c")),
		},
		"another leader": {
			led("c", "2", good("b"), good("a")), led("a", "2", behind("b"), good("c")), led("a", "2", behind("b"), good("c")),
		},
		"the member was restarted": {
			led("a", "2", good("b"), good("c")), led("a", "9", behind("b"), good("c")), led("a", "9", behind("b"), good("c")),
		},
		"a follower's opinion is not carried": {
			led("c", "2", good("a"), good("b")), led("c", "2", good("a"), behind("b")), led("c", "2", good("a"), good("b")),
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, tc.later.Within(tc.earlier), cmp.AllowUnexported(fact.Fact[Answer]{})); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}

	t.Run("a server that was silent before vouches for nothing", func(t *testing.T) {
		earlier, later := led("a", "2", good("b"), good("c")), led("a", "2", behind("b"), good("c"))
		earlier.Servers[0] = silent("a")
		if diff := cmp.Diff(later, later.Within(earlier), cmp.AllowUnexported(fact.Fact[Answer]{})); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
	t.Run("silent servers have no process", func(t *testing.T) {
		earlier, later := led("a", "2", good("b"), good("c")), led("a", "2", behind("b"), good("c"))
		earlier.Servers[1], later.Servers[1] = silent("b"), silent("b")
		if diff := cmp.Diff(later, later.Within(earlier), cmp.AllowUnexported(fact.Fact[Answer]{})); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
	t.Run("neither observation is changed", func(t *testing.T) {
		earlier, later := led("a", "2", good("b"), behind("c")), led("a", "2", behind("b"), good("c"))
		later.Within(earlier)
		want := led("a", "2", behind("b"), good("c"))
		if diff := cmp.Diff(want, later, cmp.AllowUnexported(fact.Fact[Answer]{})); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

// looked is a MonitorAPI of three servers, led by a, whose meta group a describes anew at each look.
type looked struct {
	metas [][]Member
	count *int
	dead  bool // c does not answer
}

func (l looked) Varz(_ context.Context, base string) (monitorapi.Varz, error) {
	if l.dead && base == "c" {
		return monitorapi.Varz{}, errScripted
	}
	return monitorapi.Varz{ID: base, Name: base}, nil
}

func (l looked) Jsz(_ context.Context, base string, _, _ int) (monitorapi.Jsz, error) {
	meta := &monitorapi.Meta{Leader: "a"}
	if base == "a" {
		meta.Replicas = l.metas[min(*l.count, len(l.metas)-1)]
		*l.count++
	}
	return monitorapi.Jsz{ServerID: base, Meta: meta}, nil
}

func TestLook(t *testing.T) {
	cases := map[string]struct {
		metas   [][]Member
		dead    bool
		settled bool
		looks   int
	}{
		"settled at once":                    {[][]Member{{good("b"), good("c")}}, false, true, 1},
		"each current once":                  {[][]Member{{good("b"), behind("c")}, {behind("b"), behind("c")}, {behind("b"), good("c")}}, false, true, 3},
		"one is never current":               {[][]Member{{good("b"), behind("c")}}, false, false, looks},
		"one goes offline meanwhile":         {[][]Member{{good("b"), behind("c")}, {offline("b"), good("c")}}, false, false, 2},
		"a silent server is not looked past": {[][]Member{{good("b"), behind("c")}}, true, false, 1},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				count := 0
				start := time.Now()
				targets := []Target{{"a", "a"}, {"b", "b"}, {"c", "c"}}
				verdict := Look(t.Context(), looked{tc.metas, &count, tc.dead}, targets, true)
				if verdict.Settled != tc.settled || count != tc.looks {
					t.Errorf("settled %v after %d looks (%s), want %v after %d", verdict.Settled, count, verdict.Message, tc.settled, tc.looks)
				}
				if took := time.Since(start); took != time.Duration(tc.looks-1)*between {
					t.Errorf("it took %s", took)
				}
			})
		})
	}
}
