package garagecluster

import (
	"context"
	"flag"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"

	"github.com/holdfast-dev/holdfast/api/garage/v1beta1"
	"github.com/holdfast-dev/holdfast/api/garage/v1beta2"
	"github.com/holdfast-dev/holdfast/internal/garage/adminapi"
	garagecontroller "github.com/holdfast-dev/holdfast/internal/garage/controller"
	"github.com/holdfast-dev/holdfast/internal/garage/credentials"
	"github.com/holdfast-dev/holdfast/internal/garage/render"
	"github.com/holdfast-dev/holdfast/internal/kit/events"
	"github.com/holdfast-dev/holdfast/internal/kit/manager"
	"github.com/holdfast-dev/holdfast/internal/kit/metrics"
	"github.com/holdfast-dev/holdfast/test/envtest/env"
	"github.com/holdfast-dev/holdfast/test/sim/kubelet"
)

// parallel is how many tests run at a time: they wait for servers and clocks, and hardly use the machine.
const parallel = "4"

func TestMain(m *testing.M) {
	flag.Parse()
	if err := flag.Set("test.parallel", parallel); err != nil {
		panic(err)
	}
	env.Main(m)
}

const (
	// wait bounds whatever has to happen, on a machine that has much else to do.
	wait = 5 * time.Minute
	// image is the Garage that runs where a test is not about versions.
	image = "dxflrs/garage:v2.4.1"
)

// A lab is a namespace of the test's own with everything that looks after it.
type lab struct {
	testing.TB
	*gomega.WithT
	env       *env.Env
	client    client.Client // as administrator, uncached
	namespace string
	kubelet   *kubelet.Kubelet
	// user is who the controller is to the API server, and requests are what it asks of it.
	user     *rest.Config
	requests env.Requests
}

// start makes a lab with real servers and the controller, which sees the lab's namespace alone.
func start(tb testing.TB) *lab {
	tb.Helper()
	l := startServers(tb)
	l.startController(controllerOptions{})
	return l
}

// startServers makes a lab without a controller.
func startServers(tb testing.TB) *lab {
	tb.Helper()
	l := &lab{TB: tb, WithT: gomega.NewWithT(tb), env: env.Start(tb)}
	l.SetDefaultEventuallyTimeout(wait)
	l.SetDefaultEventuallyPollingInterval(100 * time.Millisecond)
	l.client, l.namespace = l.env.Client, l.env.Namespace(tb)
	l.kubelet = kubelet.Start(tb, l.env.Config, kubelet.Options{Namespace: l.namespace, Servers: kubelet.GarageFromEnv(tb)})
	l.Cleanup(func() {
		if l.Failed() {
			for _, event := range l.kubelet.History() {
				l.Log(event)
			}
			l.tell()
		}
	})
	// The controller has the rights of the chart's ServiceAccount and no other.
	there, everywhere := env.ShippedRules(tb, "holdfast-garage")
	l.user = l.env.UserWithRole(tb, &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: l.namespace}, Rules: there}, &rbacv1.ClusterRole{Rules: everywhere})
	l.user.Wrap(l.requests.Through)
	return l
}

// controllerOptions are what a test may change about the controller.
type controllerOptions struct {
	// transport wraps the connections to the API server, and admin carries the requests to the Admin APIs.
	transport func(http.RoundTripper) http.RoundTripper
	admin     http.RoundTripper
}

// startController runs the controller until stop is called, or the test ends.
func (l *lab) startController(o controllerOptions) (stop func()) {
	l.Helper()
	config := rest.CopyConfig(l.user)
	if o.transport != nil {
		config.Wrap(o.transport)
	}
	mgr, err := manager.New(config, manager.Options{
		Scheme: env.NewScheme(), FieldOwner: garagecontroller.Owner, Cached: garagecontroller.Cached(),
		MetricsAddress: "0", ProbeAddress: "0", WatchNamespaces: []string{l.namespace},
	})
	if err != nil {
		l.Fatal(err)
	}
	reconciler := &garagecontroller.Reconciler{
		Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Clock: clock.RealClock{}, Transport: o.admin,
		Events:       events.Recorder{Events: mgr.GetEventRecorder(garagecontroller.Owner)},
		Metrics:      metrics.New(prometheus.NewRegistry(), "garage_operator"),
		DefaultImage: image,
	}
	unique := true // names of controllers, in one process: tests run several
	if err := reconciler.Setup(mgr, controller.Options{
		MaxConcurrentReconciles: 8, RateLimiter: manager.RateLimiter(), SkipNameValidation: &unique,
	}); err != nil {
		l.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			l.Error("the controller:", err)
		}
	})
	l.Cleanup(stop)
	return stop
}

