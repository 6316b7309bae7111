package natscluster

import (
	"net/http"
	"path"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/holdfast-dev/holdfast/api/nats/cluster/v1beta1"
)

// A valve holds one request of a controller back.
type valve struct {
	next http.RoundTripper

	mu      sync.Mutex
	match   func(*http.Request) bool // nil while it is open
	arrived chan *http.Request
	release chan struct{}
	answer  chan int // the status code of what was held back
}

// arm holds the next request that matches. What is held goes on with the test's end at the latest.
func (v *valve) arm(t *testing.T, match func(*http.Request) bool) {
	t.Helper()
	v.mu.Lock()
	defer v.mu.Unlock()
	release := make(chan struct{})
	v.match, v.release, v.arrived, v.answer = match, release, make(chan *http.Request, 1), make(chan int, 1)
	t.Cleanup(sync.OnceFunc(func() { v.open(release) }))
}

func (v *valve) open(release chan struct{}) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.release == release {
		v.release = nil
		close(release)
	}
}

// letGo lets what is held go on.
func (v *valve) letGo() { v.open(v.release) }

func (v *valve) RoundTrip(request *http.Request) (*http.Response, error) {
	v.mu.Lock()
	held := v.match != nil && v.match(request)
	arrived, release, answer := v.arrived, v.release, v.answer
	if held {
		v.match = nil
	}
	v.mu.Unlock()
	if !held {
		return v.next.RoundTrip(request)
	}
	arrived <- request
	<-release
	response, err := v.next.RoundTrip(request)
	if err == nil {
		answer <- response.StatusCode
	}
	close(answer)
	return response, err
}

// await gives the request that is held.
func (v *valve) await(t *testing.T) *http.Request {
	t.Helper()
	select {
	case request := <-v.arrived:
		return request
	case <-time.After(wait):
		t.Fatal("no such request")
		return nil
	}
}

// rereads is a list of StatefulSets that no cache asks for.
func rereads(request *http.Request) bool {
	return request.Method == http.MethodGet && path.Base(request.URL.Path) == "statefulsets" && request.URL.Query().Get("watch") == ""
}

// restarts is a write of a StatefulSet.
func restarts(request *http.Request) bool {
	return request.Method == http.MethodPatch && strings.Contains(request.URL.Path, "/statefulsets/") && request.URL.Query().Get("dryRun") == ""
}

// TestLeaderThatStalls holds a controller back at the two places where the world may change under it. Before it reads
// the facts once more, a server fails: it must not take the step. Before its write, another controller takes over and
// goes through with the rollout: the late write must be refused.
func TestLeaderThatStalls(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.startKubelet()
	held := &valve{}
	l.startController(controllerOptions{transport: func(next http.RoundTripper) http.RoundTripper { held.next = next; return held }})
	l.create(withJetStream("demo", 3))
	l.untilAtRest("demo")
	from, before := l.mark(), l.processes()

	held.arm(t, rereads)
	l.change("demo", moreMemory)
	held.await(t)
	chosen := l.journalled()
	failed := slices.DeleteFunc([]string{"demo-0", "demo-1", "demo-2"}, func(server string) bool { return server == chosen })[0]
	thaw := l.kubelet.Freeze(failed + "-0")
	l.Eventually(func() []corev1.PodCondition { return get(l, failed+"-0", &corev1.Pod{}).Status.Conditions }).Should(gomega.ContainElement(
		gomega.And(gomega.HaveField("Type", corev1.PodReady), gomega.HaveField("Status", corev1.ConditionFalse))))
	held.letGo()
	l.until("demo", "held by the gate", func(cluster *v1beta1.NatsCluster) bool {
		return strings.Contains(condition(cluster, v1beta1.ConditionProgressing).Message, "waiting for Settled: "+failed+" does not answer")
	})
	if stops := l.stops(from); len(stops) > 0 {
		t.Errorf("%v stopped while %s was down", stops, failed)
	}

	held.arm(t, restarts)
	thaw()
	request := held.await(t)
	if current := l.journalled(); current != path.Base(request.URL.Path) {
		t.Errorf("%s is about to be written, and the journal says %q", path.Base(request.URL.Path), current)
	}
	l.startController(controllerOptions{})
	cluster := l.untilAtRest("demo")
	held.letGo()
	if code := <-held.answer; code != http.StatusConflict {
		t.Errorf("the late write was answered with %d", code)
	}
	l.untilAtRest("demo")
	l.oneAtATimeOf(from, slices.DeleteFunc(servers(cluster), func(server string) bool { return server == failed })...)
	l.allNew(before)
	if diff := cmp.Diff(l.chosen(cluster.Generation), l.stops(from)); diff != "" || len(l.stops(from)) != 3 {
		t.Errorf("%v were stopped: %s", l.stops(from), diff)
	}
}

