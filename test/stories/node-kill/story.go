// Package nodekill is the story of nodes that lose their power in the middle of a change.
package nodekill

import (
	"embed"
	"slices"
	"time"

	"github.com/holdfast-dev/holdfast/api/nats/cluster/v1beta1"
	"github.com/holdfast-dev/holdfast/test/stories/lab"
)

//go:embed *.yaml
var files embed.FS

// The two changes that the ledger keeps account of.
const (
	waitings    = "the node of a server that waits"
	restartings = "the node of the server that is restarted"
)

// longest is how long a stream may stand still for the loss of one node.
const longest = 15 * time.Second

// Run tells the story.
func Run(s *lab.Story) {
	ctx := s.Context()
	book := s.Load(s.Create(files))
	processes := s.Running()
	elsewhere := s.AwayFromLedger()

	watch := s.WatchRollout(s.Namespace, "demo")
	s.Must(book.Mark(ctx, waitings))
	s.Must(s.Apply(ctx, s.Namespace, files, "more-memory.yaml"))
	first := s.UntilMidStep(time.Minute, func(*v1beta1.RolloutStatus) bool { return true })
	pending := first.Status.Rollout.Pending
	away := pending[slices.IndexFunc(pending, func(server string) bool { return elsewhere[server] != "" })]
	s.Must(s.Cluster.KillNode(ctx, elsewhere[away]))
	s.Held(first, away)
	s.Must(s.Cluster.StartNode(ctx, elsewhere[away]))

	later := s.UntilMidStep(3*time.Minute, func(rollout *v1beta1.RolloutStatus) bool {
		return len(rollout.Updated) > 0 && elsewhere[rollout.Current] != ""
	})
	s.Must(book.End(ctx))
	s.Must(book.Mark(ctx, restartings))
	away = later.Status.Rollout.Current
	s.Must(s.Cluster.KillNode(ctx, elsewhere[away]))
	s.Silent(away)
	s.Must(s.Cluster.StartNode(ctx, elsewhere[away]))
	s.UpToDate(3 * time.Minute)
	seen := watch()
	s.Must(book.End(ctx))

	s.OneByOne(seen)
	s.Restarted(processes, "demo-0", "demo-1", "demo-2")
	report := s.Conclude(book)
	for _, change := range report.Changes {
		if gap := time.Duration(change.Gaps.LongestMillis) * time.Millisecond; change.Name == restartings && gap > longest {
			s.Errorf("a stream stood still for %s, want at most %s", gap, longest)
		}
	}
}
