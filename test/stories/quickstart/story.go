// Package quickstart is the first story: a NATS cluster from one manifest.
package quickstart

import (
	"embed"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/holdfast-dev/holdfast/api/nats/cluster/v1beta1"
	"github.com/holdfast-dev/holdfast/test/stories/lab"
)

//go:embed *.yaml
var files embed.FS

// Run tells the story.
func Run(s *lab.Story) {
	cluster := s.Create(files)

	checkStatus(s, cluster.Status)
	checkPods(s)
	s.Conclude(s.Load(cluster))
	s.AtRest()
}

func checkStatus(s *lab.Story, status v1beta1.NatsClusterStatus) {
	s.Helper()
	if status.Version != "2.15.3" || *status.Replicas != 3 || *status.ReadyReplicas != 3 {
		s.Errorf("version %s, %d replicas, %d ready", status.Version, *status.Replicas, *status.ReadyReplicas)
	}
	if got, want := status.Endpoints.Client, fmt.Sprintf("nats://demo.%s.svc:4222", s.Namespace); got != want {
		s.Errorf("client endpoint %s, want %s", got, want)
	}
	if got := status.JetStream.Limits; got.MaxMemoryStore.String() != "3Gi" || got.MaxFileStore.String() != "19Gi" {
		s.Errorf("limits %s and %s, want 3Gi and 19Gi", got.MaxMemoryStore, got.MaxFileStore)
	}
	for _, server := range status.Servers {
		if server.ConfigRevision != status.Config.Revision || !*server.Ready {
			s.Errorf("%s reports revision %s, ready %v; want %s", server.Name, server.ConfigRevision, *server.Ready, status.Config.Revision)
		}
	}
}

func checkPods(s *lab.Story) {
	s.Helper()
	pods, err := s.Pods(s.Context(), s.Namespace, "demo")
	s.Must(err)
	if names := slices.Sorted(maps.Keys(pods)); !slices.Equal(names, []string{"demo-0-0", "demo-1-0", "demo-2-0"}) {
		s.Errorf("pods %v", names)
	}
	for _, pod := range pods {
		if ready := slices.DeleteFunc(pod.Status.ContainerStatuses, func(c corev1.ContainerStatus) bool { return !c.Ready }); len(ready) != 2 {
			s.Errorf("%s has %d ready containers, want 2", pod.Name, len(ready))
		}
	}
}
