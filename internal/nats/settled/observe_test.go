package settled

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast/internal/kit/fact"
	"github.com/holdfast-dev/holdfast/internal/nats/monitorapi"
)

// scripted is a MonitorAPI that replies from memory. The key is the base URL, which in these tests is the server's name.
type scripted map[string]script

type script struct {
	varz  monitorapi.Varz
	pages []monitorapi.Jsz // by request, whatever the offset
	fails int              // the request that fails, counted from 1: /varz, then the pages
	asked []string
}

var errScripted = errors.New("connection refused")

func (s scripted) Varz(_ context.Context, base string) (monitorapi.Varz, error) {
	if s[base].fails == 1 {
		return monitorapi.Varz{}, errScripted
	}
	return s[base].varz, nil
}

func (s scripted) Jsz(_ context.Context, base string, offset, limit int) (monitorapi.Jsz, error) {
	script := s[base]
	script.asked = append(script.asked, fmt.Sprintf("%d+%d", offset, limit))
	s[base] = script
	if script.fails == 1+len(script.asked) {
		return monitorapi.Jsz{}, errScripted
	}
	return script.pages[len(script.asked)-1], nil
}

// page is a page of a server whose ID is "id", with empty accounts of the IDs named.
func page(total int, accounts ...string) monitorapi.Jsz {
	reply := monitorapi.Jsz{ServerID: "id", Total: total, Meta: &monitorapi.Meta{Leader: "a"}}
	for _, id := range accounts {
		reply.Accounts = append(reply.Accounts, monitorapi.Account{ID: id, Name: "name of " + id, Streams: []monitorapi.Stream{{Name: "S"}}})
	}
	return reply
}

func TestServersThatAreSilent(t *testing.T) {
	itself := monitorapi.Varz{ID: "id", Name: "a"}
	for name, tc := range map[string]struct {
		script script
		noURL  bool
		why    string // empty: it is not silent
		asked  []string
	}{
		"one page of accounts":   {script: script{varz: itself, pages: []monitorapi.Jsz{page(2, "A", "B")}}, asked: []string{"0+2"}},
		"no account":             {script: script{varz: itself, pages: []monitorapi.Jsz{page(0)}}, asked: []string{"0+2"}},
		"one account more":       {script: script{varz: itself, pages: []monitorapi.Jsz{page(3, "A", "B"), page(3, "C")}}, asked: []string{"0+2", "2+2"}},
		"no address":             {noURL: true, why: "no address"},
		"/varz fails":            {script: script{fails: 1}, why: "connection refused"},
		"it is another server":   {script: script{varz: monitorapi.Varz{ID: "id", Name: "b"}}, why: `answers as "b"`},
		"the first page fails":   {script: script{varz: itself, fails: 2}, asked: []string{"0+2"}, why: "connection refused"},
		"the second page fails":  {script: script{varz: itself, fails: 3, pages: []monitorapi.Jsz{page(3, "A", "B")}}, asked: []string{"0+2", "2+2"}, why: "connection refused"},
		"it is another process":  {script: script{varz: monitorapi.Varz{ID: "other", Name: "a"}, pages: []monitorapi.Jsz{page(0)}}, asked: []string{"0+2"}, why: "replaced"},
		"an account came":        {script: script{varz: itself, pages: []monitorapi.Jsz{page(3, "A", "B"), page(4, "C")}}, asked: []string{"0+2", "2+2"}, why: "accounts changed"},
		"an account is missing":  {script: script{varz: itself, pages: []monitorapi.Jsz{page(3, "A")}}, asked: []string{"0+2"}, why: "accounts changed"},
		"accounts were pushed":   {script: script{varz: itself, pages: []monitorapi.Jsz{page(4, "A", "B"), page(4, "B", "C")}}, asked: []string{"0+2", "2+2"}, why: "accounts changed"},
		"the last page is short": {script: script{varz: itself, pages: []monitorapi.Jsz{page(3, "A", "B"), page(3)}}, asked: []string{"0+2", "2+2"}, why: "accounts changed"},
	} {
		t.Run(name, func(t *testing.T) {
			api := scripted{"a": tc.script}
			target := Target{Name: "a", At: "a"}
			if tc.noURL {
				target.At = ""
			}
			o := reader{api: api, jetstream: true, page: 2}.observe(t.Context(), []Target{target})
			_, known := o.Servers[0].Answer.Get()
			if why := o.Servers[0].Answer.Why(); known != (tc.why == "") || !strings.Contains(why, tc.why) {
				t.Errorf("known %v, because %q; want %q", known, why, tc.why)
			}
			if diff := cmp.Diff(tc.asked, api["a"].asked); diff != "" {
				t.Errorf("pages asked for: -want +got\n%s", diff)
			}
		})
	}
}

