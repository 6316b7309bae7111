package natscluster

import (
	"context"
	"flag"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	ctrlmanager "sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/holdfast-dev/holdfast/api/nats/cluster/v1beta1"
	"github.com/holdfast-dev/holdfast/internal/kit/events"
	"github.com/holdfast-dev/holdfast/internal/kit/manager"
	"github.com/holdfast-dev/holdfast/internal/kit/metrics"
	clustercontroller "github.com/holdfast-dev/holdfast/internal/nats/cluster/controller"
	"github.com/holdfast-dev/holdfast/internal/nats/cluster/render"
	"github.com/holdfast-dev/holdfast/internal/nats/monitorapi"
	"github.com/holdfast-dev/holdfast/internal/nats/monitorapi/realnats"
	"github.com/holdfast-dev/holdfast/internal/nats/settled"
	"github.com/holdfast-dev/holdfast/internal/nats/sysapi"
	"github.com/holdfast-dev/holdfast/test/envtest/env"
	"github.com/holdfast-dev/holdfast/test/sim/atrest"
	"github.com/holdfast-dev/holdfast/test/sim/kubelet"
)

// parallel is how many tests run at a time: they wait for servers, probes and clocks, and hardly use the machine.
const parallel = "5"

func TestMain(m *testing.M) {
	flag.Parse()
	if err := flag.Set("test.parallel", parallel); err != nil {
		panic(err)
	}
	env.Main(m)
}

const (
	// wait bounds whatever has to happen, on a machine that has much else to do.
	wait = 4 * time.Minute
	// version is the nats-server that runs where a test is not about versions.
	version = "2.15.3"
	// controllerNamespace is where the controller believes that it runs.
	controllerNamespace = "holdfast"
)

// A lab is a namespace of the test's own with everything that looks after it.
type lab struct {
	testing.TB
	*gomega.WithT
	env       *env.Env
	client    client.WithWatch // as administrator, uncached
	namespace string
	kubelet   *kubelet.Kubelet
	versions  *versions
	// stopControllers ends the controller that a lab was started with.
	stopControllers func()
}

// newLab makes a lab without a controller.
func newLab(tb testing.TB) *lab {
	tb.Helper()
	l := &lab{TB: tb, WithT: gomega.NewWithT(tb), env: env.Start(tb)}
	l.SetDefaultEventuallyTimeout(wait)
	l.SetDefaultEventuallyPollingInterval(100 * time.Millisecond)
	l.namespace = l.env.Namespace(tb)
	var err error
	if l.client, err = client.NewWithWatch(l.env.Config, client.Options{Scheme: l.env.Scheme}); err != nil {
		tb.Fatal(err)
	}
	return l
}

// start makes a lab with real servers and the controller, which sees the lab's namespace alone.
func start(tb testing.TB) *lab {
	tb.Helper()
	l := newLab(tb)
	l.startKubelet()
	l.startController(controllerOptions{})
	return l
}

func (l *lab) startKubelet() {
	l.kubelet = kubelet.Start(l.TB, l.env.Config, kubelet.Options{Namespace: l.namespace, Servers: kubelet.ServersFromEnv(l.TB)})
	l.Cleanup(func() {
		if l.Failed() {
			for _, event := range l.kubelet.History() {
				l.Log(event)
			}
		}
	})
}

// controllerOptions are what a test may change about the controller.
type controllerOptions struct {
	// everywhere gives it a ClusterRole and all namespaces: not for a test that others run beside.
	everywhere bool
	// also is a namespace that it looks after besides the lab's.
	also string
	// monitor, clock and transport replace the real ones.
	monitor   settled.MonitorAPI
	clock     clock.PassiveClock
	transport func(http.RoundTripper) http.RoundTripper
	// system wraps the connections to system accounts.
	system func(clustercontroller.SystemAccounts) clustercontroller.SystemAccounts
	// api wraps the clients of the API server.
	api func(client.Client, client.Reader) (client.Client, client.Reader)
}

