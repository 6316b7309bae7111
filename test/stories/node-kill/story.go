// Package nodekill is the story of nodes that lose their power in the middle of a change.
package nodekill

import (
	"embed"

	"github.com/holdfast-dev/holdfast/test/stories/lab"
)

//go:embed *.yaml
var files embed.FS

// Run tells the story.
func Run(s *lab.Story) {
	s.LoseNodes(files, lab.Losses{Waiting: s.Cluster.KillNode, Restarting: s.Cluster.KillNode, Back: s.Cluster.StartNode})
}
