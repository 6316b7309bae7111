package natsmodel

import (
	"context"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-dev/holdfast/internal/nats/cluster/controller"
	"github.com/holdfast-dev/holdfast/internal/nats/cluster/reload"
	"github.com/holdfast-dev/holdfast/internal/nats/cluster/render"
	"github.com/holdfast-dev/holdfast/internal/nats/monitorapi"
	"github.com/holdfast-dev/holdfast/internal/nats/settled"
	"github.com/holdfast-dev/holdfast/internal/nats/sysapi"
	"github.com/holdfast-dev/holdfast/test/sim/fault"
	"github.com/holdfast-dev/holdfast/test/sim/seeded"
)

// TestTheTests puts faults into the controller, from outside, and wants random histories to find each.
func TestTheTests(t *testing.T) {
	t.Parallel()
	for name, bug := range map[string]struct {
		plot plot
		wrap func(Clients) Clients
		kind string // of the finding, which says that
		says string
	}{
		"nothing is fenced":                   {duelling, unfenced, unsafe, " down"},
		"the gate answers from a cache":       {rollouts, remembered(seeded.GateFromCache), unsafe, " down"},
		"what does not answer is well":        {rollouts, remembered(seeded.UnknownIsOpen), unsafe, " down"},
		"every reload counts as refused":      {reloads, deafened, unsafe, "gives up"},
		"what was given counts as loaded":     {reloads, believing, restless, "as its ConfigMap=false"},
		"who does not answer holds no stream": {silences, obliging, unsafe, "lets go"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			plot := bug.plot
			plot.wrap = bug.wrap
			histories := rapid.Custom(func(rt *rapid.T) *fault.Finding {
				return fault.InBubble(t, func(ctx context.Context) { plot.tell(ctx, rt, counts{}) })
			})
			const budget = 200
			for seed := range budget {
				if found := histories.Example(seed); found != nil && found.Kind == bug.kind && strings.Contains(found.Err.Error(), bug.says) {
					first, _, _ := strings.Cut(found.Err.Error(), "\n")
					t.Logf("found after %d histories: %s %s", seed+1, found.Kind, first)
					return
				}
			}
			t.Errorf("not found in %d histories", budget)
		})
	}
}

// duelling is about two leaders that stall at their steps, and little else.
var duelling = plot{
	duels:     true,
	failures:  pick(Failures, "kill the process"),
	edits:     pick(Edits, "edit: memory", "edit: another version"),
	tampering: pick(Tampering, "tamper with the ConfigMap's labels"),
}

// silences is about servers of a NatsCluster that is to go, which fall silent while the streams are deleted.
var silences = plot{
	system: true, deletion: true,
	failures:  pick(slices.Concat(Failures, Deletions), "freeze the process", "delete all streams", "lose the node", "kill the process"),
	edits:     pick(Deletions, "delete all streams", "delete a stream"),
	tampering: pick(Tampering, "tamper with the ConfigMap's labels"),
}

// TestUnfenced: a leader stalls at its write of a StatefulSet until its successor has another server down. The write fails;
// and without preconditions it is found.
func TestUnfenced(t *testing.T) {
	t.Parallel()
	for name, wrap := range map[string]func(Clients) Clients{"as it is": nil, "nothing is fenced": unfenced} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			found := fault.InBubble(t, func(ctx context.Context) { lateWrite(ctx, wrap) })
			if isFound := found != nil && found.Kind == unsafe; isFound != (wrap != nil) {
				t.Errorf("found: %+v", found)
			}
		})
	}
}

func lateWrite(ctx context.Context, wrap func(Clients) Clients) {
	history, err := NewHistory(natsCluster(3, true), true, wrap)
	if err != nil {
		panic(err)
	}
	defer history.Stop()
	h := &teller{History: history, counts: counts{}}
	deposed := h.Start(ctx)
	h.rest(60)
	memory := named(Edits, "edit: memory")
	h.World.Disturb(memory, "", 1)
	server := ""
	for range 300 {
		next := h.Scheduler.Next(deposed)
		if next != nil && next.Verb == "apply" && next.Kind == "StatefulSet" && !next.DryRun {
			server = next.Name
			break
		}
		h.Resume(deposed, fault.Fate{Kind: fault.GoOn})
	}
	leader := h.Start(ctx)
	h.World.Disturb(memory, "", 2)
	for range 60 {
		if r := h.World.Cluster().Status.Rollout; r != nil && r.Current != server && h.Checker.down[r.Current] {
			break
		}
		h.pass(leader, 150)
		for i := range 4 {
			h.Step(i)
		}
		h.check()
	}
	h.Resume(deposed, fault.Fate{Kind: fault.GoOn})
	h.check()
}

func unfenced(c Clients) Clients {
	c.Client, c.Live = seeded.Unfenced(c.Client, c.Live)
	return c
}

// remembered has each instance ask the servers through a memory of its own.
func remembered(memory func() *seeded.Memory) func(Clients) Clients {
	return func(c Clients) Clients {
		m := memory()
		c.Monitor, c.System = m.Of(c.Monitor), overMemory{m.Of(c.System), c.System}
		return c
	}
}

type overMemory struct {
	settled.MonitorAPI
	system controller.System
}

func (o overMemory) Reload(ctx context.Context, id string) error { return o.system.Reload(ctx, id) }
func (o overMemory) Denied() string                              { return o.system.Denied() }

// deafened takes every answer to a reload for a refusal.
func deafened(c Clients) Clients {
	c.System = deaf{c.System}
	return c
}

type deaf struct{ controller.System }

func (d deaf) Reload(ctx context.Context, id string) error {
	if err := d.System.Reload(ctx, id); err != nil {
		return err
	}
	return sysapi.ErrRefused
}

// believing takes it that a process which answers runs what its ConfigMap says.
func believing(c Clients) Clients {
	c.System = credulous{c.System, c.Live}
	return c
}

type credulous struct {
	controller.System
	live client.Reader
}

func (b credulous) Varz(ctx context.Context, server string) (monitorapi.Varz, error) {
	varz, err := b.System.Varz(ctx, server)
	if err != nil {
		return varz, err
	}
	var config corev1.ConfigMap
	if b.live.Get(ctx, client.ObjectKeyFromObject(configMap(server)), &config) == nil {
		varz.ConfigDigest = reload.Digest(config.Data[render.ConfigKey])
	}
	return varz, nil
}

// obliging has a server that does not answer be as it was, but for its streams: it has none.
func obliging(c Clients) Clients {
	with := remembered(seeded.UnknownIsOpen)(c)
	with.Monitor, with.System = streamless{with.Monitor, c.Monitor}, overMemory{streamless{with.System, c.System}, c.System}
	return with
}

type streamless struct{ remembers, asks settled.MonitorAPI }

func (s streamless) Varz(ctx context.Context, at string) (monitorapi.Varz, error) {
	return s.remembers.Varz(ctx, at)
}

func (s streamless) Jsz(ctx context.Context, at string, offset, limit int) (monitorapi.Jsz, error) {
	before, known := s.remembers.Jsz(ctx, at, offset, limit)
	jsz, err := s.asks.Jsz(ctx, at, offset, limit)
	if err != nil && known == nil {
		return monitorapi.Jsz{ServerID: before.ServerID, Meta: before.Meta}, nil
	}
	return jsz, err
}
