package settled

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/holdfast-dev/holdfast/api/nats/cluster/v1beta1"
	"github.com/holdfast-dev/holdfast/internal/nats/monitorapi"
)

// model is a NATS cluster of several servers and what each of them answers. It starts whole, and then gets its faults.
type model struct {
	servers []string
	groups  []modelGroup
	views   map[Group]map[string]*monitorapi.Group // what each holder says of each group; the zero Group is the meta group
	silent  map[string]int                         // the request that fails: 1 is /varz, then the pages
	noMeta  map[string]bool
}

type modelGroup struct {
	Group
	holders []string // the leader first
}

func drawModel(t *rapid.T) *model {
	m := &model{views: map[Group]map[string]*monitorapi.Group{}, silent: map[string]int{}, noMeta: map[string]bool{}}
	for i := range rapid.IntRange(2, 5).Draw(t, "servers") {
		m.servers = append(m.servers, fmt.Sprintf("demo-%d", i))
	}
	m.add(t, Group{}, m.servers)
	for a := range rapid.IntRange(0, 4).Draw(t, "accounts") {
		for s := range rapid.IntRange(0, 2).Draw(t, "streams") {
			stream := Group{Account: fmt.Sprintf("A%d", a), Stream: fmt.Sprintf("S%d", s)}
			holders := m.draw(t, m.servers)
			m.add(t, stream, holders)
			for c := range rapid.IntRange(0, 2).Draw(t, "consumers") {
				stream.Consumer = fmt.Sprintf("C%d", c)
				m.add(t, stream, m.draw(t, holders))
			}
		}
	}
	return m
}

// draw picks one or more of the servers.
func (m *model) draw(t *rapid.T, of []string) []string {
	return rapid.Permutation(of).Draw(t, "order")[:rapid.IntRange(1, len(of)).Draw(t, "copies")]
}

// add makes a whole group. What its followers say is arbitrary, but that they do not claim to lead: it must not matter.
func (m *model) add(t *rapid.T, group Group, holders []string) {
	holders = rapid.Permutation(holders).Draw(t, "leader first")
	m.groups = append(m.groups, modelGroup{Group: group, holders: holders})
	m.views[group] = map[string]*monitorapi.Group{}
	for i, holder := range holders {
		view := &monitorapi.Group{Leader: holders[0]}
		if len(holders) > 1 {
			view.RaftGroup = "G"
		}
		for _, other := range holders {
			switch {
			case other == holder:
			case i == 0:
				view.Replicas = append(view.Replicas, monitorapi.Peer{Name: other, Current: true})
			default:
				view.Replicas = append(view.Replicas, monitorapi.Peer{
					Name: other, Current: rapid.Bool().Draw(t, "current"), Offline: rapid.Bool().Draw(t, "offline"),
				})
			}
		}
		if i > 0 {
			others := slices.DeleteFunc(slices.Clone(m.servers), func(name string) bool { return name == holder })
			view.Leader = rapid.SampledFrom(append(others, "")).Draw(t, "believes in")
			if rapid.IntRange(0, 4).Draw(t, "starting") == 0 && group != (Group{}) {
				view.Leader, view.RaftGroup, view.Replicas = holder, "", nil
			}
		}
		m.views[group][holder] = view
	}
}

// spoil does one thing to the cluster after which it must not read as settled, and says which reason must be named at
// least. A fault that needs more members than the group has makes its leader step down instead.
func (m *model) spoil(t *rapid.T, group modelGroup) string {
	server := rapid.SampledFrom(m.servers).Draw(t, "server")
	leader := m.views[group.Group][group.holders[0]]
	fault := rapid.IntRange(0, 6).Draw(t, "fault")
	switch {
	case fault == 0:
		m.silent[server] = rapid.IntRange(1, 3).Draw(t, "request")
		return v1beta1.ReasonServersSilent
	case fault == 1:
		m.noMeta[server] = true
		return v1beta1.ReasonMembersOffline
	case len(leader.Replicas) > 0 && fault == 2:
		rapid.Map(rapid.IntRange(0, len(leader.Replicas)-1), func(i int) *monitorapi.Peer { return &leader.Replicas[i] }).Draw(t, "peer").Offline = true
		return v1beta1.ReasonMembersOffline
	case len(leader.Replicas) > 0 && fault == 3:
		rapid.Map(rapid.IntRange(0, len(leader.Replicas)-1), func(i int) *monitorapi.Peer { return &leader.Replicas[i] }).Draw(t, "peer").Current = false
		return v1beta1.ReasonGroupsCatchingUp
	case len(group.holders) > 1 && fault == 4:
		second := m.views[group.Group][group.holders[1]]
		second.Leader, second.RaftGroup = group.holders[1], "G"
	case len(group.holders) > 1 && fault == 5 && group.Group != Group{}:
		leader.RaftGroup = "" // it was restarted and speaks from its disk
	default:
		leader.Leader = rapid.SampledFrom([]string{"", "somebody else"}).Draw(t, "names")
	}
	return v1beta1.ReasonGroupsLeaderless
}

