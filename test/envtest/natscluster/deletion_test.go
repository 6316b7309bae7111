package natscluster

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-dev/holdfast/api/nats/cluster/v1beta1"
)

// gone says that there is no NatsCluster of that name.
func (l *lab) gone(name string) func() bool {
	return func() bool {
		err := l.client.Get(l.Context(), key(l, name), &v1beta1.NatsCluster{})
		return err != nil && client.IgnoreNotFound(err) == nil
	}
}

// forceDelete deletes a NatsCluster, whatever is on it.
func (l *lab) forceDelete(name string) {
	l.Helper()
	l.edit(l.cluster(name), func(o client.Object) {
		metav1.SetMetaDataAnnotation(&o.(*v1beta1.NatsCluster).ObjectMeta, v1beta1.AnnotationForceDelete, "")
	})
	l.delete(l.cluster(name))
}

// TestDeletionGuard: a NatsCluster with a stream stays, and runs, until the stream is gone; silence is no empty answer.
func TestDeletionGuard(t *testing.T) {
	t.Parallel()
	l := start(t)
	l.create(withJetStream("demo", 3))
	l.untilAtRest("demo")
	l.untilMeshed("demo-0", "demo-1", "demo-2")
	fill(t, l.clientURL("demo-0"), 1)
	before := l.processes()
	if err := l.client.Delete(t.Context(), l.cluster("demo")); err != nil {
		t.Fatal(err)
	}
	held := l.until("demo", "held", reason(v1beta1.ConditionDeleting, v1beta1.ReasonJetStreamDataRemains))
	want := "1 stream is on NATS cluster demo: $G/KEEP; move or delete them, or let it go all the same with: kubectl annotate natscluster demo cluster.nats.mikluko.io/force-delete="
	if diff := cmp.Diff(want, condition(held, v1beta1.ConditionDeleting).Message); diff != "" {
		t.Error(diff)
	}

	// Deleting the stream takes its leader and that of the meta group.
	js, end := connect(t, l.clientURL("demo-0", "demo-1", "demo-2"))
	stream, err := js.Stream(t.Context(), "KEEP")
	end()
	if err != nil {
		t.Fatal(err)
	}
	needed := []string{stream.CachedInfo().Cluster.Leader, held.Status.JetStream.MetaLeader}
	silent := slices.DeleteFunc([]string{"demo-0", "demo-1", "demo-2"}, func(s string) bool { return slices.Contains(needed, s) })[0]
	thaw := l.kubelet.Freeze(silent + "-0")
	l.until("demo", "unknown", reason(v1beta1.ConditionDeleting, v1beta1.ReasonObservationFailed))
	js, end = connect(t, l.clientURL(needed...))
	defer end()
	if err := js.DeleteStream(t.Context(), "KEEP"); err != nil {
		t.Fatal(err)
	}
	l.Consistently(l.gone("demo")).WithTimeout(12 * time.Second).Should(gomega.BeFalse())
	if got := l.processes(); !cmp.Equal(before, got) {
		t.Errorf("servers were stopped: %v before, %v after", before, got)
	}
	thaw()
	l.Eventually(l.gone("demo")).Should(gomega.BeTrue())
}

// TestDeletionWithoutData: what holds no stream, has never been up, or is given up by its owner, goes at once.
func TestDeletionWithoutData(t *testing.T) {
	t.Parallel()
	l := start(t)
	never := withJetStream("never", 3)
	never.Spec.Version = absent
	l.create(withJetStream("empty", 1), withJetStream("full", 1), never, plain("relay", 3))
	for _, name := range []string{"empty", "full", "relay"} {
		l.untilAtRest(name)
	}
	l.until("never", "stuck", func(c *v1beta1.NatsCluster) bool {
		return condition(c, v1beta1.ConditionProgressing).Reason == v1beta1.ReasonCreating
	})
	if finalizers := l.cluster("relay").Finalizers; len(finalizers) != 0 {
		t.Errorf("without JetStream it has finalizers %v", finalizers)
	}
	fill(t, l.clientURL("full-0"), 1)
	for _, name := range []string{"empty", "never", "relay"} {
		l.delete(l.cluster(name))
	}
	l.forceDelete("full")
}
