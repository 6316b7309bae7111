package natscluster

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-dev/holdfast/api/nats/cluster/v1beta1"
	clustercontroller "github.com/holdfast-dev/holdfast/internal/nats/cluster/controller"
	"github.com/holdfast-dev/holdfast/internal/nats/settled"
	"github.com/holdfast-dev/holdfast/internal/nats/sysapi"
	"github.com/holdfast-dev/holdfast/test/sim/reaper"
	"github.com/holdfast-dev/holdfast/test/sim/seeded"
)

// A fault is what a controller is given in place of the real thing; none where all is nil.
type fault struct {
	api    func(client.Client, client.Reader) (client.Client, client.Reader)
	memory *seeded.Memory
}

// accounts are system accounts with the fault in them.
func (f fault) accounts(whole clustercontroller.SystemAccounts) clustercontroller.SystemAccounts {
	if f.memory == nil {
		return whole
	}
	return func(ctx context.Context, key string, options sysapi.Options, trust []byte) (clustercontroller.System, error) {
		system, err := whole(ctx, key, options, trust)
		return remembered{f.memory.Of(system), system}, err
	}
}

type remembered struct {
	settled.MonitorAPI
	system clustercontroller.System
}

func (r remembered) Reload(ctx context.Context, id string) error { return r.system.Reload(ctx, id) }
func (r remembered) Denied() string                              { return r.system.Denied() }

// TestCrashRunFindsSeededBugs ends one controller at one call, and something happens before the next one goes on. As it is,
// nothing is broken by that; with a fault in both controllers it is found that two servers are down together.
func TestCrashRunFindsSeededBugs(t *testing.T) {
	t.Parallel()
	for name, bug := range map[string]struct {
		run   func(*lab, fault) []string
		fault fault
	}{
		"none, a late write":            {lateWrite, fault{}},
		"none, a server that is silent": {silentServer, fault{}},
		"nothing is fenced":             {lateWrite, fault{api: seeded.Unfenced}},
		"the gate answers from a cache": {silentServer, fault{memory: seeded.GateFromCache()}},
		"what does not answer is well":  {silentServer, fault{memory: seeded.UnknownIsOpen()}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l, _ := startTrusting(t)
			l.stopControllers()
			found := bug.run(l, bug.fault)
			if (len(found) > 0) != (bug.fault.api != nil || bug.fault.memory != nil) {
				t.Errorf("found: %v", found)
			}
			for _, violation := range found[:min(1, len(found))] {
				fmt.Printf("seeded bug is found: %s: %s\n", name, violation)
			}
		})
	}
}

// lateWrite ends a controller whose write of the first server's template is on its way. It arrives when the next controller,
// with another change to bring about, has a second server down.
func lateWrite(l *lab, with fault) []string {
	l.Helper()
	from := l.mark()
	r := newReaper(restarting, func(c reaper.Call, server string) []reaper.Ending {
		if server != "" && c.Verb == http.MethodPatch && c.Object == "statefulsets/"+server {
			return []reaper.Ending{reaper.Sending}
		}
		return nil
	})
	endOne(l, r, with)
	l.change("demo", withMemory("16Gi"))
	l.startController(controllerOptions{monitor: closed{}, api: with.api})
	l.Eventually(func() bool {
		return slices.ContainsFunc(l.stops(from), func(server string) bool { return server != r.Part() })
	}).Should(gomega.BeTrue(), "another server than %s is stopped", r.Part())
	close(r.LetGo)
	if code := <-r.Arrived; code == http.StatusConflict {
		return l.downTogether(from)
	}
	l.Eventually(func() []string { return l.downTogether(from) }).ShouldNot(gomega.BeEmpty())
	return l.downTogether(from)
}

// silentServer ends a controller that has journalled a step, and with it, unseen, another server.
func silentServer(l *lab, with fault) []string {
	l.Helper()
	from := l.mark()
	r := newReaper(restarting, func(c reaper.Call, server string) []reaper.Ending {
		if server != "" && c.Verb == http.MethodPut {
			return []reaper.Ending{reaper.After}
		}
		return nil
	})
	endOne(l, r, with)
	cluster := l.cluster("demo")
	silent := slices.DeleteFunc(servers(cluster), func(server string) bool {
		return server == r.Part() || server == cluster.Status.JetStream.MetaLeader
	})[0]
	thaw := l.kubelet.Halt(silent + "-0")
	defer thaw()
	l.startController(controllerOptions{monitor: closed{}, system: with.accounts})
	l.Eventually(func() bool {
		progressing := condition(l.cluster("demo"), v1beta1.ConditionProgressing).Message
		return len(l.downTogether(from)) > 0 || strings.Contains(progressing, "waiting for Settled: "+silent+" does not answer")
	}).Should(gomega.BeTrue(), "the step is taken, or the gate is closed by %s", silent)
	return l.downTogether(from)
}

// endOne has a controller begin a rolling restart, and waits until it has ended.
func endOne(l *lab, r *reaper.Reaper, with fault) {
	l.Helper()
	v := victimOf(r)
	stop := v.start(l, with)
	l.change("demo", withMemory("8Gi"))
	l.Eventually(v.Dead).Should(gomega.BeClosed())
	stop()
	end, _ := v.Ended()
	l.Log("the controller ended ", end)
}
