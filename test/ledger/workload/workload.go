package workload

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"regexp"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/holdfast-dev/holdfast/test/ledger"
)

// Config is what a run does.
type Config struct {
	// URL is one or more NATS URLs, comma separated.
	URL string
	// Name begins the names of the streams (<name>-0, <name>-1, …) and of the bucket (<name>-counters).
	Name string
	// Access is a folder that may hold user.creds, the credentials to sign in with, and ca.crt, the certificate authority
	// for tls:// URLs: each is used when it is there. Empty for neither, and the system's authorities.
	Access string
	// Streams, and Replicas of each; Counters in the bucket, each raised by two writers.
	Streams, Replicas, Counters int
	// Interval is the time between two messages of one stream and between two increments of one writer, when
	// they are acknowledged in time.
	Interval time.Duration
	// Minimum is the number of messages that each change must have had acknowledged.
	Minimum int
	// Bound is how long draining, and then re-reading, may take.
	Bound time.Duration
	// Journal gets one line per acknowledgement (stream, sequence, id, milliseconds since the start); may be nil.
	Journal io.Writer
}

var nameFormat = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,40}$`)

func (c Config) check() error {
	switch {
	case c.URL == "":
		return errors.New("no NATS URL: give --url or NATS_URL")
	case !nameFormat.MatchString(c.Name):
		return fmt.Errorf("name %q: 1 to 40 letters, digits, - and _ are possible", c.Name)
	case c.Streams < 1, c.Counters < 0, c.Replicas < 1:
		return errors.New("at least one stream and one replica are needed")
	case c.Interval <= 0, c.Bound <= 0:
		return errors.New("the interval and the bound must be longer than zero")
	}
	return nil
}

// Ledger is one run. Its HTTP endpoint may be served before it is ready.
type Ledger struct {
	config  Config
	options []nats.Option
	log     *slog.Logger
	start   time.Time

	lanes   []*lane
	writers []*writer
	connect []*nats.Conn

	stop    chan struct{} // closed when publishers and writers shall end
	workers sync.WaitGroup
	hurry   context.CancelFunc // ends what did not end after stop

	journal journal

	mu      sync.Mutex
	waiting string // what is waited for before the first message; empty when begun
	changes []change
	running context.Context // of the whole run; nil before the begin
	final   *ledger.Report
	ending  sync.Once
	ended   chan struct{} // closed when final is there
	stopped time.Duration // when publishing ended; 0 before
}

// New checks the configuration and connects to nothing yet.
func New(config Config, log *slog.Logger) (*Ledger, error) {
	if err := config.check(); err != nil {
		return nil, err
	}
	options, err := config.options()
	if err != nil {
		return nil, err
	}
	l := &Ledger{
		config: config, options: options, log: log, start: time.Now(), waiting: "a connection to " + config.URL,
		stop: make(chan struct{}), ended: make(chan struct{}), journal: journal{to: config.Journal},
	}
	for i := range config.Streams {
		l.lanes = append(l.lanes, &lane{ledger: l, name: fmt.Sprintf("%s-%d", config.Name, i), subject: fmt.Sprintf("ledger.%s.%d", config.Name, i)})
	}
	for i := range config.Counters {
		for _, who := range []string{"a", "b"} {
			l.writers = append(l.writers, &writer{ledger: l, counter: fmt.Sprintf("counter-%d", i), name: who})
		}
	}
	return l, nil
}

// Run makes the streams, publishes, consumes and counts until ctx ends. It waits as long as the cluster is not
// there; it returns an error when the streams cannot be this run's, or when ctx ended before they were made.
func (l *Ledger) Run(ctx context.Context) error {
	defer func() {
		for _, c := range l.connect {
			c.Close()
		}
	}()
	if err := l.setUp(ctx); err != nil {
		return err
	}
	hurried, hurry := context.WithCancel(ctx)
	defer hurry()
	l.hurry = hurry
	var consumers sync.WaitGroup
	for _, lane := range l.lanes {
		l.workers.Go(func() { lane.publish(hurried, l.stop) })
		consumers.Go(func() { lane.consume(ctx) })
	}
	for _, writer := range l.writers {
		l.workers.Go(func() { writer.count(hurried, l.stop) })
	}
	l.mu.Lock()
	l.running, l.waiting = ctx, ""
	l.mu.Unlock()
	<-ctx.Done()
	l.workers.Wait()
	consumers.Wait()
	return nil
}

// dial begins a connection; it may still be trying when this returns. There is one per stream and one for the
// counters: clients spread over the servers, as those of real users do.
func (l *Ledger) dial() (jetstream.JetStream, error) {
	c, err := nats.Connect(l.config.URL, l.options...)
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", l.config.URL, err)
	}
	l.connect = append(l.connect, c)
	js, err := jetstream.New(c)
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", l.config.URL, err)
	}
	return js, nil
}

func (l *Ledger) setUp(ctx context.Context) error {
	for _, lane := range l.lanes {
		js, err := l.dial()
		if err != nil {
			return err
		}
		lane.js = js
		if err := l.until(ctx, js, "stream "+lane.name, lane.setUp); err != nil {
			return err
		}
	}
	if len(l.writers) == 0 {
		return nil
	}
	js, err := l.dial()
	if err != nil {
		return err
	}
	return l.until(ctx, js, "bucket "+l.bucket(), func(ctx context.Context) error { return l.setUpBucket(ctx, js) })
}

// takenError says that a name is in use; waiting does not help.
type takenError struct{ what string }

func (e *takenError) Error() string {
	return e.what + " already holds messages that this ledger did not see acknowledged: choose another --name, or delete it"
}

// until repeats one step of the set-up until it is done, refused for good, or ctx ends.
func (l *Ledger) until(ctx context.Context, js jetstream.JetStream, what string, step func(context.Context) error) error {
	for ctx.Err() == nil {
		attempt, cancel := context.WithTimeout(ctx, 5*time.Second)
		err := step(attempt)
		cancel()
		var taken *takenError
		if err == nil || errors.As(err, &taken) {
			return err
		}
		if c := js.Conn(); !c.IsConnected() {
			// The step's own error would only say that nothing could be sent.
			err = fmt.Errorf("no connection to %s: %w", l.config.URL, cmp.Or(c.LastError(), err))
		}
		l.mu.Lock()
		l.waiting = fmt.Sprintf("%s: %v", what, err)
		l.mu.Unlock()
		l.log.Info("waiting", "for", what, "because", err)
		pause(ctx, time.Second)
	}
	return ctx.Err()
}

func (l *Ledger) now() time.Duration { return time.Since(l.start) }

func (l *Ledger) bucket() string { return l.config.Name + "-counters" }

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
