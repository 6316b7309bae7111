package natsmodel

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-dev/holdfast/api/nats/cluster/v1beta1"
	natsv1beta1 "github.com/holdfast-dev/holdfast/api/nats/nats/v1beta1"
	"github.com/holdfast-dev/holdfast/test/sim/apimodel"
)

const (
	// Namespace is that of the one NatsCluster.
	Namespace = "default"
	// Name is its name.
	Name = "demo"
)

// Versions of nats-server.
const (
	// Good runs.
	Good = "2.15.3"
	// Other runs too.
	Other = "2.15.2"
	// Crashing ends at once.
	Crashing = "2.15.98"
	// Absent has no image.
	Absent = "2.15.97"
)

// World is everything that the controller acts on, and the truth about it.
type World struct {
	// API is the API server.
	API *apimodel.Server
	// Tick counts whatever happened.
	Tick int64

	scheme *runtime.Scheme
	now    func() time.Time
	pods   map[types.UID]*pod
	nodes  map[string]*node // of the server of that name: each server has one of its own
	groups []*group
	placed bool            // the streams have been made
	everUp map[string]bool // the servers whose JetStream has been up
	last   *v1beta1.NatsCluster
	calm   bool              // nothing goes wrong any more
	made   int               // processes and addresses so far
	names  map[string]string // of the servers of all processes so far, by ID
	hashes map[string]string // of the templates of StatefulSets, by version
}

// node is where a server's Pods run.
type node struct {
	lost   bool // nothing runs there, and nothing is reported from there
	closed bool // no new Pod is put there
	late   bool // what changes in a ConfigMap does not come into a container that runs there
}

// pod is what a kubelet knows of a Pod.
type pod struct {
	server    string
	uid       types.UID
	ip        string
	scheduled bool
	waiting   string // why the container is not started
	trying    bool   // it is being started, and will crash
	started   bool   // it has passed its startup probe
	config    string // the nats.conf that is in the container
	process   *process
}

// process is one nats-server that runs.
type process struct {
	id, version      string
	start            time.Time
	phase            phase
	frozen, lameDuck bool

	// What it has loaded, at its start or by a reload since.
	config, revision string
	routes           int
	loaded           time.Time

	refuses bool            // every reload
	refused bool            // one, since it loaded what it runs
	stood   bool            // up to one, ever
	askers  map[string]bool // the instances that have asked for one, since then
}

// phase is how far a process has come.
type phase int

const (
	begun      phase = iota // it answers, and no more
	recovering              // it has routes, and reads its disk
	up                      // it takes part
)

