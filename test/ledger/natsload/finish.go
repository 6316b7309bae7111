package natsload

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/holdfast-dev/holdfast/test/ledger/run"
)

const (
	// readers is how many sequences of one stream are asked for at the same time when it is re-read.
	readers = 16
	// believeAfter is how long a stream must be said to be gone, or short, before that counts.
	believeAfter = 5 * time.Second
	// redelivered is what faultless redeliveries are counted under.
	redelivered = "redelivered"
)

// Compare waits for the consumers, then re-reads and compares.
func (l *load) Compare(running context.Context) {
	ctx, cancel := context.WithTimeout(running, l.book.Bound())
	l.eachLane(func(lane *lane) { lane.drain(ctx) })
	cancel()
	ctx, cancel = context.WithTimeout(running, l.book.Bound())
	defer cancel()
	l.compare(ctx)
}

func (l *load) eachLane(do func(*lane)) {
	var all sync.WaitGroup
	for _, lane := range l.lanes {
		all.Go(func() { do(lane) })
	}
	all.Wait()
}

// drain waits until the consumer has seen all there is to see, or ctx ends.
func (l *lane) drain(ctx context.Context) {
	for ctx.Err() == nil && !l.sawAll() {
		// A message that is gone never comes. Then the server knows better: nothing to deliver, nothing outstanding.
		attempt, cancel := context.WithTimeout(ctx, ackTimeout)
		info, err := l.consumer.Info(attempt)
		cancel()
		if err == nil && info.NumPending == 0 && info.NumAckPending == 0 {
			return
		}
		run.Pause(ctx, afterFailure)
	}
}

// sawAll says that every acknowledged message was delivered: by the highest sequence, since messages come in order
// (if they did not, the comparison says so).
func (l *lane) sawAll() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.acked) == 0 || (l.highest >= l.acked[len(l.acked)-1].Sequence && l.delivered[len(l.delivered)-1].Confirmed)
}

func (l *load) compare(ctx context.Context) {
	l.eachLane(func(lane *lane) {
		stored, err := lane.reread(ctx)
		if err != nil {
			// Not knowing what a stream holds is not the same as its messages being lost.
			l.book.Found.Problem("stream %s could not be re-read, nothing is known about it: %v", lane.name, err)
			return
		}
		faults, again := Compare(lane.history(stored))
		l.book.Found.Add(faults...)
		l.book.Found.Harmless(redelivered, again)
	})
	for _, w := range l.writers {
		stored, err := w.final(ctx)
		if err != nil {
			l.book.Found.Problem("counter %s could not be read, nothing is known about writer %s: %v", w.counter, w.name, err)
			continue
		}
		w.mu.Lock()
		tally := Tally{Bucket: l.bucket(), Counter: w.counter, Writer: w.name, Increments: w.increments, Unresolved: w.unresolved, Stored: stored}
		w.mu.Unlock()
		l.book.Found.Add(CompareTally(tally)...)
	}
}

func (l *lane) history(stored []Message) History {
	l.mu.Lock()
	defer l.mu.Unlock()
	h := History{Stream: l.name, Acknowledged: l.acked, Stored: stored, Delivered: append([]Delivery(nil), l.delivered...)}
	if l.sending != "" {
		h.Unresolved = []string{l.sending}
	}
	return h
}

// reread asks the stream's leader for every sequence from the first to the last.
func (l *lane) reread(ctx context.Context) ([]Message, error) {
	stream, err := l.find(ctx)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return nil, nil // the whole stream is gone, and with it every message
	}
	if err != nil {
		return nil, err
	}
	state := stream.CachedInfo().State
	if state.LastSeq == 0 || state.Msgs == 0 {
		return nil, nil
	}
	found, err := getAll(ctx, stream, state.FirstSeq, state.LastSeq)
	if err != nil {
		return nil, err
	}
	stored := make([]Message, 0, len(found))
	for i, id := range found {
		if id != "" {
			stored = append(stored, Message{Sequence: state.FirstSeq + uint64(i), ID: id})
		}
	}
	return stored, nil
}

// getAll returns the ids from one sequence to another; empty where there is none.
func getAll(ctx context.Context, stream jetstream.Stream, first, last uint64) ([]string, error) {
	found := make([]string, last-first+1)
	next := make(chan uint64)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var all sync.WaitGroup
	for range readers {
		all.Go(func() {
			for sequence := range next {
				id, err := get(ctx, stream, sequence)
				if err != nil {
					// Ends the other readers too: each then drains its sequences without asking.
					cancel(fmt.Errorf("sequence %d of %d: %w", sequence, last, err))
				}
				found[sequence-first] = id
			}
		})
	}
	for sequence := first; sequence <= last; sequence++ {
		next <- sequence
	}
	close(next)
	all.Wait()
	return found, context.Cause(ctx)
}

// find looks the stream up. "Not found", or an end before the last acknowledged sequence, is believed when it is
// said for a while: a cluster that is just coming back may say so too early.
func (l *lane) find(ctx context.Context) (jetstream.Stream, error) {
	l.mu.Lock()
	var promised uint64
	if len(l.acked) > 0 {
		promised = l.acked[len(l.acked)-1].Sequence
	}
	l.mu.Unlock()
	believe, cancel := context.WithTimeout(ctx, believeAfter)
	defer cancel()
	for {
		attempt, cancel := context.WithTimeout(ctx, 2*time.Second)
		stream, err := l.js.Stream(attempt, l.name)
		cancel()
		switch {
		case err == nil && (stream.CachedInfo().State.LastSeq >= promised || believe.Err() != nil):
			return stream, nil
		case err == nil:
		case ctx.Err() != nil, errors.Is(err, jetstream.ErrStreamNotFound) && believe.Err() != nil:
			return nil, fmt.Errorf("look it up: %w", err)
		}
		run.Pause(ctx, afterFailure)
	}
}

// get returns the id at a sequence, "" when the leader says there is none, an error when nobody said anything
// until ctx ended.
func get(ctx context.Context, stream jetstream.Stream, sequence uint64) (string, error) {
	for {
		attempt, cancel := context.WithTimeout(ctx, 2*time.Second)
		m, err := stream.GetMsg(attempt, sequence)
		cancel()
		switch {
		case err == nil && len(m.Data) == 0:
			return "(empty)", nil // not one of ours, but there
		case err == nil:
			return string(m.Data), nil
		case errors.Is(err, jetstream.ErrMsgNotFound):
			return "", nil
		case ctx.Err() != nil:
			return "", err
		}
		run.Pause(ctx, afterFailure)
	}
}
