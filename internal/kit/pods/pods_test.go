package pods_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/holdfast-dev/holdfast/internal/kit/pods"
)

func TestReadyAndTrouble(t *testing.T) {
	waiting := func(name, reason string) corev1.ContainerStatus {
		return corev1.ContainerStatus{Name: name, State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason}}}
	}
	condition := func(kind corev1.PodConditionType, value corev1.ConditionStatus, reason string) []corev1.PodCondition {
		return []corev1.PodCondition{{Type: kind, Status: value, Reason: reason}}
	}
	for name, c := range map[string]struct {
		status  corev1.PodStatus
		ready   bool
		trouble string
	}{
		"nothing said":      {corev1.PodStatus{}, false, ""},
		"ready":             {corev1.PodStatus{Conditions: condition(corev1.PodReady, corev1.ConditionTrue, "")}, true, ""},
		"not ready":         {corev1.PodStatus{Conditions: condition(corev1.PodReady, corev1.ConditionFalse, "")}, false, ""},
		"no node":           {corev1.PodStatus{Conditions: condition(corev1.PodScheduled, corev1.ConditionFalse, "Unschedulable")}, false, "no node for it (Unschedulable)"},
		"has a node":        {corev1.PodStatus{Conditions: condition(corev1.PodScheduled, corev1.ConditionTrue, "")}, false, ""},
		"being made":        {corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{waiting("main", "ContainerCreating")}}, false, ""},
		"no image":          {corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{Name: "side"}, waiting("main", "ErrImagePull")}}, false, "container main, ImagePullBackOff"},
		"it crashes":        {corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{waiting("main", "CrashLoopBackOff")}}, false, "container main, CrashLoopBackOff"},
		"an init container": {corev1.PodStatus{InitContainerStatuses: []corev1.ContainerStatus{waiting("init", "CrashLoopBackOff")}}, false, "container init, CrashLoopBackOff"},
	} {
		t.Run(name, func(t *testing.T) {
			pod := &corev1.Pod{Status: c.status}
			if ready, trouble := pods.Ready(pod), pods.Trouble(pod); ready != c.ready || trouble != c.trouble {
				t.Errorf("ready %v, trouble %q", ready, trouble)
			}
		})
	}
}
