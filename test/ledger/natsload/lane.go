package natsload

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/holdfast-dev/holdfast/test/ledger/run"
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
	*run.Lane
	load     *load
	name     string
	subject  string
	js       jetstream.JetStream
	consumer jetstream.Consumer

	mu        sync.Mutex
	acked     []Message
	sending   string // the id that is sent and not acknowledged; empty when none is
	delivered []Delivery
	highest   uint64 // highest sequence delivered
}

func (l *lane) setUp(ctx context.Context) error {
	stream, err := l.js.CreateStream(ctx, jetstream.StreamConfig{
		Name: l.name, Subjects: []string{l.subject}, Storage: jetstream.FileStorage, Replicas: l.load.config.Replicas,
		Duplicates: deduplicate,
		// Without direct gets the re-reading is answered by the stream's leader, never by a replica that lags.
		AllowDirect: false,
	})
	if errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) {
		return &run.TakenError{What: "stream " + l.name, Holds: "messages"}
	}
	if err != nil {
		return fmt.Errorf("create: %w", err)
	}
	info, err := stream.Info(ctx)
	if err != nil {
		return fmt.Errorf("look at it: %w", err)
	}
	if info.State.LastSeq != 0 {
		return &run.TakenError{What: "stream " + l.name, Holds: "messages"}
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
	n := 0
	l.load.book.Ticks(ctx, stop, func() bool {
		n++
		return l.send(ctx, fmt.Sprintf("%s/%d", l.name, n))
	})
}

// send sends one message under one id until it is acknowledged.
func (l *lane) send(ctx context.Context, id string) bool {
	l.mu.Lock()
	l.sending = id
	l.mu.Unlock()
	begin := time.Now()
	for time.Since(begin) < giveUp && ctx.Err() == nil {
		attempt, cancel := context.WithTimeout(ctx, ackTimeout)
		ack, err := l.js.PublishMsg(attempt, &nats.Msg{Subject: l.subject, Data: []byte(id)}, jetstream.WithMsgID(id), jetstream.WithRetryAttempts(0))
		cancel()
		if err == nil {
			l.acknowledged(Message{Sequence: ack.Sequence, ID: id}, time.Since(begin))
			return true
		}
		l.Retried(err)
		if !errors.Is(err, context.DeadlineExceeded) {
			run.Pause(ctx, afterFailure)
		}
	}
	if ctx.Err() == nil {
		l.Abandon(fmt.Sprintf("message %s was not acknowledged for %s, the publisher gave up", id, giveUp))
	}
	return false
}

func (l *lane) acknowledged(m Message, took time.Duration) {
	l.mu.Lock()
	l.acked, l.sending = append(l.acked, m), ""
	l.mu.Unlock()
	l.Acknowledged(m.Sequence, m.ID, took)
}

// consume reads until ctx ends; whatever goes wrong, it begins again where the server has it.
func (l *lane) consume(ctx context.Context) {
	for ctx.Err() == nil {
		err := l.consumeOnce(ctx)
		if ctx.Err() != nil {
			return
		}
		l.Failed(err)
		run.Pause(ctx, afterFailure)
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
			l.Failed(err)
			continue
		}
		if err != nil {
			return fmt.Errorf("next: %w", err)
		}
		if err := l.take(ctx, m); err != nil {
			l.Failed(err)
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
	l.delivered = append(l.delivered, Delivery{Message: Message{Sequence: meta.Sequence.Stream, ID: string(m.Data())}})
	l.highest = max(l.highest, meta.Sequence.Stream)
	l.mu.Unlock()
	l.Seen()

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
