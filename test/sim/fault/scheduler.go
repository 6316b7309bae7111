package fault

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"
	"sync"
	"testing/synctest"
	"time"
)

// A Call is one request of an instance.
type Call struct {
	// Instance made it.
	Instance string
	// Verb, Kind and Name say what it asks for, for instance patch StatefulSet demo-0.
	Verb, Kind, Name string
	// Class tells what the call means to the instance.
	Class Class
	// DryRun says that a write has no effect.
	DryRun bool
	// Context is what the harness's Issued hook returned when the call was made.
	Context any
	// After is, of an Idle call, how soon the instance wants to go on; zero for as soon as something happens.
	After time.Duration
}

// String is the call in one line.
func (c *Call) String() string {
	return fmt.Sprintf("%s: %s %s %s", c.Instance, c.Verb, c.Kind, c.Name)
}

// A Class is a kind of call.
type Class string

const (
	// Cached is a read from the instance's cache: it cannot fail, and be stale.
	Cached Class = "Cached"
	// Live is a read from the API server.
	Live Class = "Live"
	// Write is a write to the API server.
	Write Class = "Write"
	// Service asks the service that is controlled.
	Service Class = "Service"
	// Idle is no call: the instance has nothing to do until it is woken.
	Idle Class = "Idle"
)

// A Kind is what comes of a call.
type Kind string

// What may come of a call.
const (
	GoOn         Kind = "GoOn"
	CrashBefore  Kind = "CrashBefore"
	CrashAfter   Kind = "CrashAfter"
	CrashSending Kind = "CrashSending"
	LoseReply    Kind = "LoseReply"
	Delay        Kind = "Delay"
	Refuse       Kind = "Refuse"
)

// A Fate is what comes of one call. Err is the error of Refuse, and of the calls whose reply is lost.
type Fate struct {
	Kind Kind
	Err  error
}

// send has a call take its effect. deliver then hands the reply over to the instance; nil where there is none.
type send func() (deliver func(), err error)

// waiting is a call that was not resumed yet.
type waiting struct {
	*Call
	instance *Instance
	fate     chan Fate
}

// A Scheduler resumes the calls of instances. Its methods are for the one goroutine that makes the history.
type Scheduler struct {
	// Issued, when set, is called as a call is made, and what it returns goes along with the call.
	Issued func(*Call) any
	// Done, when set, is called when a call has taken effect, or is refused, before the instance hears of it.
	Done func(call *Call, fate Fate, err error)

	mu      sync.Mutex
	calls   []*waiting
	sending *Call
	late    []sent
	failed  []error
}

// sent is a request that has left its instance and has not arrived.
type sent struct {
	call *Call
	send send
}

// An Instance is one process of a controller.
type Instance struct {
	// Name tells instances apart.
	Name string

	scheduler *Scheduler
	mu        sync.Mutex
	dead      bool
	ended     bool
	caches    map[string]*cacheState
	lag       Lag
}

// Start runs an instance until main returns or a Fate ends it.
func (s *Scheduler) Start(ctx context.Context, name string, main func(context.Context, *Instance)) *Instance {
	instance := &Instance{Name: name, scheduler: s, caches: map[string]*cacheState{}}
	go func() {
		defer func() {
			if reason := recover(); reason != nil {
				s.fail(fmt.Errorf("%s panics: %v\n%s", name, reason, debug.Stack()))
			}
			instance.mu.Lock()
			defer instance.mu.Unlock()
			instance.ended = true
		}()
		main(ctx, instance)
	}()
	return instance
}

func (s *Scheduler) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failed = append(s.failed, err)
}

// Err is what instances have panicked with.
func (s *Scheduler) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return errors.Join(s.failed...)
}

// Alive says that the instance runs.
func (i *Instance) Alive() bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	return !i.dead && !i.ended
}

func (i *Instance) kill() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.dead = true
}

// Do is one call: it waits for its fate, and has it take effect or not.
func (i *Instance) Do(call Call, effect func() (deliver func(), err error)) error {
	call.Instance = i.Name
	fate, resumed := i.scheduler.wait(i, &call)
	if !resumed || !i.Alive() {
		runtime.Goexit()
	}
	return i.scheduler.settle(i, resumedCall{call: &call, fate: fate}, effect)
}

type resumedCall struct {
	call *Call
	fate Fate
}

