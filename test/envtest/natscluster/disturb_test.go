package natscluster

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-dev/holdfast/api/nats/cluster/v1beta1"
	"github.com/holdfast-dev/holdfast/test/sim/kubelet"
)

func moreMemory(spec *v1beta1.NatsClusterSpec) { withMemory("8Gi")(spec) }

func withMemory(limit string) func(*v1beta1.NatsClusterSpec) {
	return func(spec *v1beta1.NatsClusterSpec) {
		spec.Resources.Limits[corev1.ResourceMemory] = resource.MustParse(limit)
	}
}

// TestServersThatFail has servers end, and stand still, at rest and in the middle of a rollout.
func TestServersThatFail(t *testing.T) {
	t.Parallel()
	l := start(t)
	l.create(withJetStream("demo", 3))
	l.untilAtRest("demo")
	from := l.mark()
	leader := l.failAtRest(from)
	l.failInARollout(from, leader)
}

// failAtRest has demo-1 end, and then stand still: nothing is stopped by anybody. It returns who leads after that.
func (l *lab) failAtRest(from mark) (leader string) {
	l.Helper()
	before := l.processes()
	l.kubelet.Kill("demo-1-0")
	l.Eventually(func() int { return l.processes()["demo-1"] }).ShouldNot(gomega.Or(gomega.Equal(before["demo-1"]), gomega.BeZero()))
	before = l.processes()
	l.untilAtRest("demo")

	thaw := l.kubelet.Freeze("demo-1-0")
	l.until("demo", "one short", func(cluster *v1beta1.NatsCluster) bool {
		ready, settled := condition(cluster, v1beta1.ConditionReady), condition(cluster, v1beta1.ConditionSettled)
		return ready.Reason == v1beta1.ReasonQuorumAvailable && ready.Message == "2 of 3 servers ready" &&
			settled.Reason == v1beta1.ReasonServersSilent && settled.Message == "demo-1 does not answer" &&
			condition(cluster, v1beta1.ConditionProgressing).Reason == v1beta1.ReasonUpToDate
	})
	thaw()
	leader = l.untilAtRest("demo").Status.JetStream.MetaLeader
	if stops := l.stops(from); len(stops) > 0 || !cmp.Equal(before, l.processes()) {
		l.Errorf("%v were stopped, %v ran, now %v", stops, before, l.processes())
	}
	return leader
}

// failInARollout restarts the first of the two servers that do not lead, and the second stands still meanwhile.
func (l *lab) failInARollout(from mark, leader string) {
	l.Helper()
	followers := slices.DeleteFunc([]string{"demo-2", "demo-1", "demo-0"}, func(server string) bool { return server == leader })
	l.change("demo", moreMemory)
	l.Eventually(func() []string { return l.stops(from) }).Should(gomega.Equal(followers[:1]))
	thaw := l.kubelet.Freeze(followers[1] + "-0")
	l.Eventually(func() bool { return l.readySince(from, followers[0]) }).Should(gomega.BeTrue(), "%s is back", followers[0])
	held := l.until("demo", "held by the gate", func(cluster *v1beta1.NatsCluster) bool {
		c := condition(cluster, v1beta1.ConditionProgressing)
		return c.Reason == v1beta1.ReasonRollingRestart && strings.Contains(c.Message, "waiting for Settled: "+followers[1]+" does not answer") &&
			*cluster.Status.ReadyReplicas == 2
	})
	if gate := held.Status.Rollout.Gate; gate == nil || gate.WaitingFor != v1beta1.GateSettled || gate.Since.IsZero() {
		l.Errorf("%+v", held.Status.Rollout)
	}
	if diff := cmp.Diff(followers[:1], l.stops(from)); diff != "" {
		l.Errorf("stopped while %s stands still: %s", followers[1], diff)
	}
	thaw()
	cluster := l.untilAtRest("demo")
	if diff := cmp.Diff(l.chosen(cluster.Generation), l.stops(from)); diff != "" || len(l.stops(from)) != 3 {
		l.Errorf("%v were stopped: %s", l.stops(from), diff)
	}
}

