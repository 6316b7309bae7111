package peers

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast/internal/garage/adminapi"
	"github.com/holdfast-dev/holdfast/internal/kit/fact"
)

func id(c string) adminapi.NodeID { return adminapi.NodeID(strings.Repeat(c, 64)) }

func sees(up ...string) fact.Fact[adminapi.ClusterStatus] {
	var status adminapi.ClusterStatus
	for _, c := range up {
		status.Nodes = append(status.Nodes, adminapi.NodeStatus{ID: id(c), Up: true})
	}
	return fact.Known(status)
}

func node(c string, up ...string) Node {
	return Node{Name: c, ID: id(c), Address: "10.0.0." + c + ":3901", Sees: sees(up...)}
}

func at(c string) string { return string(id(c)) + "@10.0.0." + c + ":3901" }

func TestDecide(t *testing.T) {
	for name, c := range map[string]struct {
		world World
		want  []Order
	}{
		"all see each other": {world: World{Nodes: []Node{node("1", "1", "2"), node("2", "1", "2")}}},
		"nobody sees anybody": {
			world: World{Nodes: []Node{node("1", "1"), node("2"), node("3", "3")}},
			want:  []Order{{"1", []string{at("2"), at("3")}}, {"2", []string{at("1"), at("3")}}, {"3", []string{at("1"), at("2")}}},
		},
		"one side sees the other": {
			world: World{Nodes: []Node{node("1", "1", "2"), node("2", "2")}},
			want:  []Order{{"2", []string{at("1")}}},
		},
		"one that is down is told of again": {
			world: World{Nodes: []Node{
				{Name: "1", ID: id("1"), Address: "10.0.0.1:3901", Sees: fact.Known(adminapi.ClusterStatus{Nodes: []adminapi.NodeStatus{{ID: id("2")}}})},
				node("2", "1", "2"),
			}},
			want: []Order{{"1", []string{at("2")}}},
		},
		"one that says nothing is told nothing": {
			world: World{Nodes: []Node{{Name: "1", ID: id("1"), Address: "10.0.0.1:3901"}, node("2", "2")}},
			want:  []Order{{"2", []string{at("1")}}},
		},
		"one that is held is told nothing, and nobody of it": {
			world: World{Nodes: []Node{{Name: "1", ID: id("1"), Sees: sees("1")}, node("2", "2")}},
		},
		"further peers": {
			world: World{Nodes: []Node{node("1", "1", "8")}, Static: []string{at("8"), at("9")}},
			want:  []Order{{"1", []string{at("9")}}},
		},
		"further peers in capitals": {
			world: World{Nodes: []Node{{Name: "1", ID: id("1"), Address: "h:1", Sees: sees("a")}}, Static: []string{strings.Repeat("A", 64) + "@h:2"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, Decide(c.world)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

type told struct {
	answers []adminapi.Connection
	err     error
}

func (t told) ConnectClusterNodes(context.Context, ...string) ([]adminapi.Connection, error) {
	return t.answers, t.err
}

func TestActTellsEverybody(t *testing.T) {
	members := map[string]told{
		"1": {answers: []adminapi.Connection{{Connected: true}, {Problem: "refused"}}},
		"2": {err: errors.New("no answer")},
		"3": {answers: []adminapi.Connection{{Connected: true}}},
	}
	asked := ""
	err := Act(t.Context(), func(node string) (API, error) {
		asked += node
		if api, ok := members[node]; ok {
			return api, nil
		}
		return nil, errors.New("no address")
	}, []Order{{"0", nil}, {"1", []string{"a", "b"}}, {"2", []string{"a"}}, {"3", []string{"a"}}})
	if asked != "0123" || err == nil || err.Error() != "no address\n1 does not connect to b: refused\nno answer" {
		t.Errorf("asked %s, %v", asked, err)
	}
}
