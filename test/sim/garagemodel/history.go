package garagemodel

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/holdfast-dev/holdfast/internal/garage/drain"
	"github.com/holdfast-dev/holdfast/test/sim/fault"
)

// A History is one world with the controller's instances in it.
type History struct {
	World     *World
	Scheduler *fault.Scheduler
	// Instances are those that were started; some are dead.
	Instances []*fault.Instance
	// Completed counts the proofs, Destroyed says that the source has been.
	Completed int
	Destroyed bool

	decide Decide
	last   drain.Plan
	lags   []*int
	broken error
}

// NewHistory makes one. It has to be in a bubble of testing/synctest.
func NewHistory(w *World, decide Decide) *History {
	return &History{World: w, Scheduler: &fault.Scheduler{}, decide: decide}
}

var epoch = time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)

func (h *History) now() time.Time { return epoch.Add(time.Duration(h.World.Clock) * time.Second) }

// Start starts one more instance of the controller.
func (h *History) Start(ctx context.Context) *fault.Instance {
	lag := new(int)
	c := &controller{History: h, lag: lag}
	name := fmt.Sprintf("controller-%d", len(h.Instances))
	instance := h.Scheduler.Start(ctx, name, func(ctx context.Context, i *fault.Instance) {
		c.instance = i
		c.run(ctx, i)
	})
	h.Instances, h.lags = append(h.Instances, instance), append(h.lags, lag)
	h.Scheduler.Settle()
	return instance
}

// Alive are the instances that run, the oldest first.
func (h *History) Alive() []*fault.Instance {
	return slices.DeleteFunc(slices.Clone(h.Instances), func(i *fault.Instance) bool { return !i.Alive() })
}

// Stop ends all instances.
func (h *History) Stop() {
	for _, instance := range h.Instances {
		h.Scheduler.Kill(instance)
	}
	h.Scheduler.Settle()
}

// SetLag has an instance's cache be so many versions behind.
func (h *History) SetLag(instance *fault.Instance, versions int) {
	*h.lags[slices.Index(h.Instances, instance)] = versions
}

// Resume lets an instance's next call have its fate. Where it rests, time passes.
func (h *History) Resume(instance *fault.Instance, fate fault.Fate) *fault.Call {
	call := h.Scheduler.Next(instance)
	if call == nil {
		return nil
	}
	if call.Class == fault.Idle {
		seconds := int(call.After / time.Second)
		h.World.Pass((seconds + tick - 1) / tick * tick)
		fate = fault.Fate{Kind: fault.GoOn}
	}
	h.Scheduler.Resume(instance, fate)
	return call
}

// completes holds a proof against the truth, as it was when what the proof rests on began to be read, and as it is now. What
// a disk loses in between nobody could know.
func (h *History) completes(before []int) {
	h.Completed++
	var bad []int
	for _, o := range h.World.missing(false) {
		if slices.Contains(before, o) {
			bad = append(bad, o)
		}
	}
	if len(bad) > 0 {
		h.fail(fmt.Errorf("it is written down that node %d may go, and objects %v cannot be read without it", h.World.Source, bad))
	}
}

// destroy is the end of the source and of its disks. What only it has is lost.
func (h *History) destroy(on Record) error {
	if h.World.Record.newest().Version != on.Version || !on.Deleted {
		return errConflict
	}
	if bad := h.World.missing(true); len(bad) > 0 {
		h.fail(fmt.Errorf("node %d is destroyed, and objects %v cannot be read without it", h.World.Source, bad))
	}
	s := h.World.source()
	s.up, s.gone = false, true
	s.disk = disk{}
	h.Destroyed = true
	return nil
}

func (h *History) fail(err error) { h.broken = errors.Join(h.broken, err) }

// Err is what was broken; nil while nothing is.
func (h *History) Err() error { return errors.Join(h.broken, h.Scheduler.Err()) }
