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
)

// AtRest checks that what is settled is left alone: until it has been looked at once more no object of it is written.
func (s *Story) AtRest() {
	s.Helper()
	before := s.Versions()
	if len(before) < 10 {
		s.Fatalf("only %d objects to look at", len(before))
	}
	over := time.After(s.System.look)
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-over:
			return
		case <-tick.C:
		}
		if after := s.Versions(); !maps.Equal(before, after) {
			s.Fatalf("written while nothing was to be done: %v, then %v", before, after)
		}
	}
}

// Versions are the resourceVersions of everything that the controller writes.
func (s *Story) Versions() map[string]string {
	found := map[string]string{}
	lists := s.System.lists()
	maps.Copy(lists, map[string]client.ObjectList{
		"StatefulSet": &appsv1.StatefulSetList{}, "ConfigMap": &corev1.ConfigMapList{}, "Service": &corev1.ServiceList{}, "Secret": &corev1.SecretList{},
		"PodDisruptionBudget": &policyv1.PodDisruptionBudgetList{}, "NetworkPolicy": &networkingv1.NetworkPolicyList{},
	})
	for kind, list := range lists {
		s.Must(s.Client.List(s.Context(), list, client.InNamespace(s.Namespace)))
		s.Must(eachItem(list, func(object client.Object) { found[kind+" "+object.GetName()] = s.System.version(object) }))
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
