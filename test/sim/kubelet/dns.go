package kubelet

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// hosts is an /etc/hosts with the names that the cluster's DNS has for Pods: those behind a headless Service
// that is named as their subdomain, selects them, and publishes them or finds them ready.
func hosts(pods []corev1.Pod, services []corev1.Service) string {
	var b strings.Builder
	b.WriteString("127.0.0.1 localhost\n")
	byName := slices.SortedFunc(slices.Values(pods), func(a, b corev1.Pod) int { return strings.Compare(a.Name, b.Name) })
	for _, pod := range byName {
		if pod.Status.PodIP == "" || pod.Spec.Subdomain == "" || !published(pod, services) {
			continue
		}
		name := pod.Spec.Hostname + "." + pod.Spec.Subdomain
		in := name + "." + pod.Namespace
		fmt.Fprintf(&b, "%s %s %s %s.svc %s.svc.cluster.local\n", pod.Status.PodIP, name, in, in, in)
	}
	return b.String()
}

func published(pod corev1.Pod, services []corev1.Service) bool {
	for _, service := range services {
		if service.Name != pod.Spec.Subdomain || service.Spec.ClusterIP != corev1.ClusterIPNone {
			continue
		}
		selects := len(service.Spec.Selector) > 0 && labels.SelectorFromSet(service.Spec.Selector).Matches(labels.Set(pod.Labels))
		return selects && (service.Spec.PublishNotReadyAddresses || isReady(&pod))
	}
	return false
}

func isReady(pod *corev1.Pod) bool {
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodReady {
			return condition.Status == corev1.ConditionTrue
		}
	}
	return false
}