// clusterName is the name of the one GarageCluster in a lab.
const clusterName = "garage"

// clusterOf is one with an image of its own.
func (l *lab) clusterOf(image string) *v1beta2.GarageCluster {
	l.Helper()
	return l.cluster(func(cluster *v1beta2.GarageCluster) { cluster.Spec.Image = image })
}

// cluster is a GarageCluster of three nodes, as small as they can be, unless a change says otherwise.
func (l *lab) cluster(changes ...func(*v1beta2.GarageCluster)) *v1beta2.GarageCluster {
	l.Helper()
	size := resource.MustParse("1Gi")
	cluster := &v1beta2.GarageCluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: l.namespace, Name: clusterName},
		Spec: v1beta2.GarageClusterSpec{Storage: v1beta2.StorageSpec{
			Replicas: new(int32(3)),
			Metadata: &v1beta2.VolumeConfig{VolumeShape: v1beta2.VolumeShape{Size: &size}},
			Data:     &v1beta2.DataVolumeConfig{VolumeShape: v1beta2.VolumeShape{Size: &size}},
		}},
	}
	for _, change := range changes {
		change(cluster)
	}
	l.Expect(l.client.Create(l.Context(), cluster)).To(gomega.Succeed())
	return cluster
}

// isReady waits until the GarageCluster is Ready at its present generation.
func (l *lab) isReady(cluster *v1beta2.GarageCluster) {
	l.Helper()
	l.Eventually(func(g gomega.Gomega) {
		g.Expect(l.client.Get(l.Context(), client.ObjectKeyFromObject(cluster), cluster)).To(gomega.Succeed())
		found := meta.FindStatusCondition(cluster.Status.Conditions, v1beta2.ConditionReady)
		g.Expect(found).NotTo(gomega.BeNil())
		g.Expect(found.Status).To(gomega.Equal(metav1.ConditionTrue), found.Message)
		g.Expect(found.ObservedGeneration).To(gomega.Equal(cluster.Generation))
	}).Should(gomega.Succeed())
}

// nodes are the GarageNodes by name.
func (l *lab) nodes() map[string]v1beta1.GarageNode {
	l.Helper()
	var list v1beta1.GarageNodeList
	l.Expect(l.client.List(l.Context(), &list, client.InNamespace(l.namespace))).To(gomega.Succeed())
	found := map[string]v1beta1.GarageNode{}
	for _, node := range list.Items {
		found[node.Name] = node
	}
	return found
}

// admin is the Admin API of a Pod, for a test that does something behind the controller's back.
func (l *lab) admin(pod string) *adminapi.Client {
	l.Helper()
	var secret corev1.Secret
	l.Expect(l.client.Get(l.Context(), client.ObjectKey{Namespace: l.namespace, Name: credentials.AdminName(clusterName)}, &secret)).To(gomega.Succeed())
	api, err := adminapi.New("http://"+l.kubelet.Addr(pod)+":3903", string(secret.Data[render.KeyAdminToken]), nil)
	l.Expect(err).NotTo(gomega.HaveOccurred())
	return api
}

// tell writes what there is into the log of a test that failed.
func (l *lab) tell() {
	var clusters v1beta2.GarageClusterList
	var nodes v1beta1.GarageNodeList
	for _, list := range []client.ObjectList{&clusters, &nodes} {
		if err := l.client.List(context.Background(), list, client.InNamespace(l.namespace)); err != nil {
			l.Log(err)
		}
	}
	for _, cluster := range clusters.Items {
		l.Logf("%s: %+v", cluster.Name, cluster.Status)
	}
	for _, node := range nodes.Items {
		l.Logf("%s: %+v", node.Name, node.Status)
	}
}
