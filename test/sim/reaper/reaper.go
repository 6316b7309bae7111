package reaper

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
)

// Options are what a Reaper is for.
type Options struct {
	// Change is what is brought about.
	Change string
	// Ends are the endings that are due at a call; part is the one that is under way, empty for none.
	Ends func(c Call, part string) []Ending
	// Anytime says that a call may come up whatever is under way, such as one that is sent on the side; nil for events alone.
	Anytime func(verb, object string) bool
	// Part reads, from a status that is about to be written, which part of the change is under way. It says false for another
	// object than the one that says that.
	Part func(object string, body []byte) (part string, ours bool)
}

// A Reaper ends controllers, one after the other, at each call that none of them was ended at before.
type Reaper struct {
	mu           sync.Mutex
	ends         func(c Call, part string) []Ending
	anytime      func(verb, object string) bool
	partOf       func(object string, body []byte) (string, bool)
	fired        map[Crash]bool
	calls        map[Call]bool
	change, part string
	// LetGo lets what is on its way go on, when it is closed.
	LetGo chan struct{}
	// Arrived has the status code of what was on its way.
	Arrived chan int
}

// New makes a Reaper.
func New(o Options) *Reaper {
	if o.Anytime == nil {
		o.Anytime = func(_, object string) bool { return object == Events }
	}
	return &Reaper{
		ends: o.Ends, anytime: o.Anytime, partOf: o.Part, fired: map[Crash]bool{}, calls: map[Call]bool{}, change: o.Change,
		LetGo: make(chan struct{}), Arrived: make(chan int, 1),
	}
}

// Begin names the change that is brought about from now on.
func (r *Reaper) Begin(change string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.change = change
}

// Part is the part of the change that was under way last.
func (r *Reaper) Part() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.part
}

// Count says how many calls there were, at how many of which a crash is due, and how many crashes have fired.
func (r *Reaper) Count() (calls, due, fired int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for c := range r.calls {
		due += len(r.ends(c, ""))
	}
	return len(r.calls), due, len(r.fired)
}

// Saw says that such a call was made.
func (r *Reaper) Saw(c Call) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.calls[c]
}

// step is what the controller is at.
func (r *Reaper) step() string {
	if r.part == "" {
		return r.change
	}
	return r.change + " of " + r.part
}

// ErrDead is what a controller that has ended is told of whatever it asks for.
var ErrDead = errors.New("the controller is dead")

// A Victim is one controller in a Reaper's hands.
type Victim struct {
	*Reaper
	once sync.Once
	died chan Crash // has one, when it has come to that
	// Dead is closed when the controller has ended.
	Dead chan struct{}
}

// Victim makes the next controller.
func (r *Reaper) Victim() *Victim {
	return &Victim{Reaper: r, died: make(chan Crash, 1), Dead: make(chan struct{})}
}

// at is told of each call. It says how the controller ends at it; empty where it does not.
func (v *Victim) at(verb, object string) Ending {
	v.mu.Lock()
	defer v.mu.Unlock()
	c := Call{v.step(), verb, object}
	if v.anytime(verb, object) {
		c.Step = v.change
	}
	v.calls[c] = true
	for _, how := range v.ends(c, v.part) {
		end := Crash{c, how}
		if v.fired[end] {
			continue
		}
		fresh := false
		v.once.Do(func() { fresh = true })
		if !fresh {
			return Before // it is dead already
		}
		v.fired[end] = true
		v.died <- end
		if how != After {
			close(v.Dead)
		}
		return how
	}
	return ""
}

// Ended is how the controller, which has been stopped, ended before that, if it did.
func (v *Victim) Ended() (Crash, bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.once.Do(func() {}) // what is still asked for it is no end of it
	select {
	case end := <-v.died:
		return end, true
	default:
		return Crash{}, false
	}
}

// IsDead says that it has ended.
func (v *Victim) IsDead() bool {
	select {
	case <-v.Dead:
		return true
	default:
		return false
	}
}

// begin is told of a call that is about to be made. It fails where the controller is dead, or dies before it, and says how it
// dies otherwise.
func (v *Victim) begin(verb, object string) (Ending, error) {
	if v.IsDead() {
		return "", ErrDead
	}
	how := v.at(verb, object)
	if how == Before {
		return "", ErrDead
	}
	return how, nil
}

// Do makes a call. What the controller dies after nobody hears of.
func (v *Victim) Do(verb, object string, effect func() error) error {
	how, err := v.begin(verb, object)
	if err != nil {
		return err
	}
	err = effect()
	if how == After {
		close(v.Dead)
		return ErrDead
	}
	return err
}

type roundTripper func(*http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (f roundTripper) RoundTrip(request *http.Request) (*http.Response, error) { return f(request) }

// Through carries the requests to the API server over next.
func (v *Victim) Through(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(request *http.Request) (*http.Response, error) {
		if ofCache(request) && !v.IsDead() {
			return next.RoundTrip(request)
		}
		verb := request.Method
		if request.URL.Query().Get("dryRun") != "" {
			verb = Try
		}
		v.journalled(request)
		return v.carry(next, request, verb, objectOf(request))
	})
}

// Asking carries requests to servers over next; object names what is asked of which.
func (v *Victim) Asking(next http.RoundTripper, object func(*http.Request) string) http.RoundTripper {
	return roundTripper(func(request *http.Request) (*http.Response, error) {
		return v.carry(next, request, request.Method, object(request))
	})
}

func (v *Victim) carry(next http.RoundTripper, request *http.Request, verb, object string) (*http.Response, error) {
	how, err := v.begin(verb, object)
	switch {
	case err != nil:
		return nil, err
	case how == Sending:
		return nil, v.send(next, request)
	}
	response, err := next.RoundTrip(request)
	if how != After {
		return response, err
	}
	close(v.Dead)
	if err == nil {
		_ = response.Body.Close()
	}
	return nil, ErrDead
}

// send has a request of a dead controller arrive when it is let go.
func (v *Victim) send(next http.RoundTripper, request *http.Request) error {
	late := request.Clone(context.WithoutCancel(request.Context()))
	body, err := request.GetBody()
	if err != nil {
		return err
	}
	late.Body = body
	go func() {
		<-v.LetGo
		response, err := next.RoundTrip(late)
		if err == nil {
			v.Arrived <- response.StatusCode
			_ = response.Body.Close()
		}
		close(v.Arrived)
	}()
	return ErrDead
}

// journalled notes the part that a status is about to say is under way.
func (v *Victim) journalled(request *http.Request) {
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
	part, ours := v.partOf(objectOf(request), text)
	if !ours {
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.part = part
}
