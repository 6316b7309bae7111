// Package atrest has NatsClusters at rest for tests of what the controller costs: with Pods that no process is behind,
// and monitoring ports that only reply.
package atrest

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/holdfast-dev/holdfast/api/nats/cluster/v1beta1"
	"github.com/holdfast-dev/holdfast/internal/nats/monitorapi/monitorfake"
)

// Holds says that a NatsCluster is at rest: there is nothing to do and nothing is wrong.
func Holds(cluster *v1beta1.NatsCluster) bool {
	has := func(kind, reason string) bool {
		found := meta.FindStatusCondition(cluster.Status.Conditions, kind)
		return found != nil && found.Reason == reason
	}
	return has(v1beta1.ConditionProgressing, v1beta1.ReasonUpToDate) && has(v1beta1.ConditionSettled, v1beta1.ReasonAllGroupsCurrent) &&
		has(v1beta1.ConditionReady, v1beta1.ReasonAllServersReady)
}

// Pretend makes the Pods of a NatsCluster, one at each address, and says that they are ready, as a kubelet would. It has
// their monitoring ports answer on the transport, with a stream of three copies and two consumers in each of five accounts.
// An error that is NotFound says that a StatefulSet is not there yet, and nothing was made.
func Pretend(ctx context.Context, c client.Client, on *monitorfake.Transport, cluster *v1beta1.NatsCluster, addresses ...string) error {
	replies := monitorfake.Cluster{}
	sets := make([]appsv1.StatefulSet, len(addresses))
	for i, address := range addresses {
		set := &sets[i]
		if err := c.Get(ctx, client.ObjectKey{Namespace: cluster.Namespace, Name: fmt.Sprintf("%s-%d", cluster.Name, i)}, set); err != nil {
			return err
		}
		replies.Servers = append(replies.Servers, monitorfake.Server{
			Name: set.Name, URL: "http://" + address + ":8222", Version: cluster.Spec.Version,
			ConfigRevision: set.Annotations[v1beta1.AnnotationConfigRevision],
		})
	}
	for i := range 5 {
		replies.Streams = append(replies.Streams, monitorfake.Stream{Account: fmt.Sprintf("A%d", i), Name: "S", Replicas: 3, Consumers: 2})
	}
	if err := on.Serve(replies); err != nil {
		return err
	}
	for i, address := range addresses {
		if err := run(ctx, c, &sets[i], address); err != nil {
			return fmt.Errorf("pretending that %s runs: %w", sets[i].Name, err)
		}
	}
	return nil
}

// run makes a StatefulSet's Pod, ready at that address.
func run(ctx context.Context, c client.Client, set *appsv1.StatefulSet, address string) error {
	const revision = "one"
	pod := &corev1.Pod{ObjectMeta: *set.Spec.Template.ObjectMeta.DeepCopy(), Spec: *set.Spec.Template.Spec.DeepCopy()}
	pod.Name, pod.Namespace = set.Name+"-0", set.Namespace
	pod.Labels[appsv1.ControllerRevisionHashLabelKey] = revision
	pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{Name: "data", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}})
	if err := controllerutil.SetControllerReference(set, pod, c.Scheme()); err != nil {
		return err
	}
	if err := c.Create(ctx, pod); err != nil {
		return err
	}
	pod.Status = corev1.PodStatus{
		Phase: corev1.PodRunning, PodIP: address, PodIPs: []corev1.PodIP{{IP: address}},
		Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.Now()}},
		ContainerStatuses: []corev1.ContainerStatus{{Name: "nats", Ready: true, Started: new(true),
			State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.Now()}}}},
	}
	if err := write(ctx, c, pod); err != nil {
		return err
	}
	var live appsv1.StatefulSet
	if err := c.Get(ctx, client.ObjectKeyFromObject(set), &live); err != nil {
		return err
	}
	live.Status = appsv1.StatefulSetStatus{
		ObservedGeneration: live.Generation, Replicas: 1, ReadyReplicas: 1, AvailableReplicas: 1, UpdatedReplicas: 1, CurrentReplicas: 1,
		CurrentRevision: revision, UpdateRevision: revision,
	}
	return write(ctx, c, &live)
}

// write writes a status over whatever has been written meanwhile.
func write(ctx context.Context, c client.Client, object client.Object) error {
	object.SetResourceVersion("")
	object.SetManagedFields(nil)
	return c.Status().Update(ctx, object)
}
