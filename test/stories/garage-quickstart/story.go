// Package garagequickstart is Garage's first story: a store from one manifest, and one node more.
package garagequickstart

import (
	"embed"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/holdfast-dev/holdfast/api/garage/v1beta1"
	"github.com/holdfast-dev/holdfast/api/garage/v1beta2"
	"github.com/holdfast-dev/holdfast/test/stories/lab"
	"github.com/holdfast-dev/holdfast/test/stories/lab/garagelab"
)

//go:embed *.yaml
var files embed.FS

// Tell tells the story.
func Tell(s *garagelab.Story) {
	ctx := s.Context()
	begun := time.Now()
	cluster := s.Apply(files, "cluster.yaml", 3*time.Minute)
	s.Logf("ready %.0f s after apply", time.Since(begun).Seconds())
	three := s.Nodes()
	_, err := s.Helm(ctx, "test", s.System.Release, "--namespace", lab.Namespace, "--timeout", "1m")
	s.Must(err)
	checkStatus(s, cluster, 1, "garage-storage-0", "garage-storage-1", "garage-storage-2")
	book := s.Load(cluster)

	s.Must(book.Mark(ctx, "a fourth node"))
	cluster = s.Apply(files, "four.yaml", 5*time.Minute)
	s.Must(book.End(ctx))
	checkStatus(s, cluster, 2, "garage-storage-0", "garage-storage-1", "garage-storage-2", "garage-storage-3")
	stayed(s, three)

	s.Conclude(book)
	s.AtRest()
}

func checkStatus(s *garagelab.Story, cluster *v1beta2.GarageCluster, version int64, names ...string) {
	s.Helper()
	if got, want := cluster.Status.Endpoints.S3, fmt.Sprintf("http://garage.%s.svc:3900", s.Namespace); got != want {
		s.Errorf("S3 is at %s, want %s", got, want)
	}
	if got := *cluster.Status.LayoutVersion; got != version {
		s.Errorf("the layout is at version %d, want %d", got, version)
	}
	nodes := s.Nodes()
	if got := slices.Sorted(maps.Keys(nodes)); !slices.Equal(got, names) {
		s.Errorf("nodes %v, want %v", got, names)
	}
	for name, node := range nodes {
		if status := node.Status; status.NodeID == "" || status.InLayout == nil || !*status.InLayout {
			s.Errorf("%s: %+v", name, status)
		}
	}
}

// stayed checks that the nodes that were there are who they were, in the Pods that they had.
func stayed(s *garagelab.Story, before map[string]v1beta1.GarageNode) {
	s.Helper()
	pods, err := s.PodsWith(s.Context(), s.Namespace, v1beta2.LabelCluster, garagelab.Name)
	s.Must(err)
	now := s.Nodes()
	for name, was := range before {
		if is := now[name].Status; is.NodeID != was.Status.NodeID || is.ObservedPodUID != was.Status.ObservedPodUID {
			s.Errorf("%s was %s in Pod %s, and is %s in %s", name, was.Status.NodeID, was.Status.ObservedPodUID, is.NodeID, is.ObservedPodUID)
		}
		if restarts := pods[name+"-0"].Status.ContainerStatuses[0].RestartCount; restarts != 0 {
			s.Errorf("%s was started again %d times", name, restarts)
		}
	}
}
