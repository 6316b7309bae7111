package lab

import (
	"context"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-dev/holdfast/api/nats/cluster/v1beta1"
)

// Rollout is what was seen of a rollout from outside.
type Rollout struct {
	// Servers are the servers in the order in which their steps began.
	Servers []string
	// Hasty are those among them whose step began while the NATS cluster was not settled.
	Hasty []string
	// FirstLeader and LastLeader led the meta group when the first and the last step began.
	FirstLeader, LastLeader string
	Downs
}

// Downs is what was seen of Pods that went and came.
type Downs struct {
	// MostDown is the largest number of Pods that were not ready at a time, for whatever reason.
	MostDown int
	Replaced
}

// WatchRollout watches a NatsCluster and its Pods until the returned function is called. It must be up to date
// when the watch begins.
func (s *Story) WatchRollout(namespace, name string) func() Rollout {
	ctx, stop := context.WithCancel(s.Context())
	clusters, err := s.Client.Watch(ctx, &v1beta1.NatsClusterList{}, client.InNamespace(namespace))
	s.Must(err)
	var (
		seen Rollout
		done sync.WaitGroup
	)
	done.Go(func() {
		for event := range clusters.ResultChan() {
			if cluster, ok := event.Object.(*v1beta1.NatsCluster); ok && cluster.Name == name {
				seen.step(cluster)
			}
		}
	})
	downs := s.WatchPods(namespace, client.MatchingLabels{v1beta1.LabelCluster: name}, v1beta1.LabelServer)
	return func() Rollout {
		stop()
		done.Wait()
		seen.Downs = downs()
		return seen
	}
}

// WatchPods watches the Pods with these labels until the returned function is called; of is the label with the name of whose Pod
// one is.
func (s *Story) WatchPods(namespace string, labels client.MatchingLabels, of string) func() Downs {
	ctx, stop := context.WithCancel(s.Context())
	pods, err := s.Client.Watch(ctx, &corev1.PodList{}, client.InNamespace(namespace), labels)
	s.Must(err)
	var (
		seen Downs
		done sync.WaitGroup
	)
	done.Go(func() {
		down := map[string]bool{}
		for event := range pods.ResultChan() {
			pod, ok := event.Object.(*corev1.Pod)
			if !ok {
				continue
			}
			seen.see(pod, pod.Labels[of])
			down[pod.Name] = event.Type == watch.Deleted || !ready(pod)
			count := 0
			for _, isDown := range down {
				if isDown {
					count++
				}
			}
			seen.MostDown = max(seen.MostDown, count)
		}
	})
	return func() Downs {
		stop()
		done.Wait()
		return seen
	}
}

func (r *Rollout) step(cluster *v1beta1.NatsCluster) {
	rollout := cluster.Status.Rollout
	last := len(r.Servers) - 1
	if rollout == nil || rollout.Current == "" || last >= 0 && r.Servers[last] == rollout.Current {
		return
	}
	if !meta.IsStatusConditionTrue(cluster.Status.Conditions, v1beta1.ConditionSettled) {
		r.Hasty = append(r.Hasty, rollout.Current)
	}
	leader := ""
	if cluster.Status.JetStream != nil {
		leader = cluster.Status.JetStream.MetaLeader
	}
	if len(r.Servers) == 0 {
		r.FirstLeader = leader
	}
	r.Servers, r.LastLeader = append(r.Servers, rollout.Current), leader
}

func ready(pod *corev1.Pod) bool {
	if pod.DeletionTimestamp != nil {
		return false
	}
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}
