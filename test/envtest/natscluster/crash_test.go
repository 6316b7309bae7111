package natscluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path"
	"strings"
	"sync"
	"testing"

	"github.com/onsi/gomega"

	"github.com/holdfast-dev/holdfast/api/nats/cluster/v1beta1"
	clustercontroller "github.com/holdfast-dev/holdfast/internal/nats/cluster/controller"
	"github.com/holdfast-dev/holdfast/internal/nats/monitorapi"
	"github.com/holdfast-dev/holdfast/internal/nats/sysapi"
	"github.com/holdfast-dev/holdfast/test/sim/atrest"
)

// A call is one request of the controller that leaves the process: a write to the API server, or a question to a server over
// $SYS. It is the same call wherever it comes up again in the same step.
type call struct {
	// step is the server whose step is under way, as the controller has last written it; empty between rollouts.
	step string
	verb string
	// object is the kind and name of what is written, or the server that is asked.
	object string
}

func (c call) String() string {
	if c.step == "" {
		return fmt.Sprintf("%s %s", c.verb, c.object)
	}
	return fmt.Sprintf("%s %s in the step of %s", c.verb, c.object, c.step)
}

// A crash is the end of the controller at a call.
type crash struct {
	call
	after bool // the call has had its effect, and nobody hears of it
}

func (c crash) String() string {
	if c.after {
		return "after  " + c.call.String()
	}
	return "before " + c.call.String()
}

// reaper ends controllers, one after the other, at each call that none of them was ended at before.
type reaper struct {
	mu    sync.Mutex
	fired map[crash]bool
	calls map[call]bool
	step  string
}

var errDead = errors.New("the controller is dead")

// victim is one controller in a reaper's hands.
type victim struct {
	*reaper
	next http.RoundTripper
	once sync.Once
	died chan crash // has one, when it has come to that
	dead chan struct{}
}

func (r *reaper) victim() *victim {
	return &victim{reaper: r, died: make(chan crash, 1), dead: make(chan struct{})}
}

// at is told of each call. It says whether the controller ends before it, or after.
func (v *victim) at(verb, object string) (before, after bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	c := call{v.step, verb, object}
	v.calls[c] = true
	for _, end := range []crash{{c, false}, {c, true}} {
		if !v.fired[end] {
			fresh := false
			v.once.Do(func() { fresh = true })
			if !fresh {
				return true, false // it is dead already
			}
			v.fired[end] = true
			v.died <- end
			if !end.after {
				close(v.dead)
			}
			return !end.after, end.after
		}
	}
	return false, false
}

func (v *victim) isDead() bool {
	select {
	case <-v.dead:
		return true
	default:
		return false
	}
}

// begin is told of a call that is about to be made. It fails where the controller is dead, or dies before it, and says
// whether it dies after it.
func (v *victim) begin(verb, object string) (after bool, err error) {
	if v.isDead() {
		return false, errDead
	}
	before, after := v.at(verb, object)
	if before {
		return false, errDead
	}
	return after, nil
}

// do makes a call. What the controller dies after nobody hears of.
func (v *victim) do(verb, object string, effect func() error) error {
	after, err := v.begin(verb, object)
	if err != nil {
		return err
	}
	err = effect()
	if after {
		close(v.dead)
		return errDead
	}
	return err
}

// RoundTrip implements http.RoundTripper, towards the API server.
func (v *victim) RoundTrip(request *http.Request) (*http.Response, error) {
	if request.Method == http.MethodGet && !v.isDead() {
		return v.next.RoundTrip(request)
	}
	verb, object := request.Method, objectOf(request)
	if request.URL.Query().Get("dryRun") != "" {
		verb = "TRY"
	}
	v.journalled(request)
	after, err := v.begin(verb, object)
	if err != nil {
		return nil, err
	}
	response, err := v.next.RoundTrip(request)
	if !after {
		return response, err
	}
	close(v.dead)
	if err == nil {
		_ = response.Body.Close()
	}
	return nil, errDead
}

// objectOf is the kind and name that a request is about. Events have names of their own each time.
func objectOf(request *http.Request) string {
	parts := strings.Split(strings.Trim(request.URL.Path, "/"), "/")
	for i, part := range parts {
		if part == "namespaces" && i+2 < len(parts) {
			if parts[i+2] == "events" {
				return "events"
			}
			return path.Join(parts[i+2:]...)
		}
	}
	return request.URL.Path
}

