package natscluster

import (
	"context"
	"fmt"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-dev/holdfast/api/nats/cluster/v1beta1"
)

// written lists every kind that is written to carry out a spec.
func written() []client.ObjectList {
	return []client.ObjectList{
		&appsv1.StatefulSetList{}, &corev1.ConfigMapList{}, &corev1.SecretList{}, &corev1.ServiceList{},
		&policyv1.PodDisruptionBudgetList{}, &networkingv1.NetworkPolicyList{}, &corev1.PodList{},
		&corev1.PersistentVolumeClaimList{},
	}
}

// everything lists every kind in which something could be written.
func everything() []client.ObjectList {
	return append(written(), &v1beta1.NatsClusterList{}, &eventsv1.EventList{}, &coordinationv1.LeaseList{})
}

// watchWrites begins to collect every write in the lab's namespace; the returned function ends that and gives them.
func (l *lab) watchWrites(kinds ...client.ObjectList) (writes func() []string) {
	l.Helper()
	var (
		mu    sync.Mutex
		found []string
		done  sync.WaitGroup
	)
	ctx, cancel := context.WithCancel(l.Context())
	for _, list := range kinds {
		if err := l.client.List(ctx, list, client.InNamespace(l.namespace)); err != nil {
			l.Fatal(err)
		}
		from := &client.ListOptions{Namespace: l.namespace}
		from.Raw = rawFrom(list.GetResourceVersion())
		stream, err := l.client.Watch(ctx, list, from)
		if err != nil {
			l.Fatal(err)
		}
		done.Go(func() {
			for event := range stream.ResultChan() {
				if event.Type == watch.Bookmark {
					continue
				}
				what := fmt.Sprintf("%s %T", event.Type, event.Object)
				if object, ok := event.Object.(client.Object); ok {
					what += " " + object.GetName() + " by " + lastWriter(object)
				} else if ctx.Err() == nil {
					what += fmt.Sprintf(": %v", event.Object) // the watch itself failed
				} else {
					continue
				}
				mu.Lock()
				found = append(found, what)
				mu.Unlock()
			}
		})
	}
	return func() []string {
		cancel()
		done.Wait()
		return found
	}
}

// lastWriter is who wrote the newest of the object's fields.
func lastWriter(object client.Object) string {
	var who string
	var when time.Time
	for _, entry := range object.GetManagedFields() {
		if entry.Time != nil && !entry.Time.Time.Before(when) {
			who, when = entry.Manager+"/"+entry.Subresource, entry.Time.Time
		}
	}
	return who
}

func rawFrom(resourceVersion string) *metav1.ListOptions {
	return &metav1.ListOptions{ResourceVersion: resourceVersion}
}
