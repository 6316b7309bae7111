package natsmodel

import (
	"context"
	"flag"
	"maps"
	"os"
	"slices"
	"strconv"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"github.com/holdfast-dev/holdfast/api/nats/cluster/v1beta1"
	"github.com/holdfast-dev/holdfast/test/sim/fault"
)

func natsCluster(replicas int32, jetstream bool) *v1beta1.NatsCluster {
	cluster := &v1beta1.NatsCluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: Namespace, Name: Name},
		Spec: v1beta1.NatsClusterSpec{
			Version: Good, Replicas: replicas,
			Resources: corev1.ResourceRequirements{Limits: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("4Gi")}},
		},
	}
	cluster.Spec.Exporter.Enabled = new(false)
	cluster.Spec.Routes.TLS.Enabled = new(false)
	if jetstream {
		cluster.Spec.JetStream = &v1beta1.JetStream{VolumeClaimTemplate: &v1beta1.VolumeClaimTemplate{Spec: corev1.PersistentVolumeClaimSpec{
			Resources: corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("20Gi")}},
		}}}
	}
	return cluster
}

// defaults are what a run is unless the command line says otherwise: as many histories as a minute has room for, and the same
// each time. A search for new ones is one with -rapid.seed and a larger -rapid.checks.
var defaults = map[string]string{checksFlag: strconv.Itoa(enough), "rapid.seed": "1"}

const enough = 50

// TestMain sets the defaults.
func TestMain(m *testing.M) {
	flag.Parse()
	given := map[string]bool{}
	flag.Visit(func(f *flag.Flag) { given[f.Name] = true })
	for name, value := range defaults {
		if !given[name] {
			if err := flag.Set(name, value); err != nil {
				panic(err)
			}
		}
	}
	os.Exit(m.Run())
}

const checksFlag = "rapid.checks"

// TestRollouts: whatever happens to a NATS cluster and its controllers, never are two servers down by their hand, and none
// is taken down on what is not known; and when nothing disturbs any more, all comes to what the spec says, and to rest.
func TestRollouts(t *testing.T) {
	t.Parallel()
	rollouts.check(t, map[string]int{touched: 100, forced: 1, last: 30}, Failures, Edits, Tampering)
}

var rollouts = plot{failures: Failures, edits: Edits, tampering: Tampering, end: settle}

// TestReloads: a change that running servers take over restarts none of them while that goes well; one that fails is followed
// by a restart as any other; and in the end every process runs what its ConfigMap says.
func TestReloads(t *testing.T) {
	t.Parallel()
	reloads.check(t, map[string]int{given: 150, reloaded: 100, fallen: 5, shared: 5}, reloads.failures, reloads.edits, reloads.tampering)
}

var reloads = plot{
	system: true,
	failures: pick(slices.Concat(Failures, Edits), "edit: server tags", "bring no ConfigMap into containers that run", "refuse to reload", "edit: a limit, up", "bring a node back", "kill the process",
		"freeze the process"),
	edits:     slices.Concat(pick(Edits, "edit: server tags", "edit: a limit, up", "edit: memory", "edit: a limit, down", "edit: more replicas", "order a step"), SystemEdits),
	tampering: pick(Tampering, "tamper with the ConfigMap's data", "tamper with the ConfigMap's labels", "delete the ConfigMap"),
	end:       settle,
}

// pick are some of a list, in another order.
func pick(of []Disturbance, names ...string) []Disturbance {
	found := make([]Disturbance, 0, len(names))
	for _, name := range names {
		found = append(found, named(of, name))
	}
	return found
}

// check makes histories of the plot. What is counted has to happen so often in a hundred of them, and each of the
// disturbances once.
func (p plot) check(t *testing.T, inAHundred map[string]int, disturbances ...[]Disturbance) {
	t.Helper()
	seen := counts{}
	rapid.Check(t, func(rt *rapid.T) {
		seen[histories]++
		if found := fault.InBubble(t, func(ctx context.Context) { p.tell(ctx, rt, seen) }); found != nil {
			fail(rt, found)
		}
	})
	seen.report(t, inAHundred, slices.Concat(disturbances...))
}

// Counts that are about whole histories and controllers, and not about one fate or disturbance.
const (
	histories = "histories"
	last      = "histories with a last server"
	touched   = "servers taken down"
	forced    = "servers taken down by an order"
	given     = "configurations given to be reloaded"
	reloaded  = "reloads that went through"
	fallen    = "servers restarted for a reload that failed"
	shared    = "processes asked to reload by two instances"
	released  = "NatsClusters let go"
	ordered   = "NatsClusters let go by an order"
	leaders   = "second leaders"
	duels     = "leaders that stall at a step"
	late      = "late writes"
	stale     = "stale caches"
)

// add counts what a history came to.
func (c counts) add(checker *Checker) {
	c[touched] += checker.Touched
	c[forced] += checker.Forced
	c[given] += checker.Given
	c[reloaded] += checker.Reloaded
	c[fallen] += checker.Fallen
	c[shared] += checker.Shared
	for what, happened := range map[string]bool{last: checker.Last, released: checker.Released, ordered: checker.Ordered} {
		if happened {
			c[what]++
		}
	}
}

// report tells what has happened, and wants it to have happened often enough. A run of few histories proves nothing, and is
// not asked.
func (c counts) report(t *testing.T, inAHundred map[string]int, disturbances []Disturbance) {
	t.Helper()
	for _, what := range slices.Sorted(maps.Keys(c)) {
		t.Logf("%5d  %s", c[what], what)
	}
	if c[histories] < enough {
		return
	}
	least := map[string]int{}
	maps.Copy(inAHundred, map[string]int{leaders: 25, duels: 5, late: 5, stale: 25})
	for what, often := range inAHundred {
		least[what] = c[histories] * often / 100
	}
	for _, kinds := range fates {
		for _, kind := range kinds {
			least["fate: "+string(kind)] = c[histories] / 20
		}
	}
	delete(least, "fate: "+string(fault.GoOn))
	for _, disturbance := range disturbances {
		least[disturbance.Name] = 1
	}
	for _, what := range slices.Sorted(maps.Keys(least)) {
		if c[what] < least[what] {
			t.Errorf("%s: %d times in %d histories, want at least %d", what, c[what], c[histories], least[what])
		}
	}
}
