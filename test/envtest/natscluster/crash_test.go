package natscluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/onsi/gomega"

	"github.com/holdfast-dev/holdfast/api/nats/cluster/v1beta1"
	clustercontroller "github.com/holdfast-dev/holdfast/internal/nats/cluster/controller"
	"github.com/holdfast-dev/holdfast/internal/nats/monitorapi"
	"github.com/holdfast-dev/holdfast/internal/nats/sysapi"
	"github.com/holdfast-dev/holdfast/test/sim/atrest"
)

// reaper ends controllers, one after the other, at each call that none of them was ended at before.
type reaper struct {
	mu    sync.Mutex
	fired map[crash]bool
	calls map[call]bool
	// change is what is brought about, and server the one whose step is under way.
	change, server string
	// ends are the endings that are due at a call.
	ends func(c call, server string) []ending
	// letGo lets what is on its way go on, and arrived has the API server's answer then.
	letGo   chan struct{}
	arrived chan int
}

func newReaper(change string, ends func(c call, server string) []ending) *reaper {
	return &reaper{
		fired: map[crash]bool{}, calls: map[call]bool{}, change: change, ends: ends,
		letGo: make(chan struct{}), arrived: make(chan int, 1),
	}
}

// step is what the controller is at.
func (r *reaper) step() string {
	if r.server == "" {
		return r.change
	}
	return r.change + " of " + r.server
}

var errDead = errors.New("the controller is dead")

// victim is one controller in a reaper's hands.
type victim struct {
	*reaper
	next http.RoundTripper
	once sync.Once
	died chan crash // has one, when it has come to that
	dead chan struct{}
	ids  map[string]string // of the processes that have answered, and their servers
}

func (r *reaper) victim() *victim {
	return &victim{reaper: r, died: make(chan crash, 1), dead: make(chan struct{}), ids: map[string]string{}}
}

// at is told of each call. It says how the controller ends at it; empty where it does not.
func (v *victim) at(verb, object string) ending {
	v.mu.Lock()
	defer v.mu.Unlock()
	c := call{v.step(), verb, object}
	if object == kindEvents {
		c.step = v.change
	}
	v.calls[c] = true
	for _, how := range v.ends(c, v.server) {
		end := crash{c, how}
		if v.fired[end] {
			continue
		}
		fresh := false
		v.once.Do(func() { fresh = true })
		if !fresh {
			return before // it is dead already
		}
		v.fired[end] = true
		v.died <- end
		if how != after {
			close(v.dead)
		}
		return how
	}
	return ""
}

// ended is how the controller, which has been stopped, ended before that, if it did.
func (v *victim) ended() (crash, bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.once.Do(func() {}) // what is still asked for it is no end of it
	select {
	case end := <-v.died:
		return end, true
	default:
		return crash{}, false
	}
}

func (v *victim) isDead() bool {
	select {
	case <-v.dead:
		return true
	default:
		return false
	}
}

// begin is told of a call that is about to be made. It fails where the controller is dead, or dies before it, and says how it
// dies otherwise.
func (v *victim) begin(verb, object string) (ending, error) {
	if v.isDead() {
		return "", errDead
	}
	how := v.at(verb, object)
	if how == before {
		return "", errDead
	}
	return how, nil
}

// do makes a call. What the controller dies after nobody hears of.
func (v *victim) do(verb, object string, effect func() error) error {
	how, err := v.begin(verb, object)
	if err != nil {
		return err
	}
	err = effect()
	if how == after {
		close(v.dead)
		return errDead
	}
	return err
}

// RoundTrip implements http.RoundTripper, towards the API server.
func (v *victim) RoundTrip(request *http.Request) (*http.Response, error) {
	if ofCache(request) && !v.isDead() {
		return v.next.RoundTrip(request)
	}
	verb, object := request.Method, objectOf(request)
	if request.URL.Query().Get("dryRun") != "" {
		verb = "TRY"
	}
	v.journalled(request)
	how, err := v.begin(verb, object)
	switch {
	case err != nil:
		return nil, err
	case how == sending:
		return nil, v.send(request)
	}
	response, err := v.next.RoundTrip(request)
	if how != after {
		return response, err
	}
	close(v.dead)
	if err == nil {
		_ = response.Body.Close()
	}
	return nil, errDead
}

// send has a request of a dead controller arrive when it is let go.
func (v *victim) send(request *http.Request) error {
	late := request.Clone(context.WithoutCancel(request.Context()))
	body, err := request.GetBody()
	if err != nil {
		return err
	}
	late.Body = body
	go func() {
		<-v.letGo
		response, err := v.next.RoundTrip(late)
		if err == nil {
			v.arrived <- response.StatusCode
			_ = response.Body.Close()
		}
		close(v.arrived)
	}()
	return errDead
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
	if v.server = ""; cluster.Status.Rollout != nil {
		v.server = cluster.Status.Rollout.Current
	}
}

