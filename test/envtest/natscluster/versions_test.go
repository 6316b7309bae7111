package natscluster

import (
	"context"
	"slices"
	"sync"
	"unicode/utf8"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/holdfast-dev/holdfast/api/nats/cluster/v1beta1"
)

// versions holds every version that the lab's NatsClusters have had, in order.
type versions struct {
	mu   sync.Mutex
	seen []*v1beta1.NatsCluster
}

// of are the versions of one NatsCluster so far.
func (v *versions) of(name string) []*v1beta1.NatsCluster {
	v.mu.Lock()
	defer v.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(v.seen), func(c *v1beta1.NatsCluster) bool { return c.Name != name })
}

// record watches the NatsClusters. When the test ends, every status that was ever written is held against the
// API's conventions, and the last one has to speak of the last spec.
func (l *lab) record() *versions {
	l.Helper()
	v := &versions{}
	ctx, cancel := context.WithCancel(context.Background())
	stream, err := l.client.Watch(ctx, &v1beta1.NatsClusterList{}, client.InNamespace(l.namespace))
	if err != nil {
		l.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for event := range stream.ResultChan() {
			if cluster, ok := event.Object.(*v1beta1.NatsCluster); ok && event.Type != watch.Deleted {
				v.mu.Lock()
				v.seen = append(v.seen, cluster)
				v.mu.Unlock()
			}
		}
	}()
	l.Cleanup(func() {
		cancel()
		<-ended
		for _, cluster := range v.seen {
			if cluster.Status.ObservedGeneration != 0 {
				l.conforms(cluster)
			}
		}
		if panics := l.panics(); panics > 0 {
			l.Errorf("the controller panicked %v times", panics)
		}
	})
	return v
}

// statuses are the reasons of each condition and the status that goes with them.
var statuses = map[string]map[string]metav1.ConditionStatus{
	v1beta1.ConditionReady: {
		v1beta1.ReasonAllServersReady: metav1.ConditionTrue, v1beta1.ReasonQuorumAvailable: metav1.ConditionTrue,
		v1beta1.ReasonQuorumUnavailable: metav1.ConditionFalse, v1beta1.ReasonReconcileFailed: metav1.ConditionFalse,
		v1beta1.ReasonObservationFailed: metav1.ConditionUnknown,
	},
	v1beta1.ConditionSettled: {
		v1beta1.ReasonObservationFailed: metav1.ConditionUnknown, v1beta1.ReasonServersSilent: metav1.ConditionFalse,
		v1beta1.ReasonGroupsLeaderless: metav1.ConditionFalse, v1beta1.ReasonMembersOffline: metav1.ConditionFalse,
		v1beta1.ReasonGroupsCatchingUp: metav1.ConditionFalse, v1beta1.ReasonAllGroupsCurrent: metav1.ConditionTrue,
	},
	v1beta1.ConditionProgressing: {
		v1beta1.ReasonReconcileFailed: metav1.ConditionFalse, v1beta1.ReasonUnsupportedSpec: metav1.ConditionFalse,
		v1beta1.ReasonScaleDownBlocked: metav1.ConditionFalse, v1beta1.ReasonReplacementBlocked: metav1.ConditionFalse,
		v1beta1.ReasonUpToDate: metav1.ConditionFalse, v1beta1.ReasonCreating: metav1.ConditionTrue,
		v1beta1.ReasonClaimTerminating: metav1.ConditionTrue, v1beta1.ReasonRollingRestart: metav1.ConditionTrue,
		v1beta1.ReasonScalingDown: metav1.ConditionTrue, v1beta1.ReasonClientCertificateNotReady: metav1.ConditionTrue,
		v1beta1.ReasonRouteCertificateNotReady: metav1.ConditionTrue, v1beta1.ReasonObservationFailed: metav1.ConditionUnknown,
		v1beta1.ReasonNoGrant: metav1.ConditionFalse, v1beta1.ReasonTrustNotFound: metav1.ConditionFalse,
		v1beta1.ReasonTrustNotReady: metav1.ConditionFalse, v1beta1.ReasonTrustInvalid: metav1.ConditionFalse,
		v1beta1.ReasonReloadPending: metav1.ConditionTrue,
	},
}

// conforms holds one status against what the API promises of every status.
func (l *lab) conforms(cluster *v1beta1.NatsCluster) {
	status := cluster.Status
	if status.ObservedGeneration > cluster.Generation {
		l.Errorf("%s: observedGeneration %d of generation %d", cluster.Name, status.ObservedGeneration, cluster.Generation)
	}
	for kind, reasons := range statuses {
		c := condition(cluster, kind)
		if c.ObservedGeneration != status.ObservedGeneration || c.LastTransitionTime.IsZero() ||
			reasons[c.Reason] == "" || reasons[c.Reason] != c.Status || c.Message == "" || utf8.RuneCountInString(c.Message) > 1024 {
			l.Errorf("%s at generation %d: %+v", cluster.Name, status.ObservedGeneration, c)
		}
	}
	wanted := len(statuses)
	if deleting := condition(cluster, v1beta1.ConditionDeleting); deleting.Reason != "" {
		wanted++
		l.conformsDeleting(cluster, deleting)
	}
	if len(status.Conditions) != wanted {
		l.Errorf("%s: %d conditions: %s", cluster.Name, len(status.Conditions), conditionsOf(cluster))
	}
}

// conformsDeleting holds the condition Deleting against what the API promises of it.
func (l *lab) conformsDeleting(cluster *v1beta1.NatsCluster, deleting metav1.Condition) {
	reasons := []string{v1beta1.ReasonJetStreamDataRemains, v1beta1.ReasonObservationFailed}
	if deleting.Status != metav1.ConditionTrue || cluster.DeletionTimestamp == nil || deleting.Message == "" || !slices.Contains(reasons, deleting.Reason) {
		l.Errorf("%s at generation %d: %+v", cluster.Name, cluster.Status.ObservedGeneration, deleting)
	}
}

// panics is how often a controller of this process has panicked: the manager recovers, as it is shipped.
func (l *lab) panics() float64 {
	families, err := ctrlmetrics.Registry.Gather()
	if err != nil {
		l.Fatal(err)
	}
	total := 0.0
	for _, family := range families {
		if family.GetName() == "controller_runtime_reconcile_panics_total" {
			for _, metric := range family.GetMetric() {
				total += metric.GetCounter().GetValue()
			}
		}
	}
	return total
}