// errLost is what an instance hears of a call whose reply is lost, where the Fate names nothing else.
var errLost = context.DeadlineExceeded

func (s *Scheduler) settle(i *Instance, r resumedCall, effect send) error {
	lost := cmp.Or(r.fate.Err, errLost)
	switch r.fate.Kind {
	case CrashBefore:
		s.done(r.call, r.fate, nil)
		i.kill()
		runtime.Goexit()
	case CrashAfter:
		_, err := s.effect(r.call, effect)
		s.done(r.call, r.fate, err)
		i.kill()
		runtime.Goexit()
	case CrashSending:
		s.delay(r.call, effect)
		s.done(r.call, r.fate, nil)
		i.kill()
		runtime.Goexit()
	case LoseReply:
		_, _ = s.effect(r.call, effect)
		s.done(r.call, r.fate, lost)
		return lost
	case Delay:
		s.delay(r.call, effect)
		s.done(r.call, r.fate, lost)
		return lost
	case Refuse:
		s.done(r.call, r.fate, r.fate.Err)
		return r.fate.Err
	case GoOn:
	}
	deliver, err := s.effect(r.call, effect)
	s.done(r.call, r.fate, err)
	if err == nil && deliver != nil {
		deliver()
	}
	return err
}

func (s *Scheduler) done(call *Call, fate Fate, err error) {
	if s.Done != nil {
		s.Done(call, fate, err)
	}
}

// wait puts the call among those that wait, until it is resumed.
func (s *Scheduler) wait(i *Instance, call *Call) (Fate, bool) {
	w := &waiting{Call: call, instance: i, fate: make(chan Fate)}
	s.mu.Lock()
	if s.Issued != nil {
		call.Context = s.Issued(call)
	}
	s.calls = append(s.calls, w)
	s.mu.Unlock()
	fate, resumed := <-w.fate
	return fate, resumed
}

func (s *Scheduler) effect(call *Call, effect send) (func(), error) {
	s.mu.Lock()
	s.sending = call
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.sending = nil
	}()
	return effect()
}

// Sending is the call that takes its effect now; nil outside of one.
func (s *Scheduler) Sending() *Call {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sending
}

func (s *Scheduler) delay(call *Call, effect send) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.late = append(s.late, sent{call, effect})
}

// Late is how many requests have left their instances and have not arrived.
func (s *Scheduler) Late() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.late)
}

// Arrive has one of them arrive.
func (s *Scheduler) Arrive(number int) (*Call, error) {
	s.mu.Lock()
	one := s.late[number]
	s.late = slices.Delete(s.late, number, number+1)
	s.mu.Unlock()
	_, err := s.effect(one.call, one.send)
	return one.call, err
}

// Settle waits until every instance waits for its fate, or for time to pass.
func (s *Scheduler) Settle() { synctest.Wait() }

// Next is the call of the instance that comes next, the same for the same history; nil where it makes none now, since it
// sleeps.
func (s *Scheduler) Next(i *Instance) *Call {
	if w := s.next(i); w != nil {
		return w.Call
	}
	return nil
}

func (s *Scheduler) next(i *Instance) *waiting {
	s.mu.Lock()
	defer s.mu.Unlock()
	var first *waiting
	for _, w := range s.calls {
		if w.instance == i && (first == nil || w.String() < first.String()) {
			first = w
		}
	}
	return first
}

// Resume decides the fate of the instance's next call, and waits until the instance has come to the one after.
func (s *Scheduler) Resume(i *Instance, fate Fate) {
	w := s.next(i)
	if w == nil {
		return
	}
	s.mu.Lock()
	s.calls = slices.DeleteFunc(s.calls, func(one *waiting) bool { return one == w })
	s.mu.Unlock()
	w.fate <- fate
	s.Settle()
	s.reap()
}

// Kill ends an instance where it is.
func (s *Scheduler) Kill(i *Instance) {
	i.kill()
	s.reap()
}

// reap ends the goroutines of dead instances that wait.
func (s *Scheduler) reap() {
	for {
		s.mu.Lock()
		var dead []*waiting
		s.calls = slices.DeleteFunc(s.calls, func(w *waiting) bool {
			if !w.instance.Alive() {
				dead = append(dead, w)
				return true
			}
			return false
		})
		s.mu.Unlock()
		if len(dead) == 0 {
			return
		}
		for _, w := range dead {
			close(w.fate)
		}
		s.Settle()
	}
}
