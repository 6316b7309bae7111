package natscluster

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-dev/holdfast/api/nats/cluster/v1beta1"
	clustercontroller "github.com/holdfast-dev/holdfast/internal/nats/cluster/controller"
	"github.com/holdfast-dev/holdfast/test/sim/kubelet"
)

// TestScaleUp goes from three servers to five, tries what is held, and goes on from there.
func TestScaleUp(t *testing.T) {
	t.Parallel()
	l := start(t)
	l.create(withJetStream("demo", 3))
	l.untilAtRest("demo")
	l.untilMeshed("demo-0", "demo-1", "demo-2")
	fill(t, l.clientURL("demo-0"), 3)
	l.untilAtRest("demo")
	from, before := l.mark(), l.processes()

	l.change("demo", func(spec *v1beta1.NatsClusterSpec) { spec.Replicas = 5 })
	cluster := l.untilAtRest("demo")
	l.oneAtATime(from)
	l.newOnesFirst(from)
	if order := l.chosen(cluster.Generation); len(order) != 3 {
		t.Errorf("restarted: %v", order)
	} else {
		if diff := cmp.Diff(order, l.stops(from)); diff != "" {
			t.Errorf("the journal and the servers differ:\n%s", diff)
		}
		first := l.firstTouch("demo", order[0])
		if got := condition(first, v1beta1.ConditionSettled).Status; got != metav1.ConditionTrue || *first.Status.ReadyReplicas != 5 {
			t.Errorf("the first of the old servers was touched while %s", conditionsOf(first))
		}
	}
	if cluster.Status.Config.RestartReason != "cluster.routes is restart-only without auth.systemCredentials" {
		t.Errorf("restartReason %q", cluster.Status.Config.RestartReason)
	}
	if after := l.processes(); len(after) != 5 || slices.ContainsFunc([]string{"demo-0", "demo-1", "demo-2"}, func(s string) bool { return after[s] == before[s] }) {
		t.Errorf("%v ran, now %v", before, after)
	}

	l.held("demo", v1beta1.ReasonScaleDownBlocked, []string{"demo-3, demo-4", "set spec.replicas to 5"}, func(spec *v1beta1.NatsClusterSpec) {
		spec.Replicas = 3
	})
	l.held("demo", v1beta1.ReasonReplacementBlocked, []string{"spec.jetstream.volumeClaimTemplate", "set the template back"}, func(spec *v1beta1.NatsClusterSpec) {
		spec.JetStream.VolumeClaimTemplate.Spec.Resources.Requests[corev1.ResourceStorage] = resource.MustParse("40Gi")
	})
	kept(t, l.clientURL("demo-4"))
}

// newOnesFirst fails unless the servers that were made after the mark were all ready before any other was stopped.
func (l *lab) newOnesFirst(m mark) {
	l.Helper()
	ready := 0
	for _, event := range l.since(m) {
		switch {
		case event.Kind == kubelet.Ready && ready < 2:
			if event.Server != "demo-3" && event.Server != "demo-4" {
				l.Errorf("not a new server: %v", event)
			}
			ready++
		case event.Kind == kubelet.Stopping && ready < 2:
			l.Errorf("stopped before the new servers were ready: %v", event)
			return
		}
	}
}

// held changes a spec to one that is held, and back. Nothing is written meanwhile but what the NatsCluster says, and
// no server restarts.
func (l *lab) held(name, why string, says []string, how func(*v1beta1.NatsClusterSpec)) {
	l.Helper()
	good := l.cluster(name).Spec
	before := l.processes()
	writes := l.watchWrites(written()...)
	l.change(name, how)
	cluster := l.until(name, "held", reason(v1beta1.ConditionProgressing, why))
	for _, text := range says {
		if message := condition(cluster, v1beta1.ConditionProgressing).Message; !strings.Contains(message, text) {
			l.Errorf("not told %q: %s", text, message)
		}
	}
	l.change(name, func(spec *v1beta1.NatsClusterSpec) { *spec = good })
	l.untilAtRest(name)
	// A step that was begun and is taken back leaves a mark, which changes nothing that a server is made of.
	marks := func(write string) bool { return strings.Contains(write, clustercontroller.Owner+"-fence") }
	if found := slices.DeleteFunc(writes(), marks); len(found) > 0 {
		l.Errorf("written while held: %v", found)
	}
	if diff := cmp.Diff(before, l.processes()); diff != "" {
		l.Error(diff)
	}
}

// TestScaleDownWithoutJetStream removes a server, and its objects with it, while the others run on until their turn
// to forget its route.
func TestScaleDownWithoutJetStream(t *testing.T) {
	t.Parallel()
	l := start(t)
	l.create(plain("relay", 3))
	l.untilAtRest("relay")
	from := l.mark()
	l.change("relay", func(spec *v1beta1.NatsClusterSpec) { spec.Replicas = 2 })
	cluster := l.untilAtRest("relay")

	if diff := cmp.Diff([]string{"relay-2", "relay-1", "relay-0"}, l.stops(from)); diff != "" {
		t.Error(diff)
	}
	l.oneAtATimeOf(from, "relay-0", "relay-1")
	for _, object := range []client.Object{
		&appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Name: "relay-2"}},
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "relay-2-config"}},
	} {
		if err := l.client.Get(t.Context(), client.ObjectKey{Namespace: l.namespace, Name: object.GetName()}, object); !apierrors.IsNotFound(err) {
			t.Errorf("%T %s is there: %v", object, object.GetName(), err)
		}
	}
	if diff := cmp.Diff([]string{"relay-0", "relay-1"}, servers(cluster)); diff != "" || *cluster.Status.Replicas != 2 {
		t.Errorf("%s, %d servers", diff, *cluster.Status.Replicas)
	}
	if l.firstTouch("relay", "relay-2") == nil {
		t.Error("the removal was not journalled")
	}
	l.Eventually(func() []string { return l.steps("relay") }).Should(gomega.ConsistOf(
		"Remove of relay-2", "Remove of relay-2", "Restart of relay-1", "Restart of relay-0"))
}
