package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/holdfast-dev/holdfast/api/nats/cluster/v1beta1"
)

// A picture is what the screen shows at a time.
type picture struct {
	rows []row
	// sentence says what is going on and what is waited for.
	sentence string
	// outage says which node was lost, empty where none was.
	outage string
}

// A row is one server.
type row struct{ server, state, version, revision, took string }

func frame(cluster *v1beta1.NatsCluster, told steps, now time.Time) picture {
	p := picture{sentence: "waiting for the controller to look at it"}
	if c := meta.FindStatusCondition(cluster.Status.Conditions, v1beta1.ConditionProgressing); c != nil && c.ObservedGeneration == cluster.Generation {
		p.sentence = fmt.Sprintf("%s: %s", c.Reason, c.Message)
	}
	for _, server := range cluster.Status.Servers {
		r := row{server: server.Name, version: server.Version, revision: server.ConfigRevision, state: stateOf(cluster, server)}
		if i := slices.IndexFunc(told, func(s step) bool { return s.server == server.Name }); i >= 0 {
			r.took = fmt.Sprintf("%.0f s", told[i].lasted(now).Seconds())
		}
		p.rows = append(p.rows, r)
	}
	return p
}

func stateOf(cluster *v1beta1.NatsCluster, server v1beta1.ServerStatus) string {
	rollout := cluster.Status.Rollout
	isReady := server.Ready != nil && *server.Ready
	switch {
	case rollout != nil && rollout.Current == server.Name && isReady:
		return "back, proving itself"
	case rollout != nil && rollout.Current == server.Name:
		return "restarting"
	case !isReady:
		return "not ready"
	case rollout != nil && slices.Contains(rollout.Pending, server.Name):
		return "waiting for its turn"
	case rollout != nil:
		return "done"
	}
	return "ready"
}

// String lays the picture out; every line is there from the start, so that nothing jumps.
func (p picture) String() string {
	var text strings.Builder
	fmt.Fprintf(&text, "\n  %-10s %-22s %-9s %-12s %s\n", "SERVER", "STATE", "VERSION", "REVISION", "TOOK")
	for _, r := range p.rows {
		fmt.Fprintf(&text, "  %-10s %-22s %-9s %-12s %s\n", r.server, r.state, r.version, r.revision, r.took)
	}
	fmt.Fprintf(&text, "\n  %s\n  %s\n", p.sentence, p.outage)
	return text.String()
}

// about is the sentence without the details of what is waited for.
func (p picture) about() string {
	before, wait, _ := strings.Cut(p.sentence, "waiting for ")
	gate, _, _ := strings.Cut(wait, ":")
	return before + gate
}

// lasted is how long the step took, so far where it is not over.
func (s step) lasted(now time.Time) time.Duration {
	if s.end.IsZero() {
		return now.Sub(s.begin)
	}
	return s.end.Sub(s.begin)
}