// asked is a connection of a victim to a system account.
type asked struct {
	clustercontroller.System
	*victim
}

func (a asked) Varz(ctx context.Context, server string) (reply monitorapi.Varz, err error) {
	err = a.do("VARZ", server, func() (err error) { reply, err = a.System.Varz(ctx, server); return err })
	a.mu.Lock()
	defer a.mu.Unlock()
	a.ids[reply.ID] = server
	return reply, err
}

func (a asked) Jsz(ctx context.Context, server string, offset, limit int) (reply monitorapi.Jsz, err error) {
	err = a.do("JSZ", server, func() (err error) { reply, err = a.System.Jsz(ctx, server, offset, limit); return err })
	return reply, err
}

func (a asked) Reload(ctx context.Context, id string) error {
	a.mu.Lock()
	server := a.ids[id]
	a.mu.Unlock()
	return a.do("RELOAD", server, func() error { return a.System.Reload(ctx, id) })
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

// start begins a controller in the reaper's hands, with a fault or without.
func (v *victim) start(l *lab, with fault) (stop func()) {
	return l.startController(controllerOptions{
		monitor: closed{}, api: with.api,
		transport: func(next http.RoundTripper) http.RoundTripper { v.next = next; return v },
		system: func(accounts clustercontroller.SystemAccounts) clustercontroller.SystemAccounts {
			return v.system(with.accounts(accounts))
		},
	})
}

// through has controllers bring a change about, each ended at the first call at which none was ended before, until one goes
// through without that. It says how many ended.
func (r *reaper) through(l *lab, change string, how func(*v1beta1.NatsClusterSpec)) (ended int) {
	l.Helper()
	r.change = change
	l.change("demo", how)
	for {
		v := r.victim()
		stop := v.start(l, fault{})
		rested := make(chan struct{})
		go func() {
			defer close(rested)
			l.restsUnless(v.dead)
		}()
		<-rested
		stop()
		end, hasEnded := v.ended()
		if !hasEnded {
			return ended
		}
		ended++
		fmt.Printf("crash %3d: %s\n", len(r.fired), end)
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
// every call that it makes, until each has had its two crashes. After each, another controller goes on from there. A reload
// leaves every process as it is, and of the restarts there is never more than one at a time.
func TestKilledAtEveryCall(t *testing.T) {
	t.Parallel()
	l, _ := startTrusting(t)
	l.stopControllers()
	r := newReaper("", func(call, string) []ending { return []ending{before, after} })
	from, violations := l.mark(), []string(nil)
	for round, ended := 0, 1; ended > 0 || !r.all(); round++ {
		if round == 20 {
			t.Fatalf("after %d rounds: %d calls, %d crashes", round, len(r.calls), len(r.fired))
		}
		processes, tags := l.processes(), map[string]string{"round": fmt.Sprint(round)}
		ended = r.through(l, reloading, func(s *v1beta1.NatsClusterSpec) { s.ServerTags = tags })
		if got := l.processes(); !cmp.Equal(processes, got) {
			violations = append(violations, fmt.Sprintf("a reload restarted servers: %v before, %v after", processes, got))
		}
		memory := []string{"8Gi", "4Gi"}[round%2]
		ended += r.through(l, restarting, withMemory(memory))
	}
	violations = append(violations, l.downTogether(from)...)
	for _, violation := range violations {
		t.Error(violation)
	}
	r.complete(t, servers(l.cluster("demo")))
	fmt.Printf("%d calls, %d crashes, %d violations\n", len(r.calls), len(r.fired), len(violations))
}

// What a change is brought about by.
const (
	reloading  = "reload"
	restarting = "restart"
)

// all says that each call has had its two crashes.
func (r *reaper) all() bool { return len(r.calls) > 0 && len(r.fired) == 2*len(r.calls) }

// complete fails unless each call has had its two crashes, and a reload and a restart of each server were among them.
func (r *reaper) complete(t *testing.T, servers []string) {
	t.Helper()
	if !r.all() {
		t.Errorf("%d calls and %d crashes, want two for each", len(r.calls), len(r.fired))
	}
	for _, server := range servers {
		for _, wanted := range []call{
			{reloading, http.MethodPatch, "configmaps/" + server + "-config"},
			{reloading, "RELOAD", server},
			{restarting + " of " + server, http.MethodPatch, "configmaps/" + server + "-config"},
			{restarting + " of " + server, http.MethodPatch, "statefulsets/" + server},
		} {
			if !r.calls[wanted] {
				t.Errorf("no call was %s", wanted)
			}
		}
	}
}