// systemPool keeps connections to system accounts until the test ends.
func (l *lab) systemPool() *sysapi.Pool {
	pool := &sysapi.Pool{Clock: clock.RealClock{}, Dial: sysapi.Dial}
	l.Cleanup(pool.Close)
	return pool
}

// startController runs the controller until stop is called, or the test ends.
func (l *lab) startController(o controllerOptions) (stop func()) {
	l.Helper()
	if l.versions == nil {
		l.versions = l.record()
	}
	config, namespaces := l.shippedUser(o)
	if o.transport != nil {
		config.Wrap(o.transport)
	}
	mgr, err := manager.New(config, manager.Options{
		Scheme: env.NewScheme(), FieldOwner: clustercontroller.Owner, Cached: clustercontroller.Cached(),
		MetricsAddress: "0", ProbeAddress: "0", WatchNamespaces: namespaces,
	})
	if err != nil {
		l.Fatal(err)
	}
	reconciler := l.reconciler(mgr, o)
	unique := true // names of controllers, in one process: tests run several
	if err := reconciler.Setup(mgr, controller.Options{
		MaxConcurrentReconciles: 8, RateLimiter: manager.RateLimiter(), SkipNameValidation: &unique,
	}); err != nil {
		l.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	stopped := false
	stop = func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		if err := <-ended; err != nil {
			l.Error("the controller:", err)
		}
	}
	l.Cleanup(stop)
	l.Cleanup(func() {
		if !stopped && !l.Failed() {
			l.speaksOfTheLastSpec()
		}
	})
	return stop
}

// reconciler is the shipped one, with what a test has put in place of its parts.
func (l *lab) reconciler(mgr ctrlmanager.Manager, o controllerOptions) *clustercontroller.Reconciler {
	reconciler := &clustercontroller.Reconciler{
		Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Monitor: o.monitor, Clock: o.clock,
		System:    clustercontroller.Pooled(l.systemPool()),
		Events:    events.Recorder{Events: mgr.GetEventRecorder(clustercontroller.Owner)},
		Metrics:   metrics.New(prometheus.NewRegistry(), "nats_operator"),
		Namespace: controllerNamespace,
		Exporter:  render.ExporterDefaults{Repository: "natsio/prometheus-nats-exporter", Tag: "0.20.2"},
	}
	if o.system != nil {
		reconciler.System = o.system(reconciler.System)
	}
	if o.api != nil {
		reconciler.Client, reconciler.Live = o.api(reconciler.Client, reconciler.Live)
	}
	if o.monitor == nil {
		reconciler.Monitor = &monitorapi.Client{HTTP: &http.Client{Transport: &http.Transport{}}}
	}
	if o.clock == nil {
		reconciler.Clock = clock.RealClock{}
	}
	return reconciler
}

// speaksOfTheLastSpec holds the statuses that a test leaves behind to their first duty.
func (l *lab) speaksOfTheLastSpec() {
	l.Eventually(func(g gomega.Gomega) {
		var list v1beta1.NatsClusterList
		g.Expect(l.client.List(context.Background(), &list, client.InNamespace(l.namespace))).To(gomega.Succeed())
		for _, cluster := range list.Items {
			g.Expect(cluster.Status.ObservedGeneration).To(gomega.Equal(cluster.Generation), cluster.Name)
		}
	}).Should(gomega.Succeed())
}

// shippedUser has the rights of the chart's ServiceAccount and no other.
func (l *lab) shippedUser(o controllerOptions) (config *rest.Config, namespaces []string) {
	l.Helper()
	rules, _ := env.ShippedRules(l.TB, "holdfast-nats")
	if o.everywhere {
		return l.env.UserWithRole(l.TB, &rbacv1.ClusterRole{Rules: rules}), nil
	}
	var roles []client.Object
	for _, namespace := range []string{l.namespace, o.also} {
		if namespace != "" {
			namespaces = append(namespaces, namespace)
			roles = append(roles, &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: namespace}, Rules: rules})
		}
	}
	return l.env.UserWithRole(l.TB, roles...), namespaces
}