// Varz implements MonitorAPI.
func (m *model) Varz(_ context.Context, base string) (monitorapi.Varz, error) {
	if m.silent[base] == 1 {
		return monitorapi.Varz{}, errScripted
	}
	return monitorapi.Varz{ID: base, Name: base}, nil
}

// Jsz implements MonitorAPI.
func (m *model) Jsz(_ context.Context, base string, offset, limit int) (monitorapi.Jsz, error) {
	accounts := m.accounts(base)
	if request := m.silent[base]; request > 1 && offset == min((request-2)*limit, max(0, len(accounts)-1)/limit*limit) {
		return monitorapi.Jsz{}, errScripted
	}
	reply := monitorapi.Jsz{ServerID: base, Total: len(accounts)}
	if view := m.views[Group{}][base]; !m.noMeta[base] {
		reply.Meta = &monitorapi.Meta{Leader: view.Leader, Replicas: view.Replicas}
	}
	from := min(offset, len(accounts))
	reply.Accounts = accounts[from:min(from+limit, len(accounts))]
	return reply, nil
}

// accounts are those of which the server holds anything.
func (m *model) accounts(server string) (accounts []monitorapi.Account) {
	groups := slices.SortedFunc(slices.Values(m.groups), func(a, b modelGroup) int {
		return cmp.Or(cmp.Compare(a.Account, b.Account), cmp.Compare(a.Stream, b.Stream), cmp.Compare(a.Consumer, b.Consumer))
	})
	for _, group := range groups {
		if group.Group == (Group{}) || !slices.Contains(group.holders, server) {
			continue
		}
		if len(accounts) == 0 || accounts[len(accounts)-1].ID != group.Account {
			accounts = append(accounts, monitorapi.Account{ID: group.Account, Name: group.Account})
		}
		streams := &accounts[len(accounts)-1].Streams
		view, copies := m.views[group.Group][server], len(group.holders)
		if group.Consumer == "" {
			*streams = append(*streams, monitorapi.Stream{Name: group.Stream, Config: &monitorapi.StreamConfig{Replicas: copies}, Cluster: view})
			continue
		}
		of := &(*streams)[len(*streams)-1]
		of.Consumers = append(of.Consumers, monitorapi.Consumer{Name: group.Consumer, Config: &monitorapi.ConsumerConfig{Replicas: copies}, Cluster: view})
	}
	return accounts
}

// TestSettledOnlyWithoutAnyFault: a cluster reads as settled if and only if nothing is wrong with it, whatever its followers
// say and however many accounts a page has.
func TestSettledOnlyWithoutAnyFault(t *testing.T) {
	severity := []string{
		v1beta1.ReasonObservationFailed, v1beta1.ReasonServersSilent, v1beta1.ReasonGroupsLeaderless,
		v1beta1.ReasonMembersOffline, v1beta1.ReasonGroupsCatchingUp, v1beta1.ReasonAllGroupsCurrent,
	}
	rapid.Check(t, func(t *rapid.T) {
		m := drawModel(t)
		// One fault to a group: two may cancel each other out, as when one leader steps down and another claims to lead.
		spoilt := rapid.Permutation(m.groups).Draw(t, "order")[:rapid.IntRange(0, min(3, len(m.groups))).Draw(t, "faults")]
		least := v1beta1.ReasonAllGroupsCurrent
		for _, group := range spoilt {
			least = m.spoil(t, group)
		}
		var targets []Target
		for _, name := range m.servers {
			targets = append(targets, Target{Name: name, At: name})
		}
		observe := func(page int) Verdict {
			return Judge(reader{api: m, jetstream: true, page: page}.observe(t.Context(), targets))
		}
		v := observe(accountsPerPage)
		if v.Settled != (len(spoilt) == 0) {
			t.Fatalf("settled is %v after %d faults: %+v", v.Settled, len(spoilt), v)
		}
		if len(spoilt) < 2 && slices.Index(severity, v.Reason) > slices.Index(severity, least) {
			t.Fatalf("the reason is %s, want at least %s: %+v", v.Reason, least, v)
		}
		if got, want := len(v.Silent), len(m.silent); got != want {
			t.Fatalf("%d servers are silent, want %d", got, want)
		}
		if diff := gocmp.Diff(v, observe(rapid.IntRange(1, 5).Draw(t, "page"))); diff != "" {
			t.Fatalf("page boundaries matter: -whole +paged\n%s", diff)
		}
	})
}
