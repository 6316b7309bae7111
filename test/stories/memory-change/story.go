// Package memorychange is the story of a rolling restart under load.
package memorychange

import (
	"embed"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-dev/holdfast/api/nats/cluster/v1beta1"
	"github.com/holdfast-dev/holdfast/test/stories/lab"
)

//go:embed *.yaml
var files embed.FS

// Run tells the story.
func Run(s *lab.Story) {
	ctx := s.Context()
	book := s.Load(s.Create(files))
	processes := s.Running()

	s.Must(book.Mark(ctx, "memory-change"))
	watch := s.WatchRollout(s.Namespace, "demo")
	s.Must(s.Apply(ctx, s.Namespace, files, "more-memory.yaml"))
	_, err := s.UntilCluster(ctx, time.Minute, s.Namespace, "demo", "restarting", lab.HasCondition(v1beta1.ConditionProgressing, metav1.ConditionTrue, v1beta1.ReasonRollingRestart))
	s.Must(err)
	after := s.UpToDate(6 * time.Minute)
	seen := watch()
	s.Must(book.End(ctx))

	checkOrder(s, seen)
	checkEnd(s, after.Status)
	s.Restarted(processes, "demo-0", "demo-1", "demo-2")
	s.Conclude(book)
}

// checkOrder wants the highest ordinal first, the meta leader last, and never two servers down.
func checkOrder(s *lab.Story, seen lab.Rollout) {
	s.Helper()
	if len(seen.Servers) != 3 {
		s.Fatalf("the servers were restarted in the order %v", seen.Servers)
	}
	if slices.Index(seen.Servers, "demo-2") > slices.Index(seen.Servers, "demo-0") && seen.FirstLeader != "demo-2" {
		s.Errorf("the servers were restarted in the order %v; demo-2 goes before demo-0 unless it leads the meta group", seen.Servers)
	}
	if last := seen.Servers[2]; last != seen.LastLeader {
		s.Errorf("%s was restarted last, while %s led the meta group", last, seen.LastLeader)
	}
	if seen.MostDown > 1 {
		s.Errorf("%d servers were down at a time", seen.MostDown)
	}
}

func checkEnd(s *lab.Story, status v1beta1.NatsClusterStatus) {
	s.Helper()
	if status.Rollout != nil || status.Config.RestartReason != "the StatefulSet spec is restart-only" {
		s.Errorf("rollout %v, reason %q", status.Rollout, status.Config.RestartReason)
	}
	if got := status.JetStream.Limits.MaxMemoryStore.String(); got != "6Gi" {
		s.Errorf("memory store %s, want 6Gi", got)
	}
	pods, err := s.Pods(s.Context(), s.Namespace, "demo")
	s.Must(err)
	for _, pod := range pods {
		if got := pod.Spec.Containers[0].Resources.Limits.Memory().String(); got != "8Gi" {
			s.Errorf("%s has a memory limit of %s, want 8Gi", pod.Name, got)
		}
	}
}
