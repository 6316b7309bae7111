// Package facts reads what the API server says of a NatsCluster's servers. Every concern of the cluster
// controller decides on these facts, so there is one reading of them and one meaning of "Ready at its template".
package facts

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-dev/holdfast/api/nats/cluster/v1beta1"
	"github.com/holdfast-dev/holdfast/internal/kit/fact"
)

// Container is the name of the container that runs nats-server.
const Container = "nats"

// A Server is the objects of one server; nil is an object that does not exist.
type Server struct {
	Name        string
	Ordinal     int
	StatefulSet *appsv1.StatefulSet
	ConfigMap   *corev1.ConfigMap
	Pod         *corev1.Pod
	Claim       *corev1.PersistentVolumeClaim
}

// Servers are a NatsCluster's servers by ordinal, lowest first: every server of which at least one object
// exists.
type Servers []Server

// Get is the server of that name; one without objects if it has none.
func (s Servers) Get(name string) Server {
	for _, server := range s {
		if server.Name == name {
			return server
		}
	}
	return Server{Name: name}
}

// Existing are the servers that have a StatefulSet.
func (s Servers) Existing() Servers {
	return slices.DeleteFunc(slices.Clone(s), func(server Server) bool { return server.StatefulSet == nil })
}

// Read lists the servers' objects with four requests, or none at all where reader is a cache. A StatefulSet or
// ConfigMap that the NatsCluster does not control is left out: it is not one of its servers.
func Read(ctx context.Context, reader client.Reader, cluster *v1beta1.NatsCluster) fact.Fact[Servers] {
	var (
		sets       appsv1.StatefulSetList
		configs    corev1.ConfigMapList
		pods       corev1.PodList
		claims     corev1.PersistentVolumeClaimList
		inCluster  = client.MatchingLabels{v1beta1.LabelCluster: cluster.Name}
		byOrdinal  = map[int]*Server{}
		namespaced = client.InNamespace(cluster.Namespace)
	)
	for _, list := range []client.ObjectList{&sets, &configs, &pods, &claims} {
		if err := reader.List(ctx, list, namespaced, inCluster); err != nil {
			return fact.Unknown[Servers](fmt.Sprintf("the API server did not list the servers' objects: %v", err))
		}
	}
	at := func(name, prefix, suffix string) *Server {
		ordinal, ok := ordinalOf(name, prefix+cluster.Name+"-", suffix)
		if !ok {
			return &Server{} // not a server's object: filled in and forgotten
		}
		if byOrdinal[ordinal] == nil {
			byOrdinal[ordinal] = &Server{Name: fmt.Sprintf("%s-%d", cluster.Name, ordinal), Ordinal: ordinal}
		}
		return byOrdinal[ordinal]
	}
	for i := range sets.Items {
		if set := &sets.Items[i]; metav1.IsControlledBy(set, cluster) {
			at(set.Name, "", "").StatefulSet = set
		}
	}
	for i := range configs.Items {
		if config := &configs.Items[i]; metav1.IsControlledBy(config, cluster) {
			at(config.Name, "", "-config").ConfigMap = config
		}
	}
	for i := range pods.Items {
		at(pods.Items[i].Name, "", "-0").Pod = &pods.Items[i]
	}
	for i := range claims.Items {
		at(claims.Items[i].Name, "data-", "-0").Claim = &claims.Items[i]
	}
	servers := make(Servers, 0, len(byOrdinal))
	for _, server := range byOrdinal {
		servers = append(servers, *server)
	}
	slices.SortFunc(servers, func(a, b Server) int { return cmp.Compare(a.Ordinal, b.Ordinal) })
	return fact.Known(servers)
}

// ordinalOf reads the number between prefix and suffix, as the renderer writes it.
func ordinalOf(name, prefix, suffix string) (int, bool) {
	digits, hasPrefix := strings.CutPrefix(name, prefix)
	digits, hasSuffix := strings.CutSuffix(digits, suffix)
	ordinal, err := strconv.Atoi(digits)
	return ordinal, hasPrefix && hasSuffix && err == nil && ordinal >= 0 && strconv.Itoa(ordinal) == digits
}

// Revision is the revision that the server's StatefulSet was written for, empty without one.
func (s Server) Revision() string {
	if s.StatefulSet == nil {
		return ""
	}
	return s.StatefulSet.Spec.Template.Annotations[v1beta1.AnnotationConfigRevision]
}

// NotReady says why the server's Pod is not Ready at the StatefulSet's present template; empty when it is. The
// text names states, not times or counts, so that it stays the same for as long as the state does.
func (s Server) NotReady() string {
	set, pod := s.StatefulSet, s.Pod
	switch {
	case set == nil:
		return s.Name + " does not exist yet"
	case set.Status.ObservedGeneration < set.Generation:
		return "the StatefulSet controller has not taken up the template of " + s.Name
	case pod == nil:
		return fmt.Sprintf("Pod %s-0 does not exist yet", s.Name)
	case pod.DeletionTimestamp != nil:
		return fmt.Sprintf("Pod %s is shutting down", pod.Name)
	case pod.Labels[appsv1.ControllerRevisionHashLabelKey] != set.Status.UpdateRevision:
		return fmt.Sprintf("Pod %s has the template before the last", pod.Name)
	case !podCondition(pod, corev1.PodReady):
		return fmt.Sprintf("Pod %s is not Ready%s", pod.Name, trouble(pod))
	}
	return ""
}

// NeverStarted says that the server's Pod exists and its nats container has not run in it: such a server
// serves nobody, so a new template takes nothing away.
func (s Server) NeverStarted() bool {
	if s.Pod == nil || s.Pod.DeletionTimestamp != nil || s.Pod.Status.Phase != corev1.PodPending {
		return false
	}
	for _, status := range s.Pod.Status.ContainerStatuses {
		if status.Name == Container {
			return status.State.Waiting != nil && status.LastTerminationState.Terminated == nil && status.RestartCount == 0
		}
	}
	return !podCondition(s.Pod, corev1.PodScheduled)
}

func podCondition(pod *corev1.Pod, kind corev1.PodConditionType) bool {
	for _, condition := range pod.Status.Conditions {
		if condition.Type == kind {
			return condition.Status == corev1.ConditionTrue
		}
	}
	return false
}

// trouble names what a person would look for first in a Pod that is not Ready.
func trouble(pod *corev1.Pod) string {
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodScheduled && condition.Status == corev1.ConditionFalse {
			return fmt.Sprintf(": no node for it (%s)", condition.Reason)
		}
	}
	for _, status := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
		if status.State.Waiting == nil {
			continue
		}
		switch reason := status.State.Waiting.Reason; reason {
		case "", "ContainerCreating", "PodInitializing":
		case "ErrImagePull": // the kubelet alternates between this and the back-off
			return fmt.Sprintf(": container %s, ImagePullBackOff", status.Name)
		default:
			return fmt.Sprintf(": container %s, %s", status.Name, reason)
		}
	}
	return ""
}