func TestWhatIsTakenFromTheReplies(t *testing.T) {
	peers := []monitorapi.Peer{{Name: "b", Current: true}}
	start := time.Date(2026, 11, 1, 8, 0, 0, 0, time.UTC)
	api := scripted{"http://a": {
		varz: monitorapi.Varz{ID: "id", Name: "a", Version: "2.15.3", Start: start, Metadata: map[string]string{"config_revision": "0123456789"}},
		pages: []monitorapi.Jsz{{ServerID: "id", Total: 1, Meta: &monitorapi.Meta{Leader: "a", Replicas: peers}, Accounts: []monitorapi.Account{{
			ID: "AKEY", Name: "shop", Streams: []monitorapi.Stream{{
				Name: "ORDERS", Config: &monitorapi.StreamConfig{Replicas: 3}, Cluster: &monitorapi.Group{RaftGroup: "S-1", Leader: "b", Replicas: peers},
				Consumers: []monitorapi.Consumer{
					{Name: "one", Config: &monitorapi.ConsumerConfig{Durable: "one", Replicas: 1}, Cluster: &monitorapi.Group{Leader: "a"}},
					{Name: "starting", Config: &monitorapi.ConsumerConfig{Durable: "starting"}},
				},
			}},
		}}}},
	}}
	want := Observation{JetStream: true, Servers: []Server{{Name: "a"}}}
	wantAnswer := Answer{
		ServerFacts: ServerFacts{ID: "id", Version: "2.15.3", ConfigRevision: "0123456789", Start: start}, JetStreamUp: true,
		Reports: []Report{
			{Raft: true, Leader: "a", Members: peers},
			{Group: Group{Account: "AKEY", Stream: "ORDERS"}, AccountName: "shop", Copies: 3, Raft: true, Leader: "b", Members: peers},
			{Group: Group{Account: "AKEY", Stream: "ORDERS", Consumer: "one"}, AccountName: "shop", Copies: 1, Leader: "a"},
			{Group: Group{Account: "AKEY", Stream: "ORDERS", Consumer: "starting"}, AccountName: "shop", Copies: 3},
		},
	}
	got := Observe(t.Context(), api, []Target{{Name: "a", At: "http://a"}}, true)
	answer, _ := got.Servers[0].Answer.Get()
	if diff := cmp.Diff(wantAnswer, answer); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	if got.JetStream != want.JetStream || got.Servers[0].Name != want.Servers[0].Name {
		t.Errorf("got %+v", got)
	}
	if diff := cmp.Diff([]string{"0+1024"}, api["http://a"].asked); diff != "" {
		t.Errorf("pages asked for: -want +got\n%s", diff)
	}
}

func TestJetStreamIsNotUp(t *testing.T) {
	api := scripted{"a": {varz: monitorapi.Varz{ID: "id", Name: "a"}, pages: []monitorapi.Jsz{{ServerID: "id", Disabled: true}}}}
	answer, known := Observe(t.Context(), api, []Target{{Name: "a", At: "a"}}, true).Servers[0].Answer.Get()
	if diff := cmp.Diff(Answer{ServerFacts: ServerFacts{ID: "id"}}, answer); !known || diff != "" {
		t.Errorf("known %v; -want +got\n%s", known, diff)
	}
}

func TestWithoutJetStreamGroupsAreNotAskedFor(t *testing.T) {
	api := scripted{"a": {varz: monitorapi.Varz{ID: "id", Name: "a"}}}
	o := Observe(t.Context(), api, []Target{{Name: "a", At: "a"}}, false)
	if v := Judge(o); !v.Settled || len(api["a"].asked) > 0 {
		t.Errorf("asked for %v, verdict %+v", api["a"].asked, v)
	}
}

// hanging is a MonitorAPI that answers nobody until released, and counts those who wait.
type hanging struct {
	waiting atomic.Int32
	release chan struct{}
}

func (h *hanging) Varz(_ context.Context, base string) (monitorapi.Varz, error) {
	h.waiting.Add(1)
	<-h.release
	return monitorapi.Varz{ID: base, Name: base}, nil
}

func (h *hanging) Jsz(context.Context, string, int, int) (monitorapi.Jsz, error) {
	return monitorapi.Jsz{}, errScripted
}

func TestServersAreAskedAtTheSameTimeButNotAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := &hanging{release: make(chan struct{})}
		var targets []Target
		for i := range 20 {
			name := fmt.Sprintf("demo-%d", i)
			targets = append(targets, Target{Name: name, At: name})
		}
		done := make(chan Observation)
		go func() { done <- Observe(t.Context(), api, targets, false) }()
		synctest.Wait()
		if got := api.waiting.Load(); got != atOnce {
			t.Errorf("%d servers are asked at once, want %d", got, atOnce)
		}
		close(api.release)
		for i, server := range (<-done).Servers {
			if answer, ok := server.Answer.Get(); !ok || answer.ID != targets[i].Name || server.Name != targets[i].Name {
				t.Errorf("server %d is %+v", i, server)
			}
		}
	})
}

func TestStreams(t *testing.T) {
	up := func(name string, reports ...Report) Server {
		return Server{Name: name, Answer: fact.Known(Answer{JetStreamUp: true, Reports: reports})}
	}
	stream := func(account, name string) Report {
		return Report{Group: Group{Account: account, Stream: name}, AccountName: account}
	}
	consumer := Report{Group: Group{Account: "a", Stream: "s", Consumer: "c"}, AccountName: "a"}
	for name, tc := range map[string]struct {
		servers []Server
		want    []string
		unknown string
	}{
		"none":              {servers: []Server{up("a"), up("b", Report{Raft: true})}, want: nil},
		"each once, sorted": {servers: []Server{up("a", stream("b", "s"), stream("a", "s"), consumer), up("b", stream("a", "s"), stream("a", "r"))}, want: []string{"a/r", "a/s", "b/s"}},
		"a consumer alone":  {servers: []Server{up("a", consumer)}, want: []string{"a/s"}},
		"a silent server":   {servers: []Server{up("a", stream("a", "s")), {Name: "b", Answer: fact.Unknown[Answer]("no")}}, unknown: "b does not answer"},
		"JetStream is down": {servers: []Server{up("a"), {Name: "b", Answer: fact.Known(Answer{})}}, unknown: "JetStream is not up on b"},
	} {
		t.Run(name, func(t *testing.T) {
			got := Observation{JetStream: true, Servers: tc.servers}.Streams()
			streams, known := got.Get()
			if known != (tc.unknown == "") || got.Why() != tc.unknown || !slices.Equal(streams, tc.want) {
				t.Errorf("%v, known %t, because %q", streams, known, got.Why())
			}
		})
	}
}
