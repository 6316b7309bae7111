package kubelet

import (
	"context"
	"encoding/json"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// report writes the Pod's status, unless the object is another one by now.
func (w *worker) report(ctx context.Context) {
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": w.pod.UID}, "status": w.status(),
	})
	if err == nil {
		pod := w.pod.DeepCopy()
		err = w.k.client.Status().Patch(ctx, pod, client.RawPatch(types.MergePatchType, patch))
	}
	if ctx.Err() == nil {
		w.k.complain(w.pod.Name, client.IgnoreNotFound(err))
	}
}

func (w *worker) status() corev1.PodStatus {
	status := corev1.PodStatus{
		Phase: corev1.PodPending, PodIP: w.box.ip, PodIPs: []corev1.PodIP{{IP: w.box.ip}},
		HostIP: nodeAddress, HostIPs: []corev1.HostIP{{IP: nodeAddress}}, StartTime: &w.begun,
		Conditions: []corev1.PodCondition{
			condition(corev1.PodScheduled, true, w.begun), condition(corev1.PodInitialized, true, w.begun),
			condition(corev1.ContainersReady, w.ready, w.since), condition(corev1.PodReady, w.ready, w.since),
		},
	}
	p := w.process()
	if p != nil {
		status.Phase = corev1.PodRunning
	}
	for _, c := range w.pod.Spec.Containers {
		one := corev1.ContainerStatus{Name: c.Name, Image: c.Image, ImageID: c.Image}
		switch {
		case c.Name == w.box.container.Name:
			one.RestartCount, one.Ready, one.Started = w.restarts, w.ready, new(w.started)
			one.State, one.LastTerminationState.Terminated = w.state(p), w.last
		case p != nil:
			one.Ready, one.Started = true, new(true)
			one.State.Running = &corev1.ContainerStateRunning{StartedAt: w.begun}
		default:
			one.State.Waiting = &corev1.ContainerStateWaiting{Reason: "ContainerCreating"}
		}
		status.ContainerStatuses = append(status.ContainerStatuses, one)
	}
	return status
}

func (w *worker) state(p *process) corev1.ContainerState {
	switch {
	case w.waiting != nil:
		return corev1.ContainerState{Waiting: w.waiting}
	case p == nil:
		return corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ContainerCreating"}}
	}
	select {
	case <-p.done:
		return corev1.ContainerState{Terminated: w.last}
	default:
		return corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(p.begun)}}
	}
}

func condition(kind corev1.PodConditionType, holds bool, since metav1.Time) corev1.PodCondition {
	c := corev1.PodCondition{Type: kind, Status: corev1.ConditionFalse, LastTransitionTime: since}
	if holds {
		c.Status = corev1.ConditionTrue
	}
	if !holds && (kind == corev1.PodReady || kind == corev1.ContainersReady) {
		c.Reason = "ContainersNotReady"
	}
	return c
}
