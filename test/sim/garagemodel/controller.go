package garagemodel

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"time"

	"github.com/holdfast-dev/holdfast/internal/garage/adminapi"
	"github.com/holdfast-dev/holdfast/internal/garage/drain"
	"github.com/holdfast-dev/holdfast/internal/garage/layout"
	"github.com/holdfast-dev/holdfast/internal/garage/whole"
	"github.com/holdfast-dev/holdfast/internal/kit/fact"
	"github.com/holdfast-dev/holdfast/test/sim/fault"
)

// Decide is what a controller decides with.
type Decide func(drain.World, time.Time) drain.Plan

// controller is one instance: it reads, decides, writes the journal, reads again, decides again, and acts if that is the same.
type controller struct {
	*History
	instance *fault.Instance
	seen     int // the newest version that its cache has shown
	lag      *int
}

func (c *controller) run(ctx context.Context, _ *fault.Instance) {
	for ctx.Err() == nil {
		wake := 10 * time.Second
		if plan, err := c.pass(); err == nil {
			wake = cmp.Or(plan.Wake, time.Minute)
			if plan.Action == nil {
				wake = max(wake, 30*time.Second) // it may look more often, and sees the same
			}
		}
		c.rest(wake)
	}
}

func (c *controller) rest(d time.Duration) {
	_ = c.instance.Do(fault.Call{Verb: "rest", Class: fault.Idle, After: d}, func() (func(), error) { return nil, nil })
}

// do is one call, and what it brings.
func do[T any](c *controller, class fault.Class, verb, kind, name string, effect func() (T, error)) (T, error) {
	var brought T
	err := c.instance.Do(fault.Call{Verb: verb, Kind: kind, Name: name, Class: class}, func() (func(), error) {
		value, err := effect()
		return func() { brought = value }, err
	})
	return brought, err
}

func (c *controller) record(class fault.Class) (Record, error) {
	return do(c, class, "get", "Record", "", func() (Record, error) {
		if class == fault.Live {
			return c.World.Record.newest(), nil
		}
		record := c.World.Record.behind(*c.lag, c.seen)
		c.seen = record.Version
		return record, nil
	})
}

func (c *controller) write(on int, what string, change func(*Record)) (Record, error) {
	return do(c, fault.Write, "write", "Record", what, func() (Record, error) {
		next, err := c.World.Record.write(on, change)
		c.seen = max(c.seen, next.Version)
		return next, err
	})
}

func (c *controller) pass() (drain.Plan, error) {
	record, err := c.record(fault.Cached)
	if err != nil {
		return drain.Plan{}, err
	}
	plan := c.decide(c.facts(record), c.now())
	c.last = plan
	if record, err = c.writeDown(plan, record); err != nil {
		return plan, err
	}
	if plan.Action == nil && (!plan.Proved || !record.Deleted) {
		return plan, nil
	}
	bad := c.World.missing(false)
	live, err := c.record(fault.Live)
	if err != nil || live.Version != record.Version {
		return plan, err
	}
	again := c.decide(c.facts(live), c.now())
	switch {
	case plan.Action != nil && reflect.DeepEqual(plan.Action, again.Action):
		err = c.act(*plan.Action, again.Journal, live, bad)
	case plan.Proved && again.Proved:
		_, err = do(c, fault.Write, "delete", "Node", "source", func() (int, error) { return 0, c.destroy(live) })
	}
	return plan, err
}

// writeDown writes the journal, and has the source in the Service or not, where that is not so yet.
func (c *controller) writeDown(plan drain.Plan, record Record) (_ Record, err error) {
	if !reflect.DeepEqual(plan.Journal, record.Journal) {
		if record, err = c.write(record.Version, "journal", func(r *Record) { r.Journal = plan.Journal }); err != nil {
			return record, err
		}
	}
	if serves := plan.Journal == nil || plan.Journal.Cancelled; serves != record.Serves {
		return c.write(record.Version, "serves", func(r *Record) { r.Serves = serves })
	}
	return record, nil
}

