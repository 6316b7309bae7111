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
	head row
	rows []row
	// sentence says what is going on and what is waited for.
	sentence string
	// outage says which node was lost, empty where none was.
	outage string
}

// A row is one server, or what stands above all of them.
type row [5]string

func frame(cluster *v1beta1.NatsCluster, told steps, now time.Time) picture {
	p := picture{head: row{"SERVER", "STATE", "VERSION", "REVISION", "TOOK"}, sentence: "waiting for the controller to look at it"}
	if c := meta.FindStatusCondition(cluster.Status.Conditions, v1beta1.ConditionProgressing); c != nil && c.ObservedGeneration == cluster.Generation {
		p.sentence = fmt.Sprintf("%s: %s", c.Reason, c.Message)
	}
	for _, server := range cluster.Status.Servers {
		took := ""
		if i := slices.IndexFunc(told, func(s step) bool { return s.server == server.Name }); i >= 0 {
			took = fmt.Sprintf("%.0f s", told[i].lasted(now).Seconds())
		}
		p.rows = append(p.rows, row{server.Name, stateOf(cluster, server), server.Version, server.ConfigRevision, took})
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
	text.WriteString("\n")
	for _, r := range append([]row{p.head}, p.rows...) {
		fmt.Fprintf(&text, "  %-18s %-22s %-9s %-12s %s\n", r[0], r[1], r[2], r[3], r[4])
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
