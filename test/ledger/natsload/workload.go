package natsload

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/holdfast-dev/holdfast/test/ledger"
	"github.com/holdfast-dev/holdfast/test/ledger/run"
)

// Config is what a run does. Its Name begins the names of the streams (<name>-0, <name>-1, …) and of the bucket
// (<name>-counters).
type Config struct {
	run.Config
	// URL is one or more NATS URLs, comma separated.
	URL string
	// Access is a folder that may hold user.creds, the credentials to sign in with, and ca.crt, the certificate authority
	// for tls:// URLs: each is used when it is there. Empty for neither, and the system's authorities.
	Access string
	// Streams, and Replicas of each; Counters in the bucket, each raised by two writers.
	Streams, Replicas, Counters int
}

func (c Config) check() error {
	switch {
	case c.URL == "":
		return errors.New("no NATS URL: give --url or NATS_URL")
	case c.Streams < 1, c.Counters < 0, c.Replicas < 1:
		return errors.New("at least one stream and one replica are needed")
	}
	return c.Check()
}

type load struct {
	book    *run.Book
	config  Config
	options []nats.Option

	lanes   []*lane
	writers []*writer
	connect []*nats.Conn
}

// New checks the configuration and connects to nothing yet.
func New(config Config, log *slog.Logger) (*run.Book, error) {
	l, err := newLoad(config, log)
	if err != nil {
		return nil, err
	}
	return l.book, nil
}

func newLoad(config Config, log *slog.Logger) (*load, error) {
	if err := config.check(); err != nil {
		return nil, err
	}
	options, err := config.options()
	if err != nil {
		return nil, err
	}
	terms := run.Terms{
		Unit: "messages", Counts: []string{increments}, Harmless: []string{redelivered},
		Kinds: []ledger.Kind{ledger.Lost, ledger.Doubled, ledger.OutOfOrder, ledger.Unseen, ledger.Foreign},
	}
	l := &load{book: run.New(config.Config, terms, log), config: config, options: options}
	l.book.Carry(l)
	for i := range config.Streams {
		name := fmt.Sprintf("%s-%d", config.Name, i)
		l.lanes = append(l.lanes, &lane{Lane: l.book.Lane(name, "stream "+name), load: l, name: name, subject: fmt.Sprintf("ledger.%s.%d", config.Name, i)})
	}
	for i := range config.Counters {
		for _, who := range []string{"a", "b"} {
			counter := fmt.Sprintf("counter-%d", i)
			l.writers = append(l.writers, &writer{Lane: l.book.Aside(counter + " by writer " + who), load: l, counter: counter, name: who})
		}
	}
	return l, nil
}

// Writers are a publisher for each stream and two writers for each counter.
func (l *load) Writers() []func(context.Context, <-chan struct{}) {
	var all []func(context.Context, <-chan struct{})
	for _, lane := range l.lanes {
		all = append(all, lane.publish)
	}
	for _, writer := range l.writers {
		all = append(all, writer.count)
	}
	return all
}

// Watchers are a consumer for each stream.
func (l *load) Watchers() []func(context.Context) {
	var all []func(context.Context)
	for _, lane := range l.lanes {
		all = append(all, lane.consume)
	}
	return all
}

// Close ends all connections.
func (l *load) Close() {
	for _, c := range l.connect {
		c.Close()
	}
}

// dial begins a connection; it may still be trying when this returns. There is one per stream and one for the
// counters: clients spread over the servers, as those of real users do.
func (l *load) dial() (jetstream.JetStream, error) {
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

// SetUp makes the streams, the consumers and the bucket.
func (l *load) SetUp(ctx context.Context) error {
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

// until repeats one step of the set-up as the book does, and says of a failure that it is for want of a connection.
func (l *load) until(ctx context.Context, js jetstream.JetStream, what string, step func(context.Context) error) error {
	return l.book.Until(ctx, what, func(ctx context.Context) error {
		err := step(ctx)
		if c := js.Conn(); err != nil && !c.IsConnected() {
			// The step's own error would only say that nothing could be sent.
			return fmt.Errorf("no connection to %s: %w", l.config.URL, cmp.Or(c.LastError(), err))
		}
		return err
	})
}

func (l *load) bucket() string { return l.config.Name + "-counters" }
