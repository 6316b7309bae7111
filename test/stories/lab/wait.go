package lab

import (
	"context"
	"fmt"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-dev/holdfast/api/nats/cluster/v1beta1"
)

// Until asks every half second until the answer is yes; its error tells what was seen last.
func Until(ctx context.Context, within time.Duration, what string, ask func(context.Context) (done bool, state string)) error {
	ctx, stop := context.WithTimeout(ctx, within)
	defer stop()
	tick := time.NewTicker(500 * time.Millisecond)
	defer tick.Stop()
	state := "nothing"
	for {
		done, seen := ask(ctx)
		if done {
			return nil
		}
		if ctx.Err() == nil { // a question cut short by the bound says nothing
			state = seen
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("waited %s for %s; last seen: %s", within, what, state)
		case <-tick.C:
		}
	}
}

// Get reads a NatsCluster.
func (l *Lab) Get(ctx context.Context, namespace, name string) (*v1beta1.NatsCluster, error) {
	cluster := &v1beta1.NatsCluster{}
	return cluster, l.Client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, cluster)
}

// UpToDate says that the controller has nothing left to do for the present spec, and that the servers are
// whole; otherwise what it does.
func UpToDate(cluster *v1beta1.NatsCluster) (bool, string) {
	progressing := meta.FindStatusCondition(cluster.Status.Conditions, v1beta1.ConditionProgressing)
	if cluster.Status.ObservedGeneration != cluster.Generation || progressing == nil {
		return false, "the present spec has not been looked at"
	}
	ready := meta.FindStatusCondition(cluster.Status.Conditions, v1beta1.ConditionReady)
	done := progressing.Reason == v1beta1.ReasonUpToDate && ready.Reason == v1beta1.ReasonAllServersReady &&
		meta.IsStatusConditionTrue(cluster.Status.Conditions, v1beta1.ConditionSettled)
	return done, Summary(cluster)
}

// Summary is every condition in one line.
func Summary(cluster *v1beta1.NatsCluster) string { return Conditions(cluster.Status.Conditions) }

// Conditions are these in one line.
func Conditions(conditions []metav1.Condition) string {
	var text strings.Builder
	for _, c := range conditions {
		fmt.Fprintf(&text, "%s=%s %s (%s) ", c.Type, c.Status, c.Reason, c.Message)
	}
	return text.String()
}

// UntilCluster waits for a NatsCluster to be as is says.
func (l *Lab) UntilCluster(ctx context.Context, within time.Duration, namespace, name, what string, is func(*v1beta1.NatsCluster) (bool, string)) (*v1beta1.NatsCluster, error) {
	var found *v1beta1.NatsCluster
	return found, Until(ctx, within, fmt.Sprintf("NatsCluster %s to be %s", name, what), func(ctx context.Context) (bool, string) {
		cluster, err := l.Get(ctx, namespace, name)
		if err != nil {
			return false, err.Error()
		}
		found = cluster
		return is(cluster)
	})
}

// HasCondition is an expectation of UntilCluster: a condition with that status and reason, of the present spec.
func HasCondition(kind string, status metav1.ConditionStatus, reason string) func(*v1beta1.NatsCluster) (bool, string) {
	return func(cluster *v1beta1.NatsCluster) (bool, string) {
		c := meta.FindStatusCondition(cluster.Status.Conditions, kind)
		return c != nil && c.ObservedGeneration == cluster.Generation && c.Status == status && c.Reason == reason, Summary(cluster)
	}
}

// Servers are the StatefulSets of a NatsCluster by name.
func (l *Lab) Servers(ctx context.Context, namespace, name string) (map[string]appsv1.StatefulSet, error) {
	var list appsv1.StatefulSetList
	err := l.Client.List(ctx, &list, client.InNamespace(namespace), client.MatchingLabels{v1beta1.LabelCluster: name})
	sets := map[string]appsv1.StatefulSet{}
	for _, set := range list.Items {
		sets[set.Name] = set
	}
	return sets, err
}

// Pods are the Pods of a NatsCluster by name.
func (l *Lab) Pods(ctx context.Context, namespace, name string) (map[string]corev1.Pod, error) {
	return l.PodsWith(ctx, namespace, v1beta1.LabelCluster, name)
}

// PodsWith are the Pods with a label of that value, by name.
func (l *Lab) PodsWith(ctx context.Context, namespace, label, value string) (map[string]corev1.Pod, error) {
	var list corev1.PodList
	err := l.Client.List(ctx, &list, client.InNamespace(namespace), client.MatchingLabels{label: value})
	pods := map[string]corev1.Pod{}
	for _, pod := range list.Items {
		pods[pod.Name] = pod
	}
	return pods, err
}
