package settled

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast/api/nats/cluster/v1beta1"
	"github.com/holdfast-dev/holdfast/internal/kit/fact"
)

var (
	metaGroup     = Group{}
	ordersStream  = Group{Account: "A1", Stream: "ORDERS"}
	auditConsumer = Group{Account: "A1", Stream: "ORDERS", Consumer: "audit"}
)

// says is what one member says of a group of three: who leads, and what the others are.
func says(group Group, leader string, members ...Member) Report {
	return Report{Group: group, AccountName: "shop", Copies: 3, Raft: true, Leader: leader, Members: members}
}

// alone is what the holder of a group of one says.
func alone(group Group, leader string) Report {
	return Report{Group: group, AccountName: "shop", Copies: 1, Leader: leader}
}

func good(name string) Member    { return Member{Name: name, Current: true} }
func behind(name string) Member  { return Member{Name: name} }
func offline(name string) Member { return Member{Name: name, Offline: true} }

func up(name string, reports ...Report) Server {
	return Server{Name: name, Answer: fact.Known(Answer{ServerFacts: ServerFacts{ID: "id-" + name}, JetStreamUp: true, Reports: reports})}
}

func down(name string) Server {
	return Server{Name: name, Answer: fact.Known(Answer{ServerFacts: ServerFacts{ID: "id-" + name}})}
}

func silent(name string) Server { return Server{Name: name} }

// follows is what a follower says of a group: it calls everybody but the leader not current, which means nothing.
func follows(group Group, leader string) Report { return says(group, leader, behind("a"), behind("c")) }

// three is a cluster of a, b and c in which a leads the meta group, with more reports for each server.
func three(a, b, c []Report) []Server {
	return []Server{
		up("a", append([]Report{says(metaGroup, "a", good("b"), good("c"))}, a...)...),
		up("b", append([]Report{follows(metaGroup, "a")}, b...)...),
		up("c", append([]Report{follows(metaGroup, "a")}, c...)...),
	}
}

