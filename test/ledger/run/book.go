package run

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"regexp"
	"sync"
	"time"

	"github.com/holdfast-dev/holdfast/test/ledger"
)

// Config is what every run can be told.
type Config struct {
	// Name begins the names of everything that is made. 1 to 40 letters, digits, - and _.
	Name string
	// Interval is the time between two writes of one writer when they are acknowledged in time.
	Interval time.Duration
	// Minimum is the number of writes that each change must have had acknowledged.
	Minimum int
	// Bound is how long each step of the finish may take.
	Bound time.Duration
	// Journal gets one line per acknowledgement (stream, sequence, id, milliseconds since the start); may be nil.
	Journal io.Writer
}

// Terms are a workload's words in the report.
type Terms struct {
	// Unit is what is acknowledged, in the plural.
	Unit string
	// Kinds are the faults that are looked for.
	Kinds []ledger.Kind
	// Counts are the names that lanes count under, in the order of the report; Harmless those of what is found at
	// the end and is no fault.
	Counts, Harmless []string
}

// Workload is what is done to one service.
type Workload interface {
	// SetUp connects, and makes what is written into. It waits as long as the service is not there ([Book.Until]);
	// it returns an error when waiting does not help, or when ctx ended.
	SetUp(ctx context.Context) error
	// Writers are asked for once, after SetUp. Each ends when stop is closed and it has finished what it is at,
	// and with ctx at the latest.
	Writers() []func(ctx context.Context, stop <-chan struct{})
	// Watchers are asked for once, after SetUp. Each goes on until ctx ends.
	Watchers() []func(ctx context.Context)
	// Compare reads everything again once the writers have ended, in two steps at most, each within the bound.
	Compare(ctx context.Context)
	// Close ends all connections.
	Close()
}

var nameFormat = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,40}$`)

// Check says what is wrong with it.
func (c Config) Check() error {
	switch {
	case !nameFormat.MatchString(c.Name):
		return fmt.Errorf("name %q: 1 to 40 letters, digits, - and _ are possible", c.Name)
	case c.Interval <= 0, c.Bound <= 0:
		return errors.New("the interval and the bound must be longer than zero")
	}
	return nil
}

// Book is one run. Its HTTP endpoint may be served before it is ready.
type Book struct {
	Log *slog.Logger
	// Found is what was found so far.
	Found *Found

	config Config
	terms  Terms
	work   Workload
	start  time.Time
	lanes  []*Lane

	stop    chan struct{} // closed when writers shall end
	writers sync.WaitGroup
	hurry   context.CancelFunc // ends what did not end after stop

	journal journal

	mu      sync.Mutex
	waiting string // what is waited for before the first write; empty when begun
	changes []change
	running context.Context // of the whole run; nil before the begin
	final   *ledger.Report
	ending  sync.Once
	ended   chan struct{} // closed when final is there
	stopped time.Duration // when writing ended; 0 before
}

// New begins a book with nothing in it. The configuration was checked.
func New(config Config, terms Terms, log *slog.Logger) *Book {
	return &Book{
		Log: log, Found: &Found{harmless: map[string]uint64{}}, config: config, terms: terms, start: time.Now(), waiting: "the set-up",
		stop: make(chan struct{}), ended: make(chan struct{}), journal: journal{to: config.Journal},
	}
}

// Carry says what the workload is. Before Run.
func (b *Book) Carry(work Workload) { b.work = work }

// Run sets up, then writes and watches until ctx ends.
func (b *Book) Run(ctx context.Context) error {
	defer b.work.Close()
	if err := b.work.SetUp(ctx); err != nil {
		return err
	}
	hurried, hurry := context.WithCancel(ctx)
	defer hurry()
	b.hurry = hurry
	for _, write := range b.work.Writers() {
		b.writers.Go(func() { write(hurried, b.stop) })
	}
	var watchers sync.WaitGroup
	for _, watch := range b.work.Watchers() {
		watchers.Go(func() { watch(ctx) })
	}
	b.mu.Lock()
	b.running, b.waiting = ctx, ""
	b.mu.Unlock()
	<-ctx.Done()
	b.writers.Wait()
	watchers.Wait()
	return nil
}

// TakenError says that a name is in use; waiting does not help.
type TakenError struct {
	// What is in use, and what it Holds.
	What, Holds string
}

func (e *TakenError) Error() string {
	return fmt.Sprintf("%s already holds %s that this ledger did not see acknowledged: choose another --name, or delete it", e.What, e.Holds)
}

const (
	setUpTimeout = 5 * time.Second
	setUpPause   = time.Second
)

// Until repeats one step of the set-up until it is done, refused for good, or ctx ends.
func (b *Book) Until(ctx context.Context, what string, step func(context.Context) error) error {
	for ctx.Err() == nil {
		attempt, cancel := context.WithTimeout(ctx, setUpTimeout)
		err := step(attempt)
		cancel()
		var taken *TakenError
		if err == nil || errors.As(err, &taken) {
			return err
		}
		b.mu.Lock()
		b.waiting = fmt.Sprintf("%s: %v", what, err)
		b.mu.Unlock()
		b.Log.Info("waiting", "for", what, "because", err)
		Pause(ctx, setUpPause)
	}
	return ctx.Err()
}

// Bound is the configured one.
func (b *Book) Bound() time.Duration { return b.config.Bound }

// Now is the time since the start of the run.
func (b *Book) Now() time.Duration { return time.Since(b.start) }

// Pause returns after d, or when ctx ends.
func Pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// Ticks calls write at every interval until stop is closed, ctx ends or write returns false. It asks for no
// other one after stop.
func (b *Book) Ticks(ctx context.Context, stop <-chan struct{}, write func() bool) {
	tick := time.NewTicker(b.config.Interval)
	defer tick.Stop()
	for {
		select {
		case <-stop:
			return
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if Closed(stop) || !write() { // a tick may have come first
			return
		}
	}
}

// Closed says whether a channel that nothing is sent over is closed.
func Closed(stop <-chan struct{}) bool {
	select {
	case <-stop:
		return true
	default:
		return false
	}
}
