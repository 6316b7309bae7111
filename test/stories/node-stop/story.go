// Package nodestop is the story of a node that is shut down and started again.
package nodestop

import (
	"embed"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
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
	elsewhere := s.AwayFromLedger()
	server := slices.Min(slices.Collect(maps.Keys(elsewhere)))
	node := elsewhere[server]

	s.Must(book.Mark(ctx, "node-stop"))
	s.Must(s.Cluster.StopNode(ctx, node))
	away, err := s.UntilCluster(ctx, 3*time.Minute, s.Namespace, "demo", "unsettled", lab.HasCondition(v1beta1.ConditionSettled, metav1.ConditionFalse, v1beta1.ReasonServersSilent))
	s.Must(err)
	if message := meta.FindStatusCondition(away.Status.Conditions, v1beta1.ConditionSettled).Message; !strings.Contains(message, server) {
		s.Errorf("the message does not name %s: %s", server, message)
	}
	_, err = s.UntilCluster(ctx, 3*time.Minute, s.Namespace, "demo", "without one server", lab.HasCondition(v1beta1.ConditionReady, metav1.ConditionTrue, v1beta1.ReasonQuorumAvailable))
	s.Must(err)

	s.Must(s.Cluster.StartNode(ctx, node))
	s.UpToDate(5 * time.Minute)
	s.Must(book.End(ctx))
	s.Restarted(processes, server)
	s.Conclude(book)
}