func TestJudge(t *testing.T) {
	const whole = "every Raft group has a leader and every member is current"
	all := []string{"a", "b", "c"}
	for name, tc := range map[string]struct {
		servers     []Server
		noJetStream bool
		want        Verdict // Known is true and Servers is that of all servers that answer, unless notKnown
		notKnown    bool
	}{
		"all groups current": {
			servers: three([]Report{follows(ordersStream, "b")}, []Report{says(ordersStream, "b", good("a"), good("c"))}, []Report{follows(ordersStream, "b")}),
			want:    Verdict{Settled: true, Reason: v1beta1.ReasonAllGroupsCurrent, Message: whole, MetaLeader: "a"},
		},
		"no server answers": {
			servers: []Server{silent("a"), silent("b")}, notKnown: true,
			want: Verdict{Reason: v1beta1.ReasonObservationFailed, Message: "no server answers", Silent: []string{"a", "b"}},
		},
		"no server should exist": {
			notKnown: true,
			want:     Verdict{Reason: v1beta1.ReasonObservationFailed, Message: "no server answers"},
		},
		"one server is silent, its groups being whole": {
			servers: []Server{up("a", says(metaGroup, "a", good("b"), good("c"))), silent("b"), up("c", follows(metaGroup, "a"))},
			want:    Verdict{Reason: v1beta1.ReasonServersSilent, Message: "b does not answer", Silent: []string{"b"}, MetaLeader: "a"},
		},
		"silence is worse than a group without a leader": {
			servers: []Server{silent("c"), up("a", says(metaGroup, "")), silent("b")},
			want: Verdict{
				Reason: v1beta1.ReasonServersSilent, Message: "c, b do not answer", Silent: []string{"c", "b"},
				Groups: []Unsettled{{Group: "meta", Reason: v1beta1.ReasonGroupsLeaderless, Servers: []string{"a"}}},
			},
		},
		"as many are silent as a message names": {
			servers: []Server{up("a", says(metaGroup, "a")), silent("b"), silent("c"), silent("d"), silent("e"), silent("f")},
			want: Verdict{
				Reason: v1beta1.ReasonServersSilent, Message: "b, c, d, e, f do not answer",
				Silent: []string{"b", "c", "d", "e", "f"}, MetaLeader: "a",
			},
		},
		"many are silent": {
			servers: []Server{up("a", says(metaGroup, "a")), silent("b"), silent("c"), silent("d"), silent("e"), silent("f"), silent("g")},
			want: Verdict{
				Reason: v1beta1.ReasonServersSilent, Message: "b, c, d, e, f and 1 more do not answer",
				Silent: []string{"b", "c", "d", "e", "f", "g"}, MetaLeader: "a",
			},
		},
		"nobody leads the meta group": {
			servers: []Server{up("a", says(metaGroup, "")), up("b", says(metaGroup, "")), up("c", says(metaGroup, ""))},
			want: Verdict{
				Reason: v1beta1.ReasonGroupsLeaderless, Message: "1 Raft group has no leader",
				Groups: []Unsettled{{Group: "meta", Reason: v1beta1.ReasonGroupsLeaderless, Servers: all}},
			},
		},
		"all name a meta leader that is no target": {
			servers: []Server{up("a", says(metaGroup, "x")), up("b", says(metaGroup, "x")), up("c", says(metaGroup, "x"))},
			want: Verdict{
				Reason: v1beta1.ReasonGroupsLeaderless, Message: "1 Raft group has no leader",
				Groups: []Unsettled{{Group: "meta", Reason: v1beta1.ReasonGroupsLeaderless, Servers: all}},
			},
		},
		"two servers claim the meta group": {
			servers: []Server{up("a", says(metaGroup, "a", good("b"))), up("b", says(metaGroup, "b", good("a")))},
			want: Verdict{
				Reason: v1beta1.ReasonGroupsLeaderless, Message: "1 Raft group has no leader",
				Groups: []Unsettled{{Group: "meta", Reason: v1beta1.ReasonGroupsLeaderless, Servers: []string{"a", "b"}}},
			},
		},
		"followers name a leader that does not say so": {
			servers: three([]Report{says(ordersStream, "b", good("b"))}, []Report{says(ordersStream, "a", good("a"))}, nil),
			want: Verdict{
				Reason: v1beta1.ReasonGroupsLeaderless, Message: "1 Raft group has no leader", MetaLeader: "a",
				Groups: []Unsettled{{Group: "stream shop/ORDERS", Reason: v1beta1.ReasonGroupsLeaderless, Servers: []string{"a", "b"}}},
			},
		},
		"a starting server names itself without a Raft node": {
			servers: three([]Report{{Group: ordersStream, AccountName: "shop", Copies: 3, Leader: "a"}}, nil, nil),
			want: Verdict{
				Reason: v1beta1.ReasonGroupsLeaderless, Message: "1 Raft group has no leader", MetaLeader: "a",
				Groups: []Unsettled{{Group: "stream shop/ORDERS", Reason: v1beta1.ReasonGroupsLeaderless, Servers: []string{"a"}}},
			},
		},
		"so it does beside the leader": {
			servers: three([]Report{{Group: ordersStream, AccountName: "shop", Copies: 3, Leader: "a"}}, []Report{says(ordersStream, "b", good("a"), good("c"))}, nil),
			want:    Verdict{Settled: true, Reason: v1beta1.ReasonAllGroupsCurrent, Message: whole, MetaLeader: "a"},
		},
		"it is not known how many copies there should be": {
			servers: three([]Report{{Group: ordersStream, AccountName: "shop", Leader: "a"}}, nil, nil),
			want: Verdict{
				Reason: v1beta1.ReasonGroupsLeaderless, Message: "1 Raft group has no leader", MetaLeader: "a",
				Groups: []Unsettled{{Group: "stream shop/ORDERS", Reason: v1beta1.ReasonGroupsLeaderless, Servers: []string{"a"}}},
			},
		},
		"groups of one, also on a stream of three": {
			servers: three([]Report{follows(ordersStream, "b"), alone(auditConsumer, "a")}, []Report{says(ordersStream, "b", good("a"))}, []Report{alone(Group{Account: "A1", Stream: "NOTES"}, "c")}),
			want:    Verdict{Settled: true, Reason: v1beta1.ReasonAllGroupsCurrent, Message: whole, MetaLeader: "a"},
		},
		"the holder of a group of one has not heard that it leads": {
			servers: three(nil, nil, []Report{alone(auditConsumer, "")}),
			want: Verdict{
				Reason: v1beta1.ReasonGroupsLeaderless, Message: "1 Raft group has no leader", MetaLeader: "a",
				Groups: []Unsettled{{Group: "consumer shop/ORDERS/audit", Reason: v1beta1.ReasonGroupsLeaderless, Servers: []string{"c"}}},
			},
		},
		"streams of one name in two accounts of one name": {
			servers: three([]Report{says(ordersStream, "a")}, []Report{says(Group{Account: "A2", Stream: "ORDERS"}, "b")}, nil),
			want:    Verdict{Settled: true, Reason: v1beta1.ReasonAllGroupsCurrent, Message: whole, MetaLeader: "a"},
		},
		"a member is offline, another behind": {
			servers: three(nil, []Report{says(ordersStream, "b", behind("a"), offline("c"))}, nil),
			want: Verdict{
				Reason: v1beta1.ReasonMembersOffline, Message: "1 Raft group has a member offline on c", MetaLeader: "a",
				Groups: []Unsettled{{Group: "stream shop/ORDERS", Reason: v1beta1.ReasonMembersOffline, Servers: []string{"c"}}},
			},
		},
		"a member that is no target counts in a stream, not in the meta group": {
			servers: []Server{up("a", says(metaGroup, "a", offline("x"), behind("y")), says(ordersStream, "a", behind("y"), behind("x")))},
			want: Verdict{
				Reason: v1beta1.ReasonGroupsCatchingUp, Message: "1 Raft group has a member on x, y that is not current", MetaLeader: "a",
				Groups: []Unsettled{{Group: "stream shop/ORDERS", Reason: v1beta1.ReasonGroupsCatchingUp, Servers: []string{"x", "y"}}},
			},
		},
		"a leader is current and online whatever its own list says": {
			servers: three([]Report{says(ordersStream, "a", offline("a"), good("b"), behind("c"))}, nil, nil),
			want: Verdict{
				Reason: v1beta1.ReasonGroupsCatchingUp, Message: "1 Raft group has a member on c that is not current", MetaLeader: "a",
				Groups: []Unsettled{{Group: "stream shop/ORDERS", Reason: v1beta1.ReasonGroupsCatchingUp, Servers: []string{"c"}}},
			},
		},
		"the worst first, then meta group, streams and consumers by name": {
			servers: []Server{
				up("c", says(metaGroup, "c", offline("a"), good("b")), says(Group{Account: "A1", Stream: "Z"}, "c", behind("b"))),
				up("b",
					says(ordersStream, "b", offline("x"), offline("a")), says(auditConsumer, "b", offline("c")),
					says(Group{Account: "A1", Stream: "NOTES"}, "b", offline("c"))),
				up("a", follows(metaGroup, "c"), says(Group{Account: "A1", Stream: "Z", Consumer: "z"}, "b")),
			},
			want: Verdict{
				Reason: v1beta1.ReasonGroupsLeaderless, Message: "1 Raft group has no leader", Down: []string{"b"}, MetaLeader: "c",
				Groups: []Unsettled{
					{Group: "consumer shop/Z/z", Reason: v1beta1.ReasonGroupsLeaderless, Servers: []string{"a"}},
					{Group: "meta", Reason: v1beta1.ReasonMembersOffline, Servers: []string{"a"}},
					{Group: "stream shop/NOTES", Reason: v1beta1.ReasonMembersOffline, Servers: []string{"c"}},
					{Group: "stream shop/ORDERS", Reason: v1beta1.ReasonMembersOffline, Servers: []string{"a", "x"}},
					{Group: "consumer shop/ORDERS/audit", Reason: v1beta1.ReasonMembersOffline, Servers: []string{"c"}},
					{Group: "stream shop/Z", Reason: v1beta1.ReasonGroupsCatchingUp, Servers: []string{"b"}},
				},
			},
		},
		"a sentence speaks of the worst only, each server once": {
			servers: three([]Report{says(ordersStream, "a", behind("b"), behind("c"))}, []Report{
				says(Group{Account: "A1", Stream: "NOTES"}, "b", offline("x"), offline("c")),
				says(auditConsumer, "b", offline("a"), offline("c")),
			}, nil),
			want: Verdict{
				Reason: v1beta1.ReasonMembersOffline, Message: "2 Raft groups have a member offline on a, c, x", MetaLeader: "a",
				Groups: []Unsettled{
					{Group: "stream shop/NOTES", Reason: v1beta1.ReasonMembersOffline, Servers: []string{"c", "x"}},
					{Group: "consumer shop/ORDERS/audit", Reason: v1beta1.ReasonMembersOffline, Servers: []string{"a", "c"}},
					{Group: "stream shop/ORDERS", Reason: v1beta1.ReasonGroupsCatchingUp, Servers: []string{"b", "c"}},
				},
			},
		},
		"JetStream is not up on a server": {
			servers: []Server{up("a", says(metaGroup, "a", behind("b"))), down("b")},
			want: Verdict{
				Reason: v1beta1.ReasonMembersOffline, Message: "JetStream is not up on b", Down: []string{"b"}, MetaLeader: "a",
				Groups: []Unsettled{{Group: "meta", Reason: v1beta1.ReasonGroupsCatchingUp, Servers: []string{"b"}}},
			},
		},
		"a server has not joined a meta group yet": {
			servers: []Server{up("a", says(metaGroup, "a", good("b"))), up("b")},
			want:    Verdict{Reason: v1beta1.ReasonMembersOffline, Message: "JetStream is not up on b", Down: []string{"b"}, MetaLeader: "a"},
		},
		"a group without a leader is worse than that": {
			servers: []Server{up("a", says(metaGroup, "a", good("b")), says(ordersStream, "b")), down("b")},
			want: Verdict{
				Reason: v1beta1.ReasonGroupsLeaderless, Message: "1 Raft group has no leader", Down: []string{"b"}, MetaLeader: "a",
				Groups: []Unsettled{{Group: "stream shop/ORDERS", Reason: v1beta1.ReasonGroupsLeaderless, Servers: []string{"a"}}},
			},
		},
		"JetStream is up on none of several": {
			servers: []Server{down("a"), down("b")},
			want:    Verdict{Reason: v1beta1.ReasonMembersOffline, Message: "JetStream is not up on a, b", Down: []string{"a", "b"}},
		},
		"a standalone server": {
			servers: []Server{up("a", alone(ordersStream, "a"), alone(auditConsumer, ""))},
			want:    Verdict{Settled: true, Reason: v1beta1.ReasonAllGroupsCurrent, Message: "the server answers and its JetStream is up"},
		},
		"a standalone server without JetStream up": {
			servers: []Server{down("a")},
			want:    Verdict{Reason: v1beta1.ReasonMembersOffline, Message: "JetStream is not up on a", Down: []string{"a"}},
		},
		"no JetStream is wanted": {
			servers: []Server{down("a"), down("b")}, noJetStream: true,
			want: Verdict{Settled: true, Reason: v1beta1.ReasonAllGroupsCurrent, Message: "every server answers"},
		},
		"no JetStream is wanted and a server is silent": {
			servers: []Server{down("a"), silent("b")}, noJetStream: true,
			want: Verdict{Reason: v1beta1.ReasonServersSilent, Message: "b does not answer", Silent: []string{"b"}},
		},
		"servers answer that the meta leader does not list": {
			servers: []Server{up("a", follows(metaGroup, "b")), up("b", says(metaGroup, "b", good("d"))), up("c", follows(metaGroup, "b")), up("d", follows(metaGroup, "b"))},
			want: Verdict{
				Settled: true, Reason: v1beta1.ReasonAllGroupsCurrent, Message: whole, MetaLeader: "b", OutsideMeta: []string{"a", "c"},
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			want := tc.want
			want.Known = !tc.notKnown
			want.Servers = map[string]ServerFacts{}
			for _, server := range tc.servers {
				if answer, ok := server.Answer.Get(); ok {
					want.Servers[server.Name] = answer.ServerFacts
				}
			}
			if diff := cmp.Diff(want, Judge(Observation{JetStream: !tc.noJetStream, Servers: tc.servers})); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
}

func TestMessagesAreBounded(t *testing.T) {
	leader := says(metaGroup, "server-0")
	servers := []Server{{}}
	for i := 1; i < 500; i++ {
		name := fmt.Sprintf("server-%d", i)
		leader.Members = append(leader.Members, behind(name))
		servers = append(servers, up(name, follows(metaGroup, "server-0")))
	}
	servers[0] = up("server-0", leader)
	const want = "1 Raft group has a member on server-1, server-2, server-3, server-4, server-5 and 494 more that is not current"
	if got := Judge(Observation{JetStream: true, Servers: servers}).Message; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestJudgeLeavesTheObservationAlone(t *testing.T) {
	members := []Member{offline("x"), good("b")}
	Judge(Observation{JetStream: true, Servers: []Server{up("a", says(metaGroup, "a", members...)), up("b", follows(metaGroup, "a"))}})
	if diff := cmp.Diff([]Member{offline("x"), good("b")}, members); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}
