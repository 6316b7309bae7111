// Package garageimagechange is the story of an image that is nowhere, and of the next minor version.
package garageimagechange

import (
	"context"
	"embed"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-dev/holdfast/api/garage/v1beta2"
	"github.com/holdfast-dev/holdfast/test/stories/lab"
	"github.com/holdfast-dev/holdfast/test/stories/lab/garagelab"
)

//go:embed *.yaml
var files embed.FS

// Tell tells the story.
func Tell(s *garagelab.Story) {
	ctx := s.Context()
	cluster := s.Apply(files, "cluster.yaml", 3*time.Minute)
	before := s.Nodes()
	book := s.Load(cluster)
	downs := s.WatchPods(s.Namespace, client.MatchingLabels{v1beta2.LabelCluster: garagelab.Name}, v1beta2.LabelNode)

	s.Must(book.Mark(ctx, "an image that is nowhere"))
	s.Must(s.Lab.Apply(ctx, s.Namespace, files, "nowhere.yaml"))
	until(s, v1beta2.ConditionStorageRolloutReady, v1beta2.ReasonRollingOut,
		"garage-storage-0 is being replaced; still to come are 2 of 3 nodes; waiting: its new Pod is not ready: container garage, ImagePullBackOff")
	s.Must(book.End(ctx))

	s.Must(book.Mark(ctx, "the next minor version"))
	s.Apply(files, "newer.yaml", 5*time.Minute)
	s.Must(book.End(ctx))
	for name, node := range s.Nodes() {
		if node.Status.NodeID != before[name].Status.NodeID || node.Status.ObservedPodUID == before[name].Status.ObservedPodUID || !strings.Contains(node.Status.Version, "2.4.1") {
			s.Errorf("%s was %+v, and is %+v", name, before[name].Status, node.Status)
		}
	}

	s.Must(s.Lab.Apply(ctx, s.Namespace, files, "cluster.yaml"))
	until(s, v1beta2.ConditionReady, v1beta2.ReasonReconcileFailed, "GarageNode garage-storage-0: spec.image: the node has run Garage 2.4, and dxflrs/garage:v2.3.0 is older")
	s.Apply(files, "newer.yaml", time.Minute)
	seen := downs()
	if seen.MostDown != 1 || seen.Times["garage-storage-0"] != 2 || seen.Times["garage-storage-1"] != 1 || seen.Times["garage-storage-2"] != 1 {
		s.Errorf("at most %d Pods were away at a time, and were replaced how often: %v", seen.MostDown, seen.Times)
	}
	s.CaughtUp()
	s.Conclude(book)
}

// until waits for a condition's reason, and for how its message begins.
func until(s *garagelab.Story, kind, reason, message string) {
	s.Helper()
	s.Must(lab.Until(s.Context(), 2*time.Minute, reason, func(ctx context.Context) (bool, string) {
		cluster, err := s.Garage().Get(ctx, s.Namespace)
		if err != nil {
			return false, err.Error()
		}
		found := meta.FindStatusCondition(cluster.Status.Conditions, kind)
		return found != nil && found.Reason == reason && strings.HasPrefix(found.Message, message), garagelab.Summary(cluster)
	}))
}
