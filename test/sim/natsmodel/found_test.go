package natsmodel

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/api/nats/cluster/v1beta1"
)

// TestFound tells again what the properties have found, in few words.
func TestFound(t *testing.T) {
	for name, tale := range map[string]struct {
		cluster *v1beta1.NatsCluster
		play    func(context.Context, *teller)
		end     func(context.Context, *teller)
	}{
		// A Pod that waits for its ConfigMap is given up by no kubelet, and the ConfigMap came back only with the server's step,
		// which waited for the Pod.
		"a ConfigMap is deleted in the middle of a rollout, and its Pod is replaced": {natsCluster(3, true), func(_ context.Context, h *teller) {
			h.does(Edits, "edit: memory", "")
			victim := h.untilOneIsBack()
			h.does(Tampering, "delete the ConfigMap", victim)
			h.does(Failures, "delete the Pod", victim)
		}, settle},
		// The ConfigMap was put back and the template was as it should be, so nothing restarted the process.
		"a process starts with a ConfigMap that a user has edited": {natsCluster(3, true), func(_ context.Context, h *teller) {
			h.World.Disturb(named(Tampering, "tamper with the ConfigMap's data"), "demo-0", 1) // a configuration with which it runs
			h.does(Failures, "kill the process", "demo-0")
			for range 20 {
				h.Step(0)
			}
		}, settle},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			found := inBubble(t, func(ctx context.Context) {
				history, err := NewHistory(tale.cluster, true, nil)
				if err != nil {
					panic(err)
				}
				defer history.Stop()
				h := &teller{History: history, counts: counts{}}
				h.Start(ctx)
				if !h.rest(60) {
					h.ends(restless, errors.New(h.World.describe()))
				}
				tale.play(ctx, h)
				h.check()
				tale.end(ctx, h)
			})
			if found != nil {
				t.Fatalf("%s: %v\n%s", found.kind, found.err, strings.Join(found.trace, "\n"))
			}
		})
	}
}

func named(of []Disturbance, name string) Disturbance {
	i := slices.IndexFunc(of, func(d Disturbance) bool { return d.Name == name })
	return of[i]
}

func (h *teller) does(of []Disturbance, name, server string) {
	if !h.World.Disturb(named(of, name), server, 1) {
		h.ends(unsafe, errors.New("there is nothing to "+name+" of "+server))
	}
	h.Checker.Observe()
}

// untilOneIsBack has a rollout go on until its first server is back, and names one that is to come.
func (h *teller) untilOneIsBack() (pending string) {
	for range 40 {
		h.pass(h.Alive()[0], 150)
		for i := range 3 {
			h.Step(i)
		}
		if r := h.World.Cluster().Status.Rollout; r != nil && r.Current != "" && len(r.Pending) > 0 && !h.Checker.down[r.Current] {
			return r.Pending[len(r.Pending)-1]
		}
	}
	h.ends(restless, errors.New("no server has come back: "+h.World.describe()))
	return ""
}
