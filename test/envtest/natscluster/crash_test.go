package natscluster

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/onsi/gomega"

	"github.com/holdfast-dev/holdfast/api/nats/cluster/v1beta1"
	clustercontroller "github.com/holdfast-dev/holdfast/internal/nats/cluster/controller"
	"github.com/holdfast-dev/holdfast/internal/nats/monitorapi"
	"github.com/holdfast-dev/holdfast/internal/nats/sysapi"
	"github.com/holdfast-dev/holdfast/test/sim/atrest"
	"github.com/holdfast-dev/holdfast/test/sim/reaper"
)

// newReaper makes what ends the controllers of a change; ends are the endings that are due at a call.
func newReaper(change string, ends func(c reaper.Call, server string) []reaper.Ending) *reaper.Reaper {
	return reaper.New(reaper.Options{Change: change, Ends: ends, Part: serverUnderWay})
}

// serverUnderWay is the server whose step a status is about to say is under way.
func serverUnderWay(_ string, body []byte) (string, bool) {
	var cluster v1beta1.NatsCluster
	if json.Unmarshal(body, &cluster) != nil {
		return "", false
	}
	if cluster.Status.Rollout == nil {
		return "", true
	}
	return cluster.Status.Rollout.Current, true
}

// victim is one controller in a reaper's hands.
type victim struct {
	*reaper.Victim
	mu  sync.Mutex
	ids map[string]string // of the processes that have answered, and their servers
}

func victimOf(r *reaper.Reaper) *victim { return &victim{Victim: r.Victim(), ids: map[string]string{}} }

// asked is a connection of a victim to a system account.
type asked struct {
	clustercontroller.System
	*victim
}

func (a asked) Varz(ctx context.Context, server string) (reply monitorapi.Varz, err error) {
	err = a.Do("VARZ", server, func() (err error) { reply, err = a.System.Varz(ctx, server); return err })
	a.mu.Lock()
	defer a.mu.Unlock()
	a.ids[reply.ID] = server
	return reply, err
}

func (a asked) Jsz(ctx context.Context, server string, offset, limit int) (reply monitorapi.Jsz, err error) {
	err = a.Do("JSZ", server, func() (err error) { reply, err = a.System.Jsz(ctx, server, offset, limit); return err })
	return reply, err
}

func (a asked) Reload(ctx context.Context, id string) error {
	a.mu.Lock()
	server := a.ids[id]
	a.mu.Unlock()
	return a.Do("RELOAD", server, func() error { return a.System.Reload(ctx, id) })
}

func (v *victim) system(accounts clustercontroller.SystemAccounts) clustercontroller.SystemAccounts {
	return func(ctx context.Context, key string, options sysapi.Options, trust []byte) (clustercontroller.System, error) {
		if v.IsDead() {
			return nil, reaper.ErrDead
		}
		system, err := accounts(ctx, key, options, trust)
		return asked{system, v}, err
	}
}

// start begins a controller in the reaper's hands, with a fault or without.
func (v *victim) start(l *lab, with fault) (stop func()) {
	return l.startController(controllerOptions{
		monitor: closed{}, api: with.api,
		transport: v.Through,
		system: func(accounts clustercontroller.SystemAccounts) clustercontroller.SystemAccounts {
			return v.system(with.accounts(accounts))
		},
	})
}

// through has controllers bring a change about, each ended at the first call at which none was ended before, until one goes
// through without that. It says how many ended.
func through(l *lab, r *reaper.Reaper, change string, how func(*v1beta1.NatsClusterSpec)) (ended int) {
	l.Helper()
	r.Begin(change)
	l.change("demo", how)
	for {
		v := victimOf(r)
		stop := v.start(l, fault{})
		rested := make(chan struct{})
		go func() {
			defer close(rested)
			l.restsUnless(v.Dead)
		}()
		<-rested
		stop()
		end, hasEnded := v.Ended()
		if !hasEnded {
			return ended
		}
		ended++
		_, _, fired := r.Count()
		fmt.Printf("crash %3d: %s\n", fired, end)
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
	r := newReaper("", func(reaper.Call, string) []reaper.Ending { return []reaper.Ending{reaper.Before, reaper.After} })
	from, violations := l.mark(), []string(nil)
	for round, ended := 0, 1; ended > 0 || !all(r); round++ {
		if round == 20 {
			calls, _, fired := r.Count()
			t.Fatalf("after %d rounds: %d calls, %d crashes", round, calls, fired)
		}
		processes, tags := l.processes(), map[string]string{"round": fmt.Sprint(round)}
		ended = through(l, r, reloading, func(s *v1beta1.NatsClusterSpec) { s.ServerTags = tags })
		if got := l.processes(); !cmp.Equal(processes, got) {
			violations = append(violations, fmt.Sprintf("a reload restarted servers: %v before, %v after", processes, got))
		}
		memory := []string{"8Gi", "4Gi"}[round%2]
		ended += through(l, r, restarting, withMemory(memory))
	}
	violations = append(violations, l.downTogether(from)...)
	for _, violation := range violations {
		t.Error(violation)
	}
	complete(t, r, servers(l.cluster("demo")))
	calls, _, fired := r.Count()
	fmt.Printf("%d calls, %d crashes, %d violations\n", calls, fired, len(violations))
}

// What a change is brought about by.
const (
	reloading  = "reload"
	restarting = "restart"
)

// all says that each call has had its two crashes.
func all(r *reaper.Reaper) bool {
	calls, due, fired := r.Count()
	return calls > 0 && fired == due
}

// complete fails unless each call has had its two crashes, and a reload and a restart of each server were among them.
func complete(t *testing.T, r *reaper.Reaper, servers []string) {
	t.Helper()
	if calls, due, fired := r.Count(); fired != due {
		t.Errorf("%d calls and %d crashes, want %d", calls, fired, due)
	}
	for _, server := range servers {
		for _, wanted := range []reaper.Call{
			{Step: reloading, Verb: http.MethodPatch, Object: "configmaps/" + server + "-config"},
			{Step: reloading, Verb: "RELOAD", Object: server},
			{Step: restarting + " of " + server, Verb: http.MethodPatch, Object: "configmaps/" + server + "-config"},
			{Step: restarting + " of " + server, Verb: http.MethodPatch, Object: "statefulsets/" + server},
		} {
			if !r.Saw(wanted) {
				t.Errorf("no call was %s", wanted)
			}
		}
	}
}
