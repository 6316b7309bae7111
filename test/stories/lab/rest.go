package lab

import (
	"maps"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-dev/holdfast/api/nats/cluster/v1beta1"
)

// AtRest checks that a settled NatsCluster is left alone: over fifteen seconds no object of it is written.
func (s *Story) AtRest(cluster *v1beta1.NatsCluster) {
	s.Helper()
	before := s.Versions(cluster)
	if len(before) < 10 {
		s.Fatalf("only %d objects to look at", len(before))
	}
	over := time.After(15 * time.Second)
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-over:
			return
		case <-tick.C:
		}
		if after := s.Versions(cluster); !maps.Equal(before, after) {
			s.Fatalf("written while nothing was to be done: %v, then %v", before, after)
		}
	}
}

// Versions are the resourceVersions of everything that the controller writes.
func (s *Story) Versions(cluster *v1beta1.NatsCluster) map[string]string {
	found := map[string]string{}
	for kind, list := range map[string]client.ObjectList{
		"StatefulSet": &appsv1.StatefulSetList{}, "ConfigMap": &corev1.ConfigMapList{}, "Service": &corev1.ServiceList{}, "Secret": &corev1.SecretList{},
		"PodDisruptionBudget": &policyv1.PodDisruptionBudgetList{}, "NetworkPolicy": &networkingv1.NetworkPolicyList{}, "NatsCluster": &v1beta1.NatsClusterList{},
	} {
		s.Must(s.Client.List(s.Context(), list, client.InNamespace(cluster.Namespace)))
		s.Must(eachItem(list, func(object client.Object) { found[kind+" "+object.GetName()] = object.GetResourceVersion() }))
	}
	return found
}

func eachItem(list client.ObjectList, do func(client.Object)) error {
	return meta.EachListItem(list, func(item runtime.Object) error {
		if object, ok := item.(client.Object); ok {
			do(object)
		}
		return nil
	})
}
