package natscluster

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/holdfast-dev/holdfast/api/nats/cluster/v1beta1"
	"github.com/holdfast-dev/holdfast/test/sim/kubelet"
)

// absent is a version whose image does not exist.
const absent = "2.15.99"

func podTemplate(json string) func(*v1beta1.NatsClusterSpec) {
	return func(spec *v1beta1.NatsClusterSpec) {
		spec.PodTemplate.Spec = &runtime.RawExtension{Raw: []byte(json)}
	}
}

// TestSpecsThatCannotBe tries on servers that run what cannot be carried out, in three ways: it cannot be merged, the
// API server refuses the object, the image does not exist. Each is said, and taken back without harm.
func TestSpecsThatCannotBe(t *testing.T) {
	t.Parallel()
	l := start(t)
	l.create(plain("relay", 3))
	good := l.untilAtRest("relay").Spec
	l.held("relay", v1beta1.ReasonUnsupportedSpec, []string{"spec.podTemplate.spec.containers[nats].image"},
		podTemplate(`{"containers": [{"name": "nats", "image": "other"}]}`))
	l.held("relay", v1beta1.ReasonUnsupportedSpec, []string{"spec.podTemplate.spec"}, podTemplate(`{"containers": "none"}`))
	l.held("relay", v1beta1.ReasonReconcileFailed, []string{"StatefulSet relay-2", "spec.template.spec.tolerations[0].operator"},
		podTemplate(`{"tolerations": [{"key": "a", "operator": "Perhaps"}]}`))

	from := l.mark()
	l.change("relay", func(spec *v1beta1.NatsClusterSpec) { spec.Version = absent })
	l.until("relay", "stuck", func(cluster *v1beta1.NatsCluster) bool {
		c := condition(cluster, v1beta1.ConditionProgressing)
		return c.Reason == v1beta1.ReasonRollingRestart && strings.Contains(c.Message, "container nats, ImagePullBackOff") &&
			strings.Contains(c.Message, "correct the spec")
	})
	if diff := cmp.Diff([]string{"relay-2"}, l.stops(from)); diff != "" {
		t.Error(diff)
	}
	l.change("relay", func(spec *v1beta1.NatsClusterSpec) { *spec = good })
	l.untilAtRest("relay")
	l.oneAtATime(from)
	if diff := cmp.Diff([]string{"relay-2"}, l.stops(from)); diff != "" {
		t.Errorf("servers that ran what they should were restarted: %s", diff)
	}
}

// TestImageNeverThere corrects a version that no server of a new NatsCluster could start with.
func TestImageNeverThere(t *testing.T) {
	t.Parallel()
	l := start(t)
	cluster := withJetStream("demo", 3)
	cluster.Spec.Version = absent
	l.create(cluster)
	l.until("demo", "stuck", func(cluster *v1beta1.NatsCluster) bool {
		c := condition(cluster, v1beta1.ConditionProgressing)
		return c.Reason == v1beta1.ReasonCreating && strings.Count(c.Message, "container nats, ImagePullBackOff") == 3 &&
			condition(cluster, v1beta1.ConditionReady).Reason == v1beta1.ReasonQuorumUnavailable &&
			condition(cluster, v1beta1.ConditionSettled).Status == metav1.ConditionUnknown
	})
	l.change("demo", func(spec *v1beta1.NatsClusterSpec) { spec.Version = version })
	l.untilAtRest("demo")
	for _, event := range l.kubelet.History() {
		if event.Kind == kubelet.Exited || event.Kind == kubelet.Stopping {
			t.Errorf("a server that could start was stopped again: %v", event)
		}
	}
}