// Scheme knows every kind that the model has.
func Scheme() (*runtime.Scheme, error) {
	s := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, v1beta1.AddToScheme, natsv1beta1.AddToScheme} {
		if err := add(s); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// NewWorld makes an empty one.
func NewWorld(scheme *runtime.Scheme, now func() time.Time) (*World, error) {
	api, err := apimodel.New(scheme, &appsv1.StatefulSet{}, &corev1.ConfigMap{}, &corev1.Service{}, &corev1.Secret{},
		&policyv1.PodDisruptionBudget{}, &networkingv1.NetworkPolicy{})
	if err != nil {
		return nil, err
	}
	return &World{
		API: api, scheme: scheme, now: now, pods: map[types.UID]*pod{}, nodes: map[string]*node{}, hashes: map[string]string{}, names: map[string]string{}, everUp: map[string]bool{},
	}, nil
}

func kindOf(object client.Object) schema.GroupVersionKind {
	switch object.(type) {
	case *v1beta1.NatsCluster:
		return v1beta1.GroupVersion.WithKind(v1beta1.KindNatsCluster)
	case *appsv1.StatefulSet:
		return appsv1.SchemeGroupVersion.WithKind("StatefulSet")
	case *corev1.ConfigMap:
		return corev1.SchemeGroupVersion.WithKind("ConfigMap")
	case *corev1.PersistentVolumeClaim:
		return corev1.SchemeGroupVersion.WithKind("PersistentVolumeClaim")
	case *corev1.Secret:
		return corev1.SchemeGroupVersion.WithKind("Secret")
	case *corev1.Service:
		return corev1.SchemeGroupVersion.WithKind("Service")
	case *policyv1.PodDisruptionBudget:
		return policyv1.SchemeGroupVersion.WithKind("PodDisruptionBudget")
	case *networkingv1.NetworkPolicy:
		return networkingv1.SchemeGroupVersion.WithKind("NetworkPolicy")
	case *natsv1beta1.NatsOperatorTrust:
		return natsv1beta1.GroupVersion.WithKind(natsv1beta1.KindNatsOperatorTrust)
	}
	return corev1.SchemeGroupVersion.WithKind("Pod")
}

// peek is the object of that name and type, which must not be changed.
func peek[T client.Object](w *World, name string, like T) (T, bool) {
	found, is := w.API.Peek(apimodel.Key{Kind: kindOf(like), Namespace: Namespace, Name: name}).(T)
	return found, is
}

// edit is a copy of the object of that name and type.
func edit[T client.Object](w *World, name string, like T) (T, bool) {
	found, is := w.API.Get(apimodel.Key{Kind: kindOf(like), Namespace: Namespace, Name: name}, apimodel.Newest).(T)
	return found, is
}

// Cluster is the NatsCluster, which must not be changed; as it was last, where it is gone.
func (w *World) Cluster() *v1beta1.NatsCluster {
	if cluster, exists := peek(w, Name, &v1beta1.NatsCluster{}); exists {
		w.last = cluster
	}
	return w.last
}

// Gone says that the NatsCluster has been deleted.
func (w *World) Gone() bool {
	_, exists := peek(w, Name, &v1beta1.NatsCluster{})
	return !exists
}

// all are the names of all servers that there may be. There are never fewer replicas than before.
func (w *World) all() []string { return w.Planned() }

// Planned are the servers that the spec asks for.
func (w *World) Planned() []string {
	names := []string{}
	for i := range int(w.Cluster().Spec.Replicas) {
		names = append(names, fmt.Sprintf("%s-%d", Name, i))
	}
	return names
}

func (w *World) node(server string) *node {
	if w.nodes[server] == nil {
		w.nodes[server] = &node{}
	}
	return w.nodes[server]
}

// sorted are the Pods by server.
func (w *World) sorted() []*pod {
	found := make([]*pod, 0, len(w.pods))
	for _, p := range w.pods {
		found = append(found, p)
	}
	slices.SortFunc(found, func(a, b *pod) int {
		return cmp.Or(cmp.Compare(len(a.server), len(b.server)), cmp.Compare(a.server, b.server), cmp.Compare(a.uid, b.uid))
	})
	return found
}

// running is the server's Pod with a process; nil where it has none.
func (w *World) running(server string) *pod {
	for _, p := range w.pods {
		if p.server == server && p.process != nil {
			return p
		}
	}
	return nil
}

// alive says that the server's process takes part in its groups.
func (w *World) alive(server string) bool {
	p := w.running(server)
	return p != nil && p.process.phase == up && !p.process.frozen
}

// end is the end of a Pod's process: its memberships are behind from then on.
func (w *World) end(p *pod) {
	if p.process == nil {
		return
	}
	p.process, p.started = nil, false
	w.lose(p.server)
}

// A Transition is something that may happen next by itself.
type Transition struct {
	// Name says what.
	Name string
	do   func()
}

// Transitions are what may happen now, always in the same order.
func (w *World) Transitions() []Transition {
	return slices.Concat(w.setTransitions(), w.collectorTransitions(), w.podTransitions(), w.natsTransitions())
}

// Step has one of them happen.
func (w *World) Step(t Transition) {
	w.Tick++
	t.do()
}

// must is for writes of the world itself, which nothing can refuse.
func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}
