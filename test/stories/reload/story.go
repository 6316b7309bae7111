// Package reload is the story of changes that running servers take over, under load, and of one that they do not.
package reload

import (
	"context"
	"embed"
	"fmt"
	"maps"
	"slices"
	"time"

	eventsv1 "k8s.io/api/events/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-dev/holdfast/api/nats/cluster/v1beta1"
	"github.com/holdfast-dev/holdfast/test/stories/lab"
)

//go:embed *.yaml
var files embed.FS

// Run tells the story.
func Run(s *lab.Story) {
	ctx := s.Context()
	trust := s.Trust()
	cluster := s.Create(files)
	trust.Admit(3)
	book := s.Load(cluster)
	processes := s.Running()

	s.Must(book.Mark(ctx, "reload"))
	s.Must(s.Apply(ctx, s.Namespace, files, "raised.yaml"))
	told(s)
	checkReloaded(s, change(s, "four.yaml"))
	s.Restarted(processes)
	s.Must(book.End(ctx))

	processes = s.Running()
	s.Must(book.Mark(ctx, "restart"))
	watch := s.WatchRollout(s.Namespace, "demo")
	after := change(s, "lowered.yaml")
	seen := watch()
	s.Must(book.End(ctx))
	if config := after.Status.Config; config.AppliedBy != v1beta1.ApplyRestart || config.RestartReason != "jetstream.max_file_store is restart-only" {
		s.Errorf("%+v", config)
	}
	if seen.MostDown > 1 || len(seen.Servers) != 4 {
		s.Errorf("the servers were restarted in the order %v, %d at a time", seen.Servers, seen.MostDown)
	}
	s.Restarted(processes, slices.Collect(maps.Keys(processes))...)

	s.Conclude(book)
}

// change applies the manifest and waits until the NatsCluster is up to date with it. A kubelet may take two minutes to bring
// a configuration that is to be reloaded.
func change(s *lab.Story, manifest string) *v1beta1.NatsCluster {
	s.Helper()
	s.Must(s.Apply(s.Context(), s.Namespace, files, manifest))
	return s.UpToDate(8 * time.Minute)
}

// checkReloaded wants four servers to run the spec's revision, tags and limits, with routes to each other, and the status to
// say that a reload brought them.
func checkReloaded(s *lab.Story, cluster *v1beta1.NatsCluster) {
	s.Helper()
	config := cluster.Status.Config
	if config.AppliedBy != v1beta1.ApplyReload || config.RestartReason != "" || cluster.Status.Rollout != nil {
		s.Errorf("%+v, rollout %+v", config, cluster.Status.Rollout)
	}
	if len(cluster.Status.Servers) != 4 {
		s.Errorf("servers %+v", cluster.Status.Servers)
	}
	running := s.Meshed(4)
	for _, server := range cluster.Status.Servers {
		process := running[server.Name]
		if limits := process.JetStream.Config; server.ConfigRevision != config.Revision || process.Metadata["config_revision"] != config.Revision ||
			!slices.Equal(process.Tags, []string{"disk:fast"}) || limits.MaxMemoryStore != 2<<30 || limits.MaxFileStore != 15<<30 {
			s.Errorf("%s: revision %s in the status, want %s; the process says %+v", server.Name, server.ConfigRevision, config.Revision, process)
		}
	}
}

// told waits for the event that says that servers are to reload.
func told(s *lab.Story) {
	s.Helper()
	s.Must(lab.Until(s.Context(), time.Minute, "an event of the reload", func(ctx context.Context) (bool, string) {
		var list eventsv1.EventList
		err := s.Client.List(ctx, &list, client.InNamespace(s.Namespace))
		return slices.ContainsFunc(list.Items, func(event eventsv1.Event) bool {
			return event.Regarding.Kind == v1beta1.KindNatsCluster && event.Reason == v1beta1.ReasonReloadPending
		}), fmt.Sprintf("%d others, %v", len(list.Items), err)
	}))
}
