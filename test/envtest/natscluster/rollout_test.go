package natscluster

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/onsi/gomega"
	eventsv1 "k8s.io/api/events/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-dev/holdfast/api/nats/cluster/v1beta1"
)

// TestMemoryChange restarts three servers with a stream on them, one at a time.
func TestMemoryChange(t *testing.T) {
	t.Parallel()
	l := start(t)
	l.create(withJetStream("demo", 3))
	l.untilAtRest("demo")
	l.untilMeshed("demo-0", "demo-1", "demo-2")
	fill(t, l.clientURL("demo-0", "demo-1", "demo-2"), 3)
	l.untilAtRest("demo")
	before, from := l.processes(), l.mark()

	l.change("demo", moreMemory)
	cluster := l.untilAtRest("demo")

	l.oneAtATime(from)
	l.allNew(before)
	order := l.chosen(cluster.Generation)
	if diff := cmp.Diff(order, l.stops(from)); diff != "" || len(order) != 3 {
		t.Errorf("the journal and the servers differ:\n%s", diff)
	}
	if got := cluster.Status.Config.RestartReason; got != "the StatefulSet spec is restart-only" {
		t.Errorf("restartReason %q", got)
	}
	if cluster.Status.Rollout != nil || cluster.Status.JetStream.Limits.MaxMemoryStore.String() != "6Gi" {
		t.Errorf("%+v", cluster.Status)
	}
	l.Eventually(func() []string { return l.steps("demo") }).Should(gomega.ConsistOf(
		"Restart of demo-0", "Restart of demo-1", "Restart of demo-2"))
	kept(t, l.clientURL("demo-0"))
}

// steps are the notes of the events that tell of a rollout's steps.
func (l *lab) steps(name string) []string {
	l.Helper()
	var list eventsv1.EventList
	if err := l.client.List(l.Context(), &list, client.InNamespace(l.namespace)); err != nil {
		l.Fatal(err)
	}
	var notes []string
	for _, event := range list.Items {
		if event.Reason == "RolloutStep" && event.Regarding.Kind == v1beta1.KindNatsCluster && event.Regarding.Name == name {
			notes = append(notes, event.Note)
		}
	}
	slices.Sort(notes)
	return notes
}