// get reads an object of the lab's namespace into into.
func get[T client.Object](l *lab, name string, into T) T {
	l.Helper()
	if err := l.client.Get(l.Context(), client.ObjectKey{Namespace: l.namespace, Name: name}, into); err != nil {
		l.Fatal(err)
	}
	return into
}

func (l *lab) cluster(name string) *v1beta1.NatsCluster { return get(l, name, &v1beta1.NatsCluster{}) }

func (l *lab) create(objects ...client.Object) {
	l.Helper()
	for _, object := range objects {
		object.SetNamespace(l.namespace)
		if err := l.client.Create(l.Context(), object); err != nil {
			l.Fatal(err)
		}
	}
}

// change changes a NatsCluster's spec, as a user would.
func (l *lab) change(name string, how func(*v1beta1.NatsClusterSpec)) {
	l.Helper()
	cluster := l.cluster(name)
	before := cluster.DeepCopy()
	how(&cluster.Spec)
	if err := l.client.Patch(l.Context(), cluster, client.MergeFrom(before)); err != nil {
		l.Fatal(err)
	}
}

// delete deletes an object and waits until it is gone.
func (l *lab) delete(object client.Object) {
	l.Helper()
	if err := l.client.Delete(l.Context(), object); err != nil {
		l.Fatal(err)
	}
	l.Eventually(func() bool {
		return apierrors.IsNotFound(l.client.Get(l.Context(), client.ObjectKeyFromObject(object), object))
	}).Should(gomega.BeTrue(), "it goes")
}

// until waits for a state of a NatsCluster that speaks of its present spec.
func (l *lab) until(name, what string, holds func(*v1beta1.NatsCluster) bool) *v1beta1.NatsCluster {
	l.Helper()
	var seen *v1beta1.NatsCluster
	l.Eventually(func() bool {
		seen = l.cluster(name)
		return seen.Status.ObservedGeneration == seen.Generation && holds(seen)
	}).Should(gomega.BeTrue(), func() string { return name + " does not become " + what + ": " + conditionsOf(seen) })
	return seen
}

func conditionsOf(cluster *v1beta1.NatsCluster) string {
	var lines []string
	for _, c := range cluster.Status.Conditions {
		lines = append(lines, c.Type+" "+string(c.Status)+" "+c.Reason+": "+c.Message)
	}
	return strings.Join(lines, "\n")
}

func condition(cluster *v1beta1.NatsCluster, kind string) metav1.Condition {
	if found := meta.FindStatusCondition(cluster.Status.Conditions, kind); found != nil {
		return *found
	}
	return metav1.Condition{}
}

// reason says that a condition has that reason.
func reason(kind, reason string) func(*v1beta1.NatsCluster) bool {
	return func(cluster *v1beta1.NatsCluster) bool { return condition(cluster, kind).Reason == reason }
}

func (l *lab) untilAtRest(name string) *v1beta1.NatsCluster {
	l.Helper()
	return l.until(name, "at rest", atrest.Holds)
}

// servers are the names of a NatsCluster's servers that status lists.
func servers(cluster *v1beta1.NatsCluster) []string {
	var names []string
	for _, server := range cluster.Status.Servers {
		names = append(names, server.Name)
	}
	slices.Sort(names)
	return names
}

// untilMeshed waits for every route between these servers, all of a NATS cluster.
func (l *lab) untilMeshed(servers ...string) {
	l.Helper()
	l.Eventually(func() bool {
		var monitors []string
		for _, server := range servers {
			monitors = append(monitors, "http://"+l.kubelet.Addr(server+"-0")+":8222")
		}
		return realnats.Meshed(l.Context(), monitors...)
	}).Should(gomega.BeTrue(), "every route is there")
}

// clientURL are the URLs of the clients' ports of Pods that run.
func (l *lab) clientURL(servers ...string) string {
	var urls []string
	for _, server := range servers {
		if address := l.kubelet.Addr(server + "-0"); address != "" {
			urls = append(urls, "nats://"+address+":4222")
		}
	}
	return strings.Join(urls, ",")
}

func secretNamed(name string) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name}}
}

func key(l *lab, name string) client.ObjectKey {
	return client.ObjectKey{Namespace: l.namespace, Name: name}
}
