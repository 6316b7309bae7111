// Package versionchange is the story of another nats-server version under load, which a person first tries on one server.
package versionchange

import (
	"context"
	"embed"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

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

	s.Must(book.Mark(ctx, "version-change"))
	s.Must(s.Apply(ctx, s.Namespace, files, "next-paused.yaml"))
	paused, err := s.UntilCluster(ctx, time.Minute, s.Namespace, "demo", "paused", lab.HasCondition(v1beta1.ConditionProgressing, metav1.ConditionTrue, v1beta1.ReasonRolloutPaused))
	s.Must(err)
	if paused.Status.Version != "2.15.2" || len(paused.Status.Rollout.Pending) != 3 {
		s.Errorf("version %s, rollout %+v", paused.Status.Version, paused.Status.Rollout)
	}
	force(s, paused, "demo-1")
	s.Restarted(processes, "demo-1")
	tried := s.Running()

	watch := s.WatchRollout(s.Namespace, "demo")
	s.Must(s.Apply(ctx, s.Namespace, files, "next.yaml"))
	_, err = s.UntilCluster(ctx, time.Minute, s.Namespace, "demo", "restarting", lab.HasCondition(v1beta1.ConditionProgressing, metav1.ConditionTrue, v1beta1.ReasonRollingRestart))
	s.Must(err)
	after := s.UpToDate(6 * time.Minute)
	seen := watch()
	s.Must(book.End(ctx))

	if seen.MostDown > 1 {
		s.Errorf("%d servers were down at a time", seen.MostDown)
	}
	if got := after.Status; got.Version != "2.15.3" || got.Config.RestartReason != "version 2.15.2 -> 2.15.3 is restart-only" {
		s.Errorf("version %s, reason %q", got.Version, got.Config.RestartReason)
	}
	s.Restarted(tried, "demo-0", "demo-2")
	s.Conclude(book)
}

// force orders the restart of one server, and waits until it has come back and the pause holds again.
func force(s *lab.Story, cluster *v1beta1.NatsCluster, server string) {
	s.Helper()
	before := cluster.DeepCopy()
	metav1.SetMetaDataAnnotation(&cluster.ObjectMeta, v1beta1.AnnotationForceStep, server)
	s.Must(s.Client.Patch(s.Context(), cluster, client.MergeFrom(before)))
	s.Must(lab.Until(s.Context(), 4*time.Minute, server+" to run the next version while the others wait", func(ctx context.Context) (bool, string) {
		now, err := s.Get(ctx, s.Namespace, "demo")
		if err != nil {
			return false, err.Error()
		}
		_, ordered := now.Annotations[v1beta1.AnnotationForceStep]
		versions, ready := map[string]string{}, true
		for _, entry := range now.Status.Servers {
			versions[entry.Name] = entry.Version
			ready = ready && *entry.Ready
		}
		done := !ordered && ready && versions[server] == "2.15.3" && now.Status.Rollout != nil && len(now.Status.Rollout.Pending) == 2
		return done, lab.Summary(now)
	}))
}
