package natscluster

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/holdfast-dev/holdfast/api/nats/cluster/v1beta1"
	"github.com/holdfast-dev/holdfast/internal/nats/monitorapi"
	"github.com/holdfast-dev/holdfast/internal/nats/monitorapi/monitorfake"
)

const (
	resting  = 50              // NatsClusters
	restTime = 2 * time.Minute // in which nothing is written
)

// TestFiftyAtRest counts what fifty NatsClusters at rest cost the API server. Their servers are replies of their
// monitoring ports alone: with a stream of three copies and two consumers in each of five accounts.
func TestFiftyAtRest(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	servers := &monitorfake.Transport{}
	count := &requests{}
	count.begin()
	l.startController(controllerOptions{
		monitor:   &monitorapi.Client{HTTP: &http.Client{Transport: servers}},
		transport: func(next http.RoundTripper) http.RoundTripper { count.next = next; return count },
	})
	name := func(i int) string { return fmt.Sprintf("n%02d", i) }
	for i := range resting {
		l.create(withJetStream(name(i), 3))
	}
	for i := range resting {
		l.pretend(servers, name(i), i)
	}
	for i := range resting {
		l.untilAtRest(name(i))
	}

	writes := l.watchWrites(everything()...)
	count.begin()
	asked := servers.Requests()
	<-time.After(restTime)
	by, verbs := count.end()
	if found := writes(); len(found) > 0 {
		t.Errorf("written at rest: %v", found)
	}
	for what, n := range by {
		t.Logf("%s: %v a minute", what, float64(n)/restTime.Minutes())
	}
	t.Logf("requests to nats-servers a minute: %v", float64(servers.Requests()-asked)/restTime.Minutes())
	for _, verb := range []string{http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete} {
		if n := verbs[verb]; n > 0 {
			t.Errorf("%d requests %s at rest: %v", n, verb, by)
		}
	}
	// Each NatsCluster is looked at once a minute, and its two Secrets are read then.
	if n, most := verbs[http.MethodGet], 2*resting*(int(restTime.Minutes())+1); n < 2*resting || n > most {
		t.Errorf("%d reads, expected at most %d: %v", n, most, by)
	}
	if n := servers.Requests() - asked; n < 2*3*resting {
		t.Errorf("%d requests to nats-servers: the NatsClusters were not looked at", n)
	}
}

// pretend makes the Pods of a NatsCluster and says that they are ready, as a kubelet would, and has their monitoring
// ports answer.
func (l *lab) pretend(transport *monitorfake.Transport, name string, number int) {
	l.Helper()
	cluster := monitorfake.Cluster{}
	var revision string
	for i := range 3 {
		set := &appsv1.StatefulSet{}
		l.Eventually(func() error { return l.client.Get(l.Context(), key(l, fmt.Sprintf("%s-%d", name, i)), set) }).Should(gomega.Succeed())
		address := fmt.Sprintf("10.1.%d.%d", number, i+1)
		l.pod(set, address)
		revision = set.Annotations[v1beta1.AnnotationConfigRevision]
		cluster.Servers = append(cluster.Servers, monitorfake.Server{Name: set.Name, URL: "http://" + address + ":8222", Version: version, ConfigRevision: revision})
	}
	for i := range 5 {
		cluster.Streams = append(cluster.Streams, monitorfake.Stream{Account: fmt.Sprintf("A%d", i), Name: "S", Replicas: 3, Consumers: 2})
	}
	if err := transport.Serve(cluster); err != nil {
		l.Fatal(err)
	}
}

// pod makes a StatefulSet's Pod, ready at that address.
func (l *lab) pod(set *appsv1.StatefulSet, address string) {
	l.Helper()
	pod := &corev1.Pod{ObjectMeta: *set.Spec.Template.ObjectMeta.DeepCopy(), Spec: *set.Spec.Template.Spec.DeepCopy()}
	pod.Name, pod.Namespace = set.Name+"-0", set.Namespace
	pod.Labels[appsv1.ControllerRevisionHashLabelKey] = "one"
	pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{Name: "data", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}})
	if err := controllerutil.SetControllerReference(set, pod, l.env.Scheme); err != nil {
		l.Fatal(err)
	}
	if err := l.client.Create(l.Context(), pod); err != nil {
		l.Fatal(err)
	}
	pod.Status = corev1.PodStatus{
		Phase: corev1.PodRunning, PodIP: address, PodIPs: []corev1.PodIP{{IP: address}},
		Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.Now()}},
		ContainerStatuses: []corev1.ContainerStatus{{Name: "nats", Ready: true, Started: new(true),
			State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.Now()}}}},
	}
	l.write(pod)
	live := get(l, set.Name, &appsv1.StatefulSet{})
	live.Status = appsv1.StatefulSetStatus{
		ObservedGeneration: live.Generation, Replicas: 1, ReadyReplicas: 1, AvailableReplicas: 1, UpdatedReplicas: 1, CurrentReplicas: 1,
		CurrentRevision: "one", UpdateRevision: "one",
	}
	l.write(live)
}

// write writes a status over whatever has been written meanwhile.
func (l *lab) write(object client.Object) {
	l.Helper()
	object.SetResourceVersion("")
	object.SetManagedFields(nil)
	if err := l.client.Status().Update(l.Context(), object); err != nil {
		l.Fatal(err)
	}
}

// requests counts what is sent to the API server.
type requests struct {
	next  http.RoundTripper
	mu    sync.Mutex
	by    map[string]int // what they ask for
	verbs map[string]int // their methods, without watches
}

func (r *requests) RoundTrip(request *http.Request) (*http.Response, error) {
	what := request.Method
	if request.URL.Query().Get("watch") != "" {
		what = "WATCH"
	}
	r.mu.Lock()
	r.verbs[what]++
	r.by[what+" "+kindIn(request.URL.Path)]++
	r.mu.Unlock()
	return r.next.RoundTrip(request)
}

// kindIn is the resource that a path of the API names.
func kindIn(path string) string {
	parts := strings.Split(path, "/")
	if i := slices.Index(parts, "namespaces"); i >= 0 && i+2 < len(parts) {
		return parts[i+2]
	}
	return path
}

// begin forgets what was counted.
func (r *requests) begin() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.by, r.verbs = map[string]int{}, map[string]int{}
}

// end gives what was counted.
func (r *requests) end() (by, verbs map[string]int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.by), maps.Clone(r.verbs)
}