// journalled notes the step that a status is about to say is under way.
func (v *victim) journalled(request *http.Request) {
	if request.Method != http.MethodPut || !strings.HasSuffix(request.URL.Path, "/status") || request.GetBody == nil {
		return
	}
	body, err := request.GetBody()
	if err != nil {
		return
	}
	text, err := io.ReadAll(body)
	if err != nil {
		return
	}
	var cluster v1beta1.NatsCluster
	if json.Unmarshal(text, &cluster) != nil {
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.step = ""; cluster.Status.Rollout != nil {
		v.step = cluster.Status.Rollout.Current
	}
}

// asked is a connection of a victim to a system account.
type asked struct {
	clustercontroller.System
	*victim
}

func (a asked) Varz(ctx context.Context, server string) (reply monitorapi.Varz, err error) {
	err = a.do("VARZ", server, func() (err error) { reply, err = a.System.Varz(ctx, server); return err })
	return reply, err
}

func (a asked) Jsz(ctx context.Context, server string, offset, limit int) (reply monitorapi.Jsz, err error) {
	err = a.do("JSZ", server, func() (err error) { reply, err = a.System.Jsz(ctx, server, offset, limit); return err })
	return reply, err
}

func (a asked) Reload(ctx context.Context, id string) error {
	return a.do("RELOAD", "a server", func() error { return a.System.Reload(ctx, id) })
}

func (v *victim) system(accounts clustercontroller.SystemAccounts) clustercontroller.SystemAccounts {
	return func(ctx context.Context, key string, options sysapi.Options, trust []byte) (clustercontroller.System, error) {
		if v.isDead() {
			return nil, errDead
		}
		system, err := accounts(ctx, key, options, trust)
		return asked{system, v}, err
	}
}

// start begins a controller in the reaper's hands.
func (v *victim) start(l *lab) (stop func()) {
	return l.startController(controllerOptions{
		monitor:   closed{},
		transport: func(next http.RoundTripper) http.RoundTripper { v.next = next; return v },
		system:    v.system,
	})
}

// through has controllers bring a change about, each ended at the first call at which none was ended before, until one goes
// through without that. It says how many ended.
func (r *reaper) through(l *lab, change func(*v1beta1.NatsClusterSpec)) (ended int) {
	l.Helper()
	l.change("demo", change)
	for {
		v := r.victim()
		stop := v.start(l)
		rested := make(chan struct{})
		go func() {
			defer close(rested)
			l.restsUnless(v.dead)
		}()
		<-rested
		stop()
		if !v.isDead() {
			return ended
		}
		ended++
		fmt.Printf("crash %3d: %s\n", len(r.fired), <-v.died)
	}
}

// restsUnless waits until the NatsCluster is at rest, or the controller is dead.
func (l *lab) restsUnless(dead <-chan struct{}) {
	l.Eventually(func() bool {
		select {
		case <-dead:
			return true
		default:
		}
		seen := l.cluster("demo")
		return seen.Status.ObservedGeneration == seen.Generation && atrest.Holds(seen)
	}).Should(gomega.BeTrue(), func() string {
		return "the controller lives, and nothing comes to rest: " + conditionsOf(l.cluster("demo"))
	})
}

// TestKilledAtEveryCall goes through reloads and rolling restarts, over and over, and ends the controller before and after
// every call that it makes, until each has had its two crashes. After each, another controller goes on from there.
func TestKilledAtEveryCall(t *testing.T) {
	t.Parallel()
	l, _ := startTrusting(t)
	l.stopControllers()
	r := &reaper{fired: map[crash]bool{}, calls: map[call]bool{}}
	from, processes := l.mark(), l.processes()
	for round, ended := 0, 1; ended > 0; round++ {
		if round == 20 {
			t.Fatalf("still calls at which no controller was ended, after %d rounds", round)
		}
		tags := map[string]string{"round": fmt.Sprint(round)}
		ended = r.through(l, func(s *v1beta1.NatsClusterSpec) { s.ServerTags = tags })
		if got := l.processes(); len(got) != len(processes) {
			t.Errorf("processes %v", got)
		}
		memory := []string{"8Gi", "4Gi"}[round%2]
		ended += r.through(l, withMemory(memory))
	}
	l.oneAtATime(from)
	if len(r.fired) != 2*len(r.calls) {
		t.Errorf("%d calls and %d crashes, want two for each", len(r.calls), len(r.fired))
	}
	fmt.Printf("%d calls, %d crashes\n", len(r.calls), len(r.fired))
}
