package natsmodel

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/api/nats/cluster/v1beta1"
	"github.com/holdfast-dev/holdfast/test/sim/fault"
)

// TestFound tells again what the properties have found, in few words.
func TestFound(t *testing.T) {
	t.Parallel()
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
		// Whoever had no StatefulSet and no Pod was not asked, and had the only copy of a stream on its claim.
		"a server is taken away from a NatsCluster that is to go": {natsCluster(3, true), func(_ context.Context, h *teller) {
			h.does(Deletions, "delete the NatsCluster", "")
			h.does(Tampering, "delete the StatefulSet", "demo-2")
			h.happens("the owner of demo-2-0 is gone", "it enters lame duck (demo-2-0)", "it ends (demo-2-0)")
			for _, stream := range h.World.streams() {
				if !slices.Equal(stream.members, []string{"demo-2"}) {
					h.World.drop(stream)
				}
			}
		}, settleDeleted},
		// The StatefulSet was on no list, and so there seemed to be no server.
		"a StatefulSet of a NatsCluster that is to go loses its labels, and its Pod": {natsCluster(1, true), func(_ context.Context, h *teller) {
			h.does(Deletions, "delete the NatsCluster", "")
			h.does(Tampering, "tamper with the StatefulSet's labels", "demo-0")
			h.does(Failures, "delete the Pod", "demo-0")
			h.happens("it enters lame duck (demo-0-0)", "it ends (demo-0-0)")
		}, settleDeleted},
		// A leader that had heard of the deletion, and not of the servers yet, saw none.
		"a cache is behind with the servers of a NatsCluster that is to go": {Trusting(natsCluster(3, true)), func(ctx context.Context, h *teller) {
			second := h.Start(ctx)
			h.pass(second, 150)
			second.SetLag(fault.Lag{Frozen: true, Except: v1beta1.KindNatsCluster})
			h.does(Edits, "edit: more replicas", "")
			for range 20 { // the new server comes up, and has a stream
				h.pass(h.Instances[0], 150)
				for i := range 15 {
					h.Step(i * 7)
				}
			}
			for _, stream := range h.World.streams() {
				h.World.drop(stream)
			}
			h.World.groups = append(h.World.groups, &group{
				name: "LATE", members: []string{"demo-3"}, since: h.World.Tick, leader: "demo-3", current: map[string]bool{"demo-3": true},
			})
			h.does(Deletions, "delete the NatsCluster", "")
			for range 3 {
				h.pass(second, 150)
				h.check()
			}
		}, settleDeleted},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			found := fault.InBubble(t, func(ctx context.Context) {
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
				t.Fatalf("%s: %v\n%s", found.Kind, found.Err, strings.Join(found.Trace, "\n"))
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

// happens has these transitions happen.
func (h *teller) happens(names ...string) {
	for _, name := range names {
		number := slices.IndexFunc(h.World.Transitions(), func(t Transition) bool { return t.Name == name })
		if number < 0 {
			h.ends(unsafe, errors.New("it cannot happen that "+name))
		}
		h.Step(number)
	}
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
