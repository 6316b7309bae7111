package natscluster

import (
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/holdfast-dev/holdfast/api/nats/cluster/v1beta1"
	"github.com/holdfast-dev/holdfast/internal/nats/monitorapi"
)

// withJetStream is the quickstart's NatsCluster.
func withJetStream(name string, replicas int32) *v1beta1.NatsCluster {
	cluster := plain(name, replicas)
	cluster.Spec.JetStream = &v1beta1.JetStream{VolumeClaimTemplate: &v1beta1.VolumeClaimTemplate{
		Spec: corev1.PersistentVolumeClaimSpec{Resources: corev1.VolumeResourceRequirements{
			Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("20Gi")},
		}},
	}}
	return cluster
}

// plain is a NatsCluster without JetStream.
func plain(name string, replicas int32) *v1beta1.NatsCluster {
	return &v1beta1.NatsCluster{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: v1beta1.NatsClusterSpec{
			Version: version, Replicas: replicas,
			Resources: corev1.ResourceRequirements{Limits: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("4Gi")}},
		},
	}
}

// TestCreate is the quickstart, by a controller for all namespaces. At its end another controller takes over, and
// neither it nor anybody else writes anything.
func TestCreate(t *testing.T) {
	l := newLab(t)
	l.startKubelet()
	stop := l.startController(controllerOptions{everywhere: true})
	l.create(withJetStream("demo", 3))
	cluster := l.untilAtRest("demo")

	var entries []v1beta1.ServerStatus
	for i := range 3 {
		entries = append(entries, v1beta1.ServerStatus{
			Name: fmt.Sprintf("demo-%d", i), Version: version, Ready: new(true), ConfigRevision: cluster.Status.Config.Revision,
		})
	}
	want := v1beta1.NatsClusterStatus{
		ObservedGeneration: 1, Version: version, Replicas: ptr.To[int32](3), ReadyReplicas: ptr.To[int32](3), Servers: entries,
		Endpoints: v1beta1.Endpoints{
			Client:  fmt.Sprintf("nats://demo.%s.svc:4222", l.namespace),
			Monitor: fmt.Sprintf("http://demo-headless.%s.svc:8222", l.namespace),
		},
		Config: v1beta1.ConfigStatus{Revision: cluster.Status.Config.Revision, AppliedBy: v1beta1.ApplyRestart},
		JetStream: &v1beta1.JetStreamStatus{
			MetaLeader: cluster.Status.JetStream.MetaLeader,
			Limits: v1beta1.JetStreamEffectiveLimits{
				MaxMemoryStore: new(resource.MustParse("3Gi")), MaxFileStore: new(resource.MustParse("19Gi")),
			},
		},
	}
	if diff := cmp.Diff(want, cluster.Status, cmpopts.IgnoreFields(v1beta1.NatsClusterStatus{}, "Conditions")); diff != "" {
		t.Error(diff)
	}
	if len(cluster.Status.Config.Revision) != 10 || cluster.Status.JetStream.MetaLeader == "" {
		t.Errorf("%+v %+v", cluster.Status.Config, cluster.Status.JetStream)
	}

	rest, writes := time.After(15*time.Second), l.watchWrites(everything()...)
	stop()
	asked := &counting{next: &http.Transport{}}
	l.startController(controllerOptions{everywhere: true, monitor: &monitorapi.Client{HTTP: &http.Client{Transport: asked}}})
	l.Eventually(asked.requests.Load).Should(gomega.BeNumerically(">=", 6), "no pass of the second controller")
	<-rest
	if found := writes(); len(found) > 0 {
		t.Errorf("written at rest: %v", found)
	}
}

// counting counts requests.
type counting struct {
	next     http.RoundTripper
	requests atomic.Int64
}

func (c *counting) RoundTrip(request *http.Request) (*http.Response, error) {
	defer c.requests.Add(1)
	return c.next.RoundTrip(request)
}
