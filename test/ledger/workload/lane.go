package workload

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/holdfast-dev/holdfast/test/ledger"
)

const (
	// ackTimeout is how long a publish, an acknowledgement or a counter's write waits for its reply.
	ackTimeout = 500 * time.Millisecond
	// afterFailure is the pause before the next attempt when one failed at once.
	afterFailure = 50 * time.Millisecond
	// deduplicate is how long the server remembers a message id.
	deduplicate = 5 * time.Minute
	// giveUp is how long a message is sent again and again. It ends before the server forgets the id: a retry
	// after that could store the message twice, and the ledger would report its own doing.
	giveUp = deduplicate - 30*time.Second
	// durable is the name of each stream's consumer.
	durable = "ledger"
	// redeliverAfter is how long the server waits for an acknowledgement of a delivery.
	redeliverAfter = 2 * time.Second
)

// lane is one stream with its publisher, its consumer and what is known about both.
type lane struct {
	ledger   *Ledger
	name     string
	subject  string
	js       jetstream.JetStream
	consumer jetstream.Consumer

	mu        sync.Mutex
	acked     []ledger.Message
	ackedAt   []time.Duration // of acked, same index
	sending   string          // the id that is sent and not acknowledged; empty when none is
	abandoned bool            // the publisher gave up on sending
	delivered []ledger.Delivery
	seenAt    []time.Duration // of delivered, same index
	highest   uint64          // highest sequence delivered
	retries   []time.Duration
	errors    []time.Duration
}

func (l *lane) setUp(ctx context.Context) error {
	stream, err := l.js.CreateStream(ctx, jetstream.StreamConfig{
		Name: l.name, Subjects: []string{l.subject}, Storage: jetstream.FileStorage, Replicas: l.ledger.config.Replicas,
		Duplicates: deduplicate,
		// Without direct gets the re-reading is answered by the stream's leader, never by a replica that lags.
		AllowDirect: false,
	})
	if errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) {
		return &takenError{what: "stream " + l.name}
	}
	if err != nil {
		return fmt.Errorf("create: %w", err)
	}
	info, err := stream.Info(ctx)
	if err != nil {
		return fmt.Errorf("look at it: %w", err)
	}
	if info.State.LastSeq != 0 {
		return &takenError{what: "stream " + l.name}
	}
	l.consumer, err = stream.CreateConsumer(ctx, jetstream.ConsumerConfig{
		Durable: durable, AckPolicy: jetstream.AckExplicitPolicy, AckWait: redeliverAfter,
		// One at a time: the server sends the next only after this one's acknowledgement, which makes "in order" exact.
		MaxAckPending: 1,
	})
	if err != nil {
		return fmt.Errorf("create its consumer: %w", err)
	}
	return nil
}

// publish sends one message after the other until stop, finishes the one it is at, and ends with ctx at the latest.
func (l *lane) publish(ctx context.Context, stop <-chan struct{}) {
	tick := time.NewTicker(l.ledger.config.Interval)
	defer tick.Stop()
	for n := 1; ; n++ {
		select {
		case <-stop:
			return
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if !l.send(ctx, fmt.Sprintf("%s/%d", l.name, n)) {
			return
		}
	}
}

// send sends one message under one id until it is acknowledged.
func (l *lane) send(ctx context.Context, id string) bool {
	l.mu.Lock()
	l.sending = id
	l.mu.Unlock()
	for begin := time.Now(); time.Since(begin) < giveUp && ctx.Err() == nil; {
		attempt, cancel := context.WithTimeout(ctx, ackTimeout)
		ack, err := l.js.PublishMsg(attempt, &nats.Msg{Subject: l.subject, Data: []byte(id)}, jetstream.WithMsgID(id), jetstream.WithRetryAttempts(0))
		cancel()
		if err == nil {
			l.acknowledged(ledger.Message{Sequence: ack.Sequence, ID: id})
			return true
		}
		l.mu.Lock()
		l.retries = append(l.retries, l.ledger.now())
		l.mu.Unlock()
		if !errors.Is(err, context.DeadlineExceeded) {
			pause(ctx, afterFailure)
		}
	}
	l.mu.Lock()
	l.abandoned = ctx.Err() == nil
	l.mu.Unlock()
	return false
}

func (l *lane) acknowledged(m ledger.Message) {
	at := l.ledger.now()
	l.mu.Lock()
	l.acked, l.ackedAt, l.sending = append(l.acked, m), append(l.ackedAt, at), ""
	l.mu.Unlock()
	l.ledger.journal.write(l.name, m.Sequence, m.ID, at)
}

// consume reads until ctx ends; whatever goes wrong, it begins again where the server has it.
func (l *lane) consume(ctx context.Context) {
	for ctx.Err() == nil {
		err := l.consumeOnce(ctx)
		if ctx.Err() != nil {
			return
		}
		l.failed(err)
		pause(ctx, afterFailure)
	}
}

func (l *lane) consumeOnce(ctx context.Context) error {
	messages, err := l.consumer.Messages(jetstream.PullHeartbeat(time.Second), jetstream.PullExpiry(5*time.Second))
	if err != nil {
		return fmt.Errorf("pull: %w", err)
	}
	defer messages.Stop()
	defer context.AfterFunc(ctx, messages.Stop)()
	for {
		m, err := messages.Next()
		if errors.Is(err, jetstream.ErrNoHeartbeat) {
			// The iterator goes on by itself: it has asked again.
			l.failed(err)
			continue
		}
		if err != nil {
			return fmt.Errorf("next: %w", err)
		}
		if err := l.take(ctx, m); err != nil {
			l.failed(err)
		}
	}
}

// take writes a delivery down, then acknowledges it, then writes down whether the server confirmed.
func (l *lane) take(ctx context.Context, m jetstream.Msg) error {
	meta, err := m.Metadata()
	if err != nil {
		return fmt.Errorf("delivery without a sequence: %w", err)
	}
	l.mu.Lock()
	at := len(l.delivered)
	l.delivered = append(l.delivered, ledger.Delivery{Message: ledger.Message{Sequence: meta.Sequence.Stream, ID: string(m.Data())}})
	l.seenAt = append(l.seenAt, l.ledger.now())
	l.highest = max(l.highest, meta.Sequence.Stream)
	l.mu.Unlock()

	attempt, cancel := context.WithTimeout(ctx, ackTimeout)
	defer cancel()
	if err := m.DoubleAck(attempt); err != nil {
		return fmt.Errorf("acknowledge sequence %d: %w", meta.Sequence.Stream, err)
	}
	l.mu.Lock()
	l.delivered[at].Confirmed = true
	l.mu.Unlock()
	return nil
}

func (l *lane) failed(err error) {
	l.mu.Lock()
	l.errors = append(l.errors, l.ledger.now())
	l.mu.Unlock()
	l.ledger.log.Debug("consumer", "stream", l.name, "error", err)
}
