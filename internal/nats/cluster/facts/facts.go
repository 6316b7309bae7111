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
	"github.com/holdfast-dev/holdfast/internal/kit/pods"
	"github.com/holdfast-dev/holdfast/internal/kit/words"
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

// Running are the servers that may have a process: those with a StatefulSet, or with a Pod that has lost it.
func (s Servers) Running() Servers {
	return slices.DeleteFunc(slices.Clone(s), func(server Server) bool { return server.StatefulSet == nil && server.Pod == nil })
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

// ReadNamed is Read, completed by the StatefulSets and Pods of those servers that no list shows, since they have lost their
// labels: with two more requests for each server that seems to have neither.
func ReadNamed(ctx context.Context, reader client.Reader, cluster *v1beta1.NatsCluster, names []string) fact.Fact[Servers] {
	listed := Read(ctx, reader, cluster)
	servers, known := listed.Get()
	if !known {
		return listed
	}
	for _, name := range names {
		server := servers.Get(name)
		if server.StatefulSet != nil || server.Pod != nil {
			continue
		}
		if err := server.readNamed(ctx, reader, cluster); err != nil {
			return fact.Unknown[Servers](fmt.Sprintf("the API server did not give the objects of %s: %v", name, err))
		}
		if server.StatefulSet != nil || server.Pod != nil {
			servers = append(slices.DeleteFunc(servers, func(s Server) bool { return s.Name == name }), server)
		}
	}
	slices.SortFunc(servers, func(a, b Server) int { return cmp.Compare(a.Ordinal, b.Ordinal) })
	return fact.Known(servers)
}

// readNamed reads the server's StatefulSet and Pod by their names.
func (s *Server) readNamed(ctx context.Context, reader client.Reader, cluster *v1beta1.NatsCluster) error {
	s.Ordinal, _ = ordinalOf(s.Name, cluster.Name+"-", "")
	set, pod := &appsv1.StatefulSet{}, &corev1.Pod{}
	switch err := reader.Get(ctx, client.ObjectKey{Namespace: cluster.Namespace, Name: s.Name}, set); {
	case client.IgnoreNotFound(err) != nil:
		return err
	case err == nil && metav1.IsControlledBy(set, cluster):
		s.StatefulSet = set
	}
	switch err := reader.Get(ctx, client.ObjectKey{Namespace: cluster.Namespace, Name: s.Name + "-0"}, pod); {
	case client.IgnoreNotFound(err) != nil:
		return err
	case err == nil:
		s.Pod = pod
	}
	return nil
}

// ordinalOf reads the number between prefix and suffix, as the renderer writes it.
func ordinalOf(name, prefix, suffix string) (int, bool) {
	digits, hasPrefix := strings.CutPrefix(name, prefix)
	digits, hasSuffix := strings.CutSuffix(digits, suffix)
	ordinal, err := strconv.Atoi(digits)
	return ordinal, hasPrefix && hasSuffix && err == nil && ordinal >= 0 && strconv.Itoa(ordinal) == digits
}

// TemplateRevision is the revision that the server's Pod template was written for, empty without one. A reload brings a
// newer one to the process and leaves this as it is.
func (s Server) TemplateRevision() string {
	if s.StatefulSet == nil {
		return ""
	}
	return s.StatefulSet.Spec.Template.Annotations[v1beta1.AnnotationConfigRevision]
}

// ImageTag is the tag of the image that the server's StatefulSet runs, which is nats-server's version; empty without one.
func (s Server) ImageTag() string {
	if s.StatefulSet == nil {
		return ""
	}
	return ImageTag(s.StatefulSet)
}

// ImageTag is the tag of the image that a StatefulSet of a server runs.
func ImageTag(set *appsv1.StatefulSet) string {
	for _, container := range set.Spec.Template.Spec.Containers {
		if container.Name == Container {
			image, _, _ := strings.Cut(container.Image, "@")
			return image[strings.LastIndex(image, ":")+1:]
		}
	}
	return ""
}

// NotReady says why the server's Pod is not Ready at the StatefulSet's present template; empty when it is. The
// text names states, not times or counts, so that it stays the same for as long as the state does.
func (s Server) NotReady() string {
	set, pod := s.StatefulSet, s.Pod
	switch {
	case set == nil && pod == nil:
		return s.Name + " does not exist yet"
	case set == nil:
		return s.NotServing()
	case set.Status.ObservedGeneration < set.Generation:
		return "the StatefulSet controller has not taken up the template of " + s.Name
	case pod != nil && pod.DeletionTimestamp == nil && !metav1.IsControlledBy(pod, set):
		return fmt.Sprintf("Pod %s is not of the StatefulSet that is there now", pod.Name)
	case pod != nil && pod.DeletionTimestamp == nil && pod.Labels[appsv1.ControllerRevisionHashLabelKey] != set.Status.UpdateRevision:
		return fmt.Sprintf("Pod %s has the template before the last", pod.Name)
	}
	return s.NotServing()
}

// NotServing says why the server's Pod is not Ready, at whatever template; empty when it is.
func (s Server) NotServing() string {
	switch pod := s.Pod; {
	case pod == nil:
		return fmt.Sprintf("Pod %s-0 does not exist yet", s.Name)
	case pod.DeletionTimestamp != nil:
		return fmt.Sprintf("Pod %s is shutting down", pod.Name)
	case !pods.Ready(pod):
		return words.Because(fmt.Sprintf("Pod %s is not Ready", pod.Name), pods.Trouble(pod))
	}
	return ""
}

// Orphaned says that the server's Pod runs without its StatefulSet, at another revision than that one: a new
// StatefulSet would adopt the Pod and restart it.
func (s Server) Orphaned(revision string) bool {
	return s.StatefulSet == nil && s.Pod != nil && s.Pod.DeletionTimestamp == nil &&
		s.Pod.Annotations[v1beta1.AnnotationConfigRevision] != revision
}

// Stopped says that no nats-server runs in the server's Pod, if there is one: a new template takes nothing away.
func (s Server) Stopped() bool {
	status := s.container()
	return s.Pod == nil || status == nil || status.State.Running == nil
}

// Stuck says that the server does not run and cannot come up with what it has: the kubelet or the scheduler has said so, the
// StatefulSet has been scaled to nothing, or the Pod waits for a ConfigMap that is gone, which no kubelet gives a reason for.
func (s Server) Stuck() bool {
	if !s.Stopped() || s.Pod != nil && s.Pod.DeletionTimestamp != nil {
		return false
	}
	if set := s.StatefulSet; set != nil && set.Spec.Replicas != nil && *set.Spec.Replicas == 0 {
		return true
	}
	if s.Pod != nil && (s.ConfigMap == nil || slices.ContainsFunc(s.Pod.Status.Conditions, noNode)) {
		return true
	}
	status := s.container()
	return status != nil && status.State.Waiting != nil && slices.Contains(hopeless, status.State.Waiting.Reason)
}

func noNode(c corev1.PodCondition) bool {
	return c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse && c.Reason == corev1.PodReasonUnschedulable
}

// hopeless are the reasons for which a kubelet does not start a container until something is changed.
var hopeless = []string{
	"CrashLoopBackOff", "ImagePullBackOff", "ErrImagePull", "InvalidImageName", "ErrImageNeverPull", "CreateContainerConfigError",
	"CreateContainerError", "RunContainerError",
}

// container is the state of the container that runs nats-server; nil while the Pod has none.
func (s Server) container() *corev1.ContainerStatus {
	if s.Pod == nil {
		return nil
	}
	for i := range s.Pod.Status.ContainerStatuses {
		if s.Pod.Status.ContainerStatuses[i].Name == Container {
			return &s.Pod.Status.ContainerStatuses[i]
		}
	}
	return nil
}