// facts asks every member.
func (c *controller) facts(record Record) drain.World {
	w := drain.World{
		Mode: "consistent", Factor: c.World.Factor, Busy: fact.Known(""), Directories: fact.Known([]string{"/data"}),
		Deleted: record.Deleted, Journal: record.Journal, Lacks: fact.Known(""),
	}
	if record.Ordered {
		w.Order = &drain.Order{Name: c.World.source().name(), ID: c.World.source().id}
	}
	first := c.members(&w, record)
	if j := record.Journal; j == nil || j.Seen == 0 || j.Last != nil {
		why := whole.Why(first, "")
		if why == "" {
			c.rest(whole.Apart)
			why = whole.Why(c.members(&w, record), "")
		}
		w.Lacks = fact.Known(why)
	}
	listing, err := do(c, fault.Service, "get", "Listing", record.ListToken, func() (listing, error) { return c.World.list, nil })
	w.Listing = fact.Unknown[drain.Listing]("it is not done")
	if err == nil && listing.done {
		w.Listing = fact.Known(listing.found)
	}
	return w
}

func (c *controller) members(w *drain.World, record Record) []whole.Member {
	w.Members = nil
	var says []whole.Member
	for _, n := range c.World.nodes {
		if n.gone {
			continue
		}
		member := drain.Member{
			Name: n.name(), ID: n.id, Life: fmt.Sprint(n.shown), RPCTimeout: rpcTimeout * time.Second,
			Serves: n.number == c.World.Source && record.Serves,
		}
		told, err := do(c, fault.Service, "ask", "Node", n.name(), func() (answer, error) { return c.World.ask(n) })
		one := whole.Member{Name: n.name(), ID: n.id}
		if err == nil {
			member.Says = fact.Known(told.says)
			one.Says = fact.Known(whole.Says{Health: told.health, Status: told.says.Status, Layout: told.says.Layout, History: told.says.History})
		} else {
			member.Says, one.Says = fact.Unknown[drain.Says](err.Error()), fact.Unknown[whole.Says](err.Error())
		}
		w.Members, says = append(w.Members, member), append(says, one)
	}
	return says
}

var errMoved = errors.New("the layout is not as it was decided on")

func (c *controller) act(a drain.Action, journal *drain.Journal, live Record, bad []int) error {
	switch a.Kind {
	case drain.Remove, drain.GiveBack:
		return c.changeLayout(a)
	case drain.Withdraw:
		return c.withdraw(a)
	case drain.Launch:
		n := c.World.byID(a.Node)
		return c.tell(n, "launch", func() error { n.launch(a.Repair); return nil })
	case drain.List:
		return c.tell(c.World.source(), "list", func() error { c.World.order(a.Token); return nil })
	case drain.Complete:
		completed := *journal
		completed.CompletedAt = c.now()
		_, err := c.write(live.Version, "completed", func(r *Record) {
			r.Journal = &completed
			c.completes(bad)
		})
		return err
	}
	return nil
}

// tell has a node do something, which has an effect only while it runs.
func (c *controller) tell(n *node, verb string, effect func() error) error {
	_, err := do(c, fault.Service, verb, "Node", n.name(), func() (int, error) {
		if !n.up {
			return 0, errSilent
		}
		return 0, effect()
	})
	return err
}

func (c *controller) layoutAt(n *node) (adminapi.Layout, error) {
	told, err := do(c, fault.Service, "ask", "Layout", n.name(), func() (answer, error) { return c.World.ask(n) })
	return told.says.Layout, err
}

// changeLayout is what package layout does to make a version.
func (c *controller) changeLayout(a drain.Action) error {
	n := c.World.byID(a.Node)
	at, err := c.layoutAt(n)
	if err != nil {
		return err
	}
	if len(at.Staged) == 0 && at.Version == a.Version-1 {
		if err := c.tell(n, "stage", func() error { c.World.stage(n, a.Change.Roles); return nil }); err != nil {
			return err
		}
		if at, err = c.layoutAt(n); err != nil {
			return err
		}
	}
	if at.Version != a.Version-1 || layout.Hash(adminapi.LayoutChange{Roles: at.Staged}) != a.Hash {
		return errMoved
	}
	return c.tell(n, "apply", func() error { return c.World.apply(n, int(a.Version)) })
}

func (c *controller) withdraw(a drain.Action) error {
	n := c.World.byID(a.Node)
	at, err := c.layoutAt(n)
	if err != nil {
		return err
	}
	if at.Version != a.Version || layout.Hash(adminapi.LayoutChange{Roles: at.Staged}) != a.Hash {
		return errMoved
	}
	return c.tell(n, "revert", func() error { c.World.revert(n); return nil })
}
