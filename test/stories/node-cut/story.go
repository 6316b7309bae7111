// Package nodecut is the story of nodes that are cut off from the network in the middle of a change.
package nodecut

import (
	"context"
	"embed"

	"github.com/holdfast-dev/holdfast/test/cluster"
	"github.com/holdfast-dev/holdfast/test/stories/lab"
)

//go:embed *.yaml
var files embed.FS

// Run tells the story.
func Run(s *lab.Story) {
	cut := func(direction cluster.Direction) func(context.Context, string) error {
		return func(ctx context.Context, node string) error { return s.Cluster.CutNode(ctx, node, direction) }
	}
	s.LoseNodes(files, lab.Losses{Waiting: cut(cluster.CutIn), Restarting: cut(cluster.CutBoth), Back: s.Cluster.JoinNode})
}
