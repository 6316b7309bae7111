package kubelet

import (
	"context"
	"errors"
	"os"
	"sync"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// nodeAddress and nodeName are those of the one node.
const (
	nodeAddress = "127.0.0.1"
	nodeName    = "sim"
)

// resync is how long something that failed may wait for another try when nothing else happens.
const resync = time.Second

// Options say what to serve.
type Options struct {
	// Namespace is the one that is served. Required.
	Namespace string
	// Servers are the programs by image, such as "nats:2.15.3" and "garage:v2.4.1". The registry of a container's image, the
	// folders there and the digest do not count.
	Servers map[string]string
}

// Kubelet serves one namespace until its test ends.
type Kubelet struct {
	t         testing.TB
	client    client.Client // uncached
	cache     cache.Cache
	namespace string
	servers   map[string]string
	dir       string
	kick      chan struct{}
	workersWG sync.WaitGroup
	growing   map[types.UID]growth // only the loop touches it

	mu        sync.Mutex
	workers   map[types.UID]*worker
	history   []Event
	troubles  map[string]string
	addresses addresses
	disks     map[types.UID]string // where it is not the claim's first one
}

// Start serves the namespace through an API server that has no controllers of its own. config must be an
// administrator's. When the test ends every process has ended too.
func Start(tb testing.TB, config *rest.Config, options Options) *Kubelet {
	tb.Helper()
	k := &Kubelet{
		t: tb, namespace: options.Namespace, servers: options.Servers, dir: tb.TempDir(), kick: make(chan struct{}, 1),
		workers: map[types.UID]*worker{}, troubles: map[string]string{},
		growing: map[types.UID]growth{}, disks: map[types.UID]string{},
	}
	scheme := runtime.NewScheme()
	err := clientgoscheme.AddToScheme(scheme)
	if err == nil {
		k.client, err = client.New(config, client.Options{Scheme: scheme})
	}
	if err == nil {
		k.cache, err = cache.New(config, cache.Options{
			Scheme: scheme, DefaultNamespaces: map[string]cache.Config{options.Namespace: {}},
		})
	}
	if err == nil {
		err = os.Mkdir(k.dir+"/claims", 0o755)
	}
	if err != nil {
		tb.Fatal("starting the simulated kubelet:", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	finished := make(chan struct{})
	go func() {
		defer close(finished)
		k.loop(ctx)
	}()
	cacheFinished := make(chan error, 1)
	go func() { cacheFinished <- k.cache.Start(ctx) }()
	tb.Cleanup(func() {
		cancel()
		<-finished
		k.workersWG.Wait()
		k.addresses.release()
		if err := <-cacheFinished; err != nil {
			tb.Error("the simulated kubelet's cache:", err)
		}
	})
	return k
}

// loop brings everything one step on, each time that something has changed.
func (k *Kubelet) loop(ctx context.Context) {
	if err := k.watch(ctx); err != nil {
		if ctx.Err() == nil {
			k.t.Error("the simulated kubelet cannot watch:", err)
		}
		return
	}
	tick := time.NewTicker(resync)
	defer tick.Stop()
	for {
		k.sync(ctx)
		select {
		case <-ctx.Done():
			return
		case <-k.kick:
		case <-tick.C:
		}
	}
}

// poke asks the loop for another round.
func (k *Kubelet) poke() {
	select {
	case k.kick <- struct{}{}:
	default:
	}
}

func (k *Kubelet) watch(ctx context.Context) error {
	handler := toolscache.ResourceEventHandlerFuncs{
		AddFunc: func(any) { k.poke() }, UpdateFunc: func(any, any) { k.poke() }, DeleteFunc: func(any) { k.poke() },
	}
	objects := []client.Object{&appsv1.StatefulSet{}, &corev1.Pod{}, &corev1.PersistentVolumeClaim{}, &corev1.Service{}}
	for _, object := range append(objects, collectedObjects()...) {
		informer, err := k.cache.GetInformer(ctx, object)
		if err != nil {
			return err
		}
		if _, err := informer.AddEventHandler(handler); err != nil {
			return err
		}
	}
	return nil
}

// world is what the caches hold.
type world struct {
	sets     appsv1.StatefulSetList
	pods     corev1.PodList
	claims   corev1.PersistentVolumeClaimList
	services corev1.ServiceList
}

func (k *Kubelet) sync(ctx context.Context) {
	var w world
	for _, list := range []client.ObjectList{&w.sets, &w.pods, &w.claims, &w.services} {
		if err := k.cache.List(ctx, list, client.InNamespace(k.namespace)); err != nil {
			k.complain("", err)
			return
		}
	}
	k.syncClaims(ctx, &w)
	for i := range w.sets.Items {
		set := &w.sets.Items[i]
		k.complain(set.Name, k.syncSet(ctx, set, &w))
	}
	k.syncPods(ctx, &w)
	k.complain("", k.collect(ctx))
}

// complain records an error of a step that will be tried again. Losing a race against another writer is none.
func (k *Kubelet) complain(about string, err error) {
	if err == nil || errors.Is(err, context.Canceled) || apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) {
		return
	}
	k.trouble(about, about, err.Error())
}

// syncPods gives each Pod a worker, tells those that must stop, and keeps the names.
func (k *Kubelet) syncPods(ctx context.Context, w *world) {
	names := hosts(w.pods.Items, w.services.Items)
	seen := map[types.UID]bool{}
	for i := range w.pods.Items {
		pod := &w.pods.Items[i]
		seen[pod.UID] = true
		if err := k.syncPod(ctx, pod, names); err != nil {
			k.complain(pod.Name, err)
		}
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	for uid, w := range k.workers {
		if !seen[uid] {
			w.lost()
			delete(k.workers, uid)
		}
	}
}

func (k *Kubelet) syncPod(ctx context.Context, pod *corev1.Pod, names string) error {
	if pod.Spec.NodeName == "" {
		binding := &corev1.Binding{Target: corev1.ObjectReference{Kind: "Node", Name: nodeName}}
		return k.client.SubResource("binding").Create(ctx, pod.DeepCopy(), binding)
	}
	w, err := k.workerFor(ctx, pod)
	if err != nil {
		return err
	}
	if pod.DeletionTimestamp != nil {
		w.tell(pod.DeletionTimestamp.Time)
	}
	if pod.DeletionTimestamp == nil || !w.hasFinished() {
		if pod.Status.PodIP == "" { // the names do not have it yet
			return nil
		}
		return w.box.setHosts(names)
	}
	at := client.Preconditions{UID: &pod.UID}
	return client.IgnoreNotFound(k.client.Delete(ctx, pod.DeepCopy(), at, client.GracePeriodSeconds(0)))
}

// workerFor is the Pod's worker, which starts with the first call.
func (k *Kubelet) workerFor(ctx context.Context, pod *corev1.Pod) (*worker, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	w, ok := k.workers[pod.UID]
	if ok {
		return w, nil
	}
	ip, err := k.addresses.next()
	if err != nil {
		return nil, err
	}
	w = newWorker(k, pod.DeepCopy(), ip)
	k.workers[pod.UID] = w
	own, cancel := context.WithCancel(ctx)
	w.lost = cancel
	k.workersWG.Go(func() {
		defer cancel()
		w.run(own)
	})
	return w, nil
}
