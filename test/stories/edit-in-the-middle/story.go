// Package editinthemiddle is the story of a person who thinks better of a change while it is under way.
package editinthemiddle

import (
	"embed"
	"maps"
	"time"

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
	watch := s.WatchRollout(s.Namespace, "demo")

	s.Must(book.Mark(ctx, "edit-in-the-middle"))
	s.Must(s.Apply(ctx, s.Namespace, files, "more-memory.yaml"))
	second := s.UntilMidStep(2*time.Minute, func(rollout *v1beta1.RolloutStatus) bool { return len(rollout.Updated) > 0 }).Status.Rollout
	s.Must(s.Apply(ctx, s.Namespace, files, "less-memory.yaml"))
	turned, err := s.UntilCluster(ctx, time.Minute, s.Namespace, "demo", "on the way to the new spec", func(cluster *v1beta1.NatsCluster) (bool, string) {
		rollout := cluster.Status.Rollout
		return rollout != nil && rollout.TargetRevision != second.TargetRevision, lab.Summary(cluster)
	})
	s.Must(err)
	if got := turned.Status.Rollout; got.Current != second.Current || len(got.Updated) > 0 || len(got.Pending) != 2 {
		s.Errorf("the rollout turned from %+v to %+v", second, got)
	}
	s.UpToDate(4 * time.Minute)
	seen := watch()
	s.Must(book.End(ctx))

	checkSteps(s, seen, second)
	checkMemory(s)
	s.Restarted(processes, "demo-0", "demo-1", "demo-2")
	s.Conclude(book)
}

// checkSteps wants the first server replaced twice, since it ran the revision that nobody wants any more, and the others once.
func checkSteps(s *lab.Story, seen lab.Rollout, second *v1beta1.RolloutStatus) {
	s.Helper()
	want := map[string]int{"demo-0": 1, "demo-1": 1, "demo-2": 1}
	want[second.Updated[0]]++
	if !maps.Equal(seen.Times, want) || seen.Most != 1 || seen.MostDown != 1 {
		s.Errorf("replaced how often: %v, want %v; %d at a time, %d down at a time", seen.Times, want, seen.Most, seen.MostDown)
	}
	if len(seen.Servers) != 4 || len(seen.Hasty) > 0 {
		s.Errorf("steps of %v, those of %v before all was settled", seen.Servers, seen.Hasty)
	}
}

func checkMemory(s *lab.Story) {
	s.Helper()
	pods, err := s.Pods(s.Context(), s.Namespace, "demo")
	s.Must(err)
	for _, pod := range pods {
		if got := pod.Spec.Containers[0].Resources.Limits.Memory().String(); got != "6Gi" {
			s.Errorf("%s has a memory limit of %s, want 6Gi", pod.Name, got)
		}
	}
}