// journalled is the server whose step is under way.
func (l *lab) journalled() string {
	l.Helper()
	if rollout := l.cluster("demo").Status.Rollout; rollout != nil {
		return rollout.Current
	}
	return ""
}

// TestLateWrite: a write of the last server's template is on its way for long. Meanwhile another controller leads, and the
// user takes the change back, so that nothing of that server has to be written. The late write is refused all the same.
func TestLateWrite(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.startKubelet()
	held := &valve{}
	l.startController(controllerOptions{transport: func(next http.RoundTripper) http.RoundTripper { held.next = next; return held }})
	l.create(withJetStream("demo", 3))
	l.untilAtRest("demo")
	from, seen := l.mark(), map[string]bool{}
	held.arm(t, func(request *http.Request) bool {
		if restarts(request) {
			seen[request.URL.Path] = true
		}
		return len(seen) == 3
	})
	l.change("demo", moreMemory)
	held.await(t)
	l.startController(controllerOptions{})
	l.change("demo", func(spec *v1beta1.NatsClusterSpec) { *spec = withJetStream("demo", 3).Spec })
	begun := len(l.stops(from))
	l.Eventually(func() int { return len(l.stops(from)) }).Should(gomega.BeNumerically(">", begun))
	held.letGo()
	if code := <-held.answer; code != http.StatusConflict {
		t.Errorf("the late write was answered with %d", code)
	}
	l.untilAtRest("demo")
	l.oneAtATime(from)
}

// TestStallsBeforeItRereads: a controller is slow before it reads the facts again. Meanwhile another one leads, the user
// changes the spec, and the other comes to its second server. The first finds everything whole and fresh, and yet may not
// take the step that it had begun: its NatsCluster is not the present one. What it decides after that is decided afresh.
func TestStallsBeforeItRereads(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.startKubelet()
	first, second := &valve{}, &valve{}
	l.startController(controllerOptions{transport: func(next http.RoundTripper) http.RoundTripper { first.next = next; return first }})
	l.create(withJetStream("demo", 3))
	l.untilAtRest("demo")
	from := l.mark()
	first.arm(t, rereads)
	l.change("demo", moreMemory)
	first.await(t)
	begun := l.journalled()
	second.arm(t, func(request *http.Request) bool { return restarts(request) && path.Base(request.URL.Path) != begun })
	l.change("demo", func(spec *v1beta1.NatsClusterSpec) {
		spec.Resources.Limits[corev1.ResourceMemory] = resource.MustParse("16Gi")
	})
	l.startController(controllerOptions{transport: func(next http.RoundTripper) http.RoundTripper { second.next = next; return second }})
	second.await(t)
	first.letGo()
	l.Consistently(func() []string { return l.stops(from) }).WithTimeout(5 * time.Second).ShouldNot(gomega.Equal([]string{begun, begun}))
	second.letGo()
	<-second.answer
	l.untilAtRest("demo")
	l.oneAtATime(from)
}
