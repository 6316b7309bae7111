// Package controllerloss is the story of controllers that are lost in the middle of a change.
package controllerloss

import (
	"embed"
	"slices"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-dev/holdfast/api/nats/cluster/v1beta1"
	"github.com/holdfast-dev/holdfast/test/stories/lab"
)

//go:embed *.yaml
var files embed.FS

// takeover is the ten seconds of the Lease, the two until the next try, and what a busy machine takes.
const takeover = 30 * time.Second

// Run tells the story.
func Run(s *lab.Story) {
	ctx := s.Context()
	cluster := s.Create(files)
	leader, err := s.Leader(ctx)
	s.Must(err)
	node := leader.Spec.NodeName
	book := s.LoadAwayFrom(node, cluster)
	processes := s.Running()
	watch := s.WatchRollout(s.Namespace, "demo")

	s.Must(book.Mark(ctx, "controller-loss"))
	s.Must(s.Apply(ctx, s.Namespace, files, "more-memory.yaml"))
	first := s.UntilMidStep(time.Minute, func(*v1beta1.RolloutStatus) bool { return true })
	s.Must(s.Cluster.KillNode(ctx, node))
	s.Followed(leader, takeover)
	if away := serverOn(s, node); slices.Contains(first.Status.Rollout.Pending, away) {
		s.Held(first, away)
	} else {
		s.Silent(away)
		s.GoesOn(book)
	}
	s.Must(s.Cluster.StartNode(ctx, node))

	s.UntilMidStep(3*time.Minute, func(rollout *v1beta1.RolloutStatus) bool { return len(rollout.Updated) > 0 })
	leader, err = s.Leader(ctx)
	s.Must(err)
	s.Must(s.Client.Delete(ctx, leader, client.GracePeriodSeconds(0)))
	s.Followed(leader, takeover)
	s.UpToDate(3 * time.Minute)
	seen := watch()
	s.Must(book.End(ctx))

	s.OneByOne(seen)
	s.Restarted(processes, "demo-0", "demo-1", "demo-2")
	s.Conclude(book)
}

// serverOn is the server whose Pod is on that node.
func serverOn(s *lab.Story, node string) string {
	s.Helper()
	pods, err := s.Pods(s.Context(), s.Namespace, "demo")
	s.Must(err)
	for _, pod := range pods {
		if pod.Spec.NodeName == node {
			return pod.Labels[v1beta1.LabelServer]
		}
	}
	s.Fatalf("no server on %s", node)
	return ""
}