// readySince says that a server became ready after it was stopped.
func (l *lab) readySince(m mark, server string) bool {
	stopped := false
	for _, event := range l.since(m) {
		if event.Server == server {
			stopped = stopped || event.Kind == kubelet.Stopping
			if stopped && event.Kind == kubelet.Ready {
				return true
			}
		}
	}
	return false
}

// TestTwoControllers has two at work on the same NatsCluster, both convinced that they lead.
func TestTwoControllers(t *testing.T) {
	t.Parallel()
	l := start(t)
	l.startController(controllerOptions{})
	l.create(withJetStream("demo", 3))
	l.untilAtRest("demo")
	from, before := l.mark(), l.processes()
	l.change("demo", moreMemory)
	cluster := l.untilAtRest("demo")
	l.oneAtATime(from)
	l.allNew(before)
	if diff := cmp.Diff(l.chosen(cluster.Generation), l.stops(from)); diff != "" || len(l.stops(from)) != 3 {
		t.Errorf("the journal and the servers differ:\n%s", diff)
	}
	for _, version := range l.versions.of("demo") {
		if condition(version, v1beta1.ConditionProgressing).Reason == v1beta1.ReasonReconcileFailed {
			t.Errorf("a lost race was reported: %s", conditionsOf(version))
		}
	}
}

// TestEdits has a user change what is the controller's, and lose the status of a rollout that is under way.
func TestEdits(t *testing.T) {
	t.Parallel()
	l := start(t)
	l.create(withJetStream("demo", 3))
	l.untilAtRest("demo")
	user := client.FieldOwner("kubectl-edit")

	service := get(l, "demo", &corev1.Service{})
	whole := *service.Spec.DeepCopy()
	service.Spec.Ports[0].TargetPort, service.Spec.Selector["app"] = intstr.FromInt32(80), "other"
	if err := l.client.Update(t.Context(), service, user); err != nil {
		t.Fatal(err)
	}
	l.Eventually(func() corev1.ServiceSpec { return get(l, "demo", &corev1.Service{}).Spec }).Should(gomega.Equal(whole))

	from := l.mark()
	set := get(l, "demo-0", &appsv1.StatefulSet{})
	before := set.DeepCopy()
	set.Spec.Template.Spec.Containers[0].Image = "nats:2.15.2"
	if err := l.client.Patch(t.Context(), set, client.MergeFrom(before), user); err != nil {
		t.Fatal(err)
	}
	l.Eventually(func() string { return get(l, "demo-0", &appsv1.StatefulSet{}).Spec.Template.Spec.Containers[0].Image }).Should(gomega.Equal("nats:" + version))
	l.untilAtRest("demo")
	l.oneAtATime(from)
	for _, server := range l.stops(from) {
		if server != "demo-0" {
			t.Errorf("%s was restarted for an edit of demo-0", server)
		}
	}

	from, running := l.mark(), l.processes()
	l.change("demo", moreMemory)
	l.Eventually(func() []string { return l.stops(from) }).ShouldNot(gomega.BeEmpty())
	l.Eventually(func() error {
		cluster := l.cluster("demo")
		cluster.Status = v1beta1.NatsClusterStatus{}
		return l.client.Status().Update(t.Context(), cluster, user) // until no other write comes in between
	}).Should(gomega.Succeed())
	cluster := l.untilAtRest("demo")
	l.oneAtATime(from)
	l.allNew(running)
	if stops := l.stops(from); len(stops) != 3 {
		t.Errorf("%v were stopped", stops)
	}
	if *cluster.Status.ReadyReplicas != 3 || condition(cluster, v1beta1.ConditionReady).Status != metav1.ConditionTrue {
		t.Errorf("%+v", cluster.Status)
	}
}
