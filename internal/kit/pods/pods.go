// Package pods reads what a Pod's status says about whether it runs.
package pods

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// Ready says whether the Pod is. One that is shutting down may still be.
func Ready(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

// Trouble names what a person would look for first in a Pod that is not Ready; empty where nothing stands out. It names a state,
// not times or counts, so that it stays the same for as long as the state does.
func Trouble(pod *corev1.Pod) string {
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodScheduled && condition.Status == corev1.ConditionFalse {
			return fmt.Sprintf("no node for it (%s)", condition.Reason)
		}
	}
	for _, status := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
		if status.State.Waiting == nil {
			continue
		}
		switch reason := status.State.Waiting.Reason; reason {
		case "", "ContainerCreating", "PodInitializing":
		case "ErrImagePull": // the kubelet alternates between this and the back-off
			return fmt.Sprintf("container %s, ImagePullBackOff", status.Name)
		default:
			return fmt.Sprintf("container %s, %s", status.Name, reason)
		}
	}
	return ""
}
