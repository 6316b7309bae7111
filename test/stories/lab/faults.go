package lab

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-dev/holdfast/api/nats/cluster/v1beta1"
	"github.com/holdfast-dev/holdfast/test/ledger"
)

// Elsewhere are the servers of a NatsCluster that share their node with no Pod of that app, and their nodes: who keeps account
// of a fault has to stay out of it.
func (l *Lab) Elsewhere(ctx context.Context, namespace, name, app string) (map[string]string, error) {
	var keepers corev1.PodList
	if err := l.Client.List(ctx, &keepers, client.InNamespace(namespace), client.MatchingLabels{"app.kubernetes.io/name": app}); err != nil {
		return nil, err
	}
	pods, err := l.Pods(ctx, namespace, name)
	found := map[string]string{}
	for _, pod := range pods {
		if !slices.ContainsFunc(keepers.Items, func(keeper corev1.Pod) bool { return keeper.Spec.NodeName == pod.Spec.NodeName }) {
			found[pod.Labels[v1beta1.LabelServer]] = pod.Spec.NodeName
		}
	}
	if err == nil && len(found) == 0 {
		err = fmt.Errorf("every server shares the node of %s", app)
	}
	return found, err
}

// MidStep says whether the step of a server is under way in which its Pod is shutting down, or else what there is.
func (l *Lab) MidStep(ctx context.Context, cluster *v1beta1.NatsCluster) (bool, string) {
	rollout := cluster.Status.Rollout
	if rollout == nil || rollout.Current == "" {
		return false, Summary(cluster)
	}
	pods, err := l.Pods(ctx, cluster.Namespace, cluster.Name)
	pod, exists := pods[rollout.Current+"-0"]
	return exists && pod.DeletionTimestamp != nil, fmt.Sprintf("%s has begun, %v", rollout.Current, err)
}

// AwayFromLedger are the servers, and their nodes, that a fault may take.
func (s *Story) AwayFromLedger() map[string]string {
	s.Helper()
	elsewhere, err := s.Elsewhere(s.Context(), s.Namespace, "demo", "ledger")
	s.Must(err)
	return elsewhere
}

// UntilMidStep waits until a step is under way that is such a one.
func (s *Story) UntilMidStep(within time.Duration, of func(*v1beta1.RolloutStatus) bool) *v1beta1.NatsCluster {
	s.Helper()
	cluster, err := s.UntilCluster(s.Context(), within, s.Namespace, "demo", "in the middle of a step", func(cluster *v1beta1.NatsCluster) (bool, string) {
		under, state := s.MidStep(s.Context(), cluster)
		return under && of(cluster.Status.Rollout), state
	})
	s.Must(err)
	return cluster
}

// Silent waits until a person is told that the server does not answer.
func (s *Story) Silent(server string) {
	s.Helper()
	_, err := s.UntilCluster(s.Context(), time.Minute, s.Namespace, "demo", "without "+server, func(cluster *v1beta1.NatsCluster) (bool, string) {
		c := meta.FindStatusCondition(cluster.Status.Conditions, v1beta1.ConditionSettled)
		return c.Status == metav1.ConditionFalse && c.Reason == v1beta1.ReasonServersSilent && c.Message == server+" does not answer", Summary(cluster)
	})
	s.Must(err)
}

// Held waits until the server of the step that was under way runs the target and is ready, while another is away, and a person
// is told that the next step waits, and for whom. before is the NatsCluster as it was when that one went away.
func (s *Story) Held(before *v1beta1.NatsCluster, away string) {
	s.Helper()
	was := before.Status.Rollout
	held, err := s.UntilCluster(s.Context(), 2*time.Minute, s.Namespace, "demo", "held by "+away, func(cluster *v1beta1.NatsCluster) (bool, string) {
		if cluster.Status.Rollout == nil || len(cluster.Status.Rollout.Pending) == 0 {
			return false, Summary(cluster)
		}
		c := meta.FindStatusCondition(cluster.Status.Conditions, v1beta1.ConditionProgressing)
		// Which server is next may change meanwhile, since the one that leads the meta group goes last.
		sentence := fmt.Sprintf("before restarting %s (%d of %d); waiting for Settled: %s does not answer; no other server is touched until then",
			cluster.Status.Rollout.Pending[0], len(was.Updated)+2, len(before.Status.Servers), away)
		return c.Reason == v1beta1.ReasonRollingRestart && strings.HasPrefix(c.Message, sentence), Summary(cluster)
	})
	s.Must(err)
	now := held.Status.Rollout
	stands := now.Current == was.Current && slices.Equal(slices.Sorted(slices.Values(now.Pending)), slices.Sorted(slices.Values(was.Pending)))
	if !stands || now.Gate == nil || now.Gate.WaitingFor != v1beta1.GateSettled {
		s.Errorf("while %s was away the rollout went from %+v to %+v", away, was, now)
	}
	for _, server := range held.Status.Servers {
		if server.Name == was.Current && (!*server.Ready || server.ConfigRevision != was.TargetRevision) {
			s.Errorf("held for %s, and %s is not back: %+v", away, was.Current, server)
		}
	}
}

// OneByOne checks a rollout of three servers in which there were faults: each was replaced once, none while another was, and no
// step began before all was settled.
func (s *Story) OneByOne(seen Rollout) {
	s.Helper()
	if len(seen.Servers) != 3 || len(seen.Hasty) > 0 {
		s.Errorf("steps of %v, those of %v before all was settled", seen.Servers, seen.Hasty)
	}
	if want := map[string]int{"demo-0": 1, "demo-1": 1, "demo-2": 1}; !maps.Equal(seen.Times, want) || seen.Most != 1 {
		s.Errorf("replaced how often: %v; %d at a time", seen.Times, seen.Most)
	}
}

// NodeReady says that Kubernetes takes a node for ready.
func NodeReady(node *corev1.Node) bool {
	return slices.ContainsFunc(node.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
	})
}

// GoesOn waits until every stream of the ledger has two seconds' worth of messages acknowledged that were published from now on.
func (s *Story) GoesOn(book *ledger.Client) {
	s.Helper()
	before, err := book.Report(s.Context())
	s.Must(err)
	s.Must(Until(s.Context(), time.Minute, "every stream to go on", func(ctx context.Context) (bool, string) {
		now, err := book.Report(ctx)
		if err != nil {
			return false, err.Error()
		}
		for i, stream := range now.Whole.Streams {
			if more := stream.Acknowledged - before.Whole.Streams[i].Acknowledged; more < 100 {
				return false, fmt.Sprintf("%s had %d acknowledged since", stream.Stream, more)
			}
		}
		return true, ""
	}))
}
