package lab

import (
	"context"
	"io/fs"
	"slices"
	"time"

	"github.com/holdfast-dev/holdfast/api/nats/cluster/v1beta1"
)

// Losses are how two nodes are lost in the middle of one rolling restart, and how each comes back.
type Losses struct {
	// Waiting takes, in the first step, the node of a server that waits for its turn.
	Waiting func(ctx context.Context, node string) error
	// Restarting takes, in a later step, the node of the very server that is being restarted.
	Restarting func(ctx context.Context, node string) error
	Back       func(ctx context.Context, node string) error
}

// LoseNodes changes the NatsCluster of cluster.yaml to that of more-memory.yaml under load, and takes the nodes. The ledger
// keeps account of each loss as a change of its own.
func (s *Story) LoseNodes(files fs.FS, losses Losses) {
	s.Helper()
	ctx := s.Context()
	book := s.Load(s.Create(files))
	processes := s.Running()
	mayGo := s.AwayFromLedger()
	watch := s.WatchRollout(s.Namespace, "demo")

	s.Must(book.Mark(ctx, "the node of a server that waits"))
	s.Must(s.Apply(ctx, s.Namespace, files, "more-memory.yaml"))
	first := s.UntilMidStep(time.Minute, func(*v1beta1.RolloutStatus) bool { return true })
	pending := first.Status.Rollout.Pending
	away := pending[slices.IndexFunc(pending, func(server string) bool { return mayGo[server] != "" })]
	s.Must(losses.Waiting(ctx, mayGo[away]))
	s.Held(first, away)
	s.Must(losses.Back(ctx, mayGo[away]))

	later := s.UntilMidStep(3*time.Minute, func(rollout *v1beta1.RolloutStatus) bool {
		return len(rollout.Updated) > 0 && mayGo[rollout.Current] != ""
	})
	s.Must(book.End(ctx))
	s.Must(book.Mark(ctx, "the node of the server that is restarted"))
	away = later.Status.Rollout.Current
	s.Must(losses.Restarting(ctx, mayGo[away]))
	s.Silent(away)
	s.GoesOn(book)
	s.Must(losses.Back(ctx, mayGo[away]))
	s.UpToDate(3 * time.Minute)
	seen := watch()
	s.Must(book.End(ctx))

	s.OneByOne(seen)
	s.Restarted(processes, "demo-0", "demo-1", "demo-2")
	// In the first of the two a second server is away, and nothing can be acknowledged until one of them is back.
	s.Conclude(book)
}
