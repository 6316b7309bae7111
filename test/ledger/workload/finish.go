package workload

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/holdfast-dev/holdfast/test/ledger"
)

const (
	// readers is how many sequences of one stream are asked for at the same time when it is re-read.
	readers = 16
	// believeAfter is how long a stream must be said to be gone, or short, before that counts.
	believeAfter = 5 * time.Second
)

var errNotBegun = errors.New("the ledger has not begun yet: wait for GET /ready")

// Finish ends the run and returns the last report. It takes up to three times the configured bound: for the
// publishers, the consumers and the re-reading. It goes on when the caller goes away; asked again, it waits for
// the same report.
func (l *Ledger) Finish(ctx context.Context) (ledger.Report, error) {
	l.mu.Lock()
	running := l.running
	l.mu.Unlock()
	if running == nil {
		return ledger.Report{}, errNotBegun
	}
	l.ending.Do(func() { go l.end(running) })
	select {
	case <-l.ended:
	case <-ctx.Done():
		return ledger.Report{}, ctx.Err()
	case <-running.Done():
		return ledger.Report{}, errors.New("the ledger is shutting down")
	}
	return l.Report(), nil
}

func (l *Ledger) end(running context.Context) {
	l.stopPublishing()
	ctx, cancel := context.WithTimeout(running, l.config.Bound)
	l.eachLane(func(lane *lane) { lane.drain(ctx) })
	cancel()

	ctx, cancel = context.WithTimeout(running, l.config.Bound)
	defer cancel()
	result := l.compare(ctx)
	report := l.counts()
	report.Finished = true
	report.Faults, report.Redelivered = result.faults, result.redelivered
	report.Findings = result.findings
	report.Problems = append(report.Problems, result.problems...)
	report.Reasons = ledger.Judge(report)
	report.OK = len(report.Reasons) == 0
	l.mu.Lock()
	l.final = &report
	l.mu.Unlock()
	close(l.ended)
}

// stopPublishing lets each publisher and writer finish what it is at, for as long as the bound.
func (l *Ledger) stopPublishing() {
	close(l.stop)
	hurry := time.AfterFunc(l.config.Bound, l.hurry)
	l.workers.Wait()
	hurry.Stop()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stopped = l.now()
	if last := len(l.changes) - 1; last >= 0 && l.changes[last].open {
		l.changes[last].open, l.changes[last].to = false, l.stopped
	}
}

func (l *Ledger) eachLane(do func(*lane)) {
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
		pause(ctx, afterFailure)
	}
}

// sawAll says that every acknowledged message was delivered: by the highest sequence, since messages come in order
// (if they did not, the comparison says so).
func (l *lane) sawAll() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.acked) == 0 || (l.highest >= l.acked[len(l.acked)-1].Sequence && l.delivered[len(l.delivered)-1].Confirmed)
}

type result struct {
	mu          sync.Mutex
	faults      map[ledger.Kind]uint64
	findings    []ledger.Finding
	redelivered uint64
	problems    []string
}

func (r *result) add(findings []ledger.Finding, redelivered int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.redelivered += uint64(redelivered)
	for _, f := range findings {
		r.faults[f.Kind] += f.Count
		if len(r.findings) < ledger.MaxFindings {
			r.findings = append(r.findings, f)
		}
	}
}

func (r *result) problem(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.problems = append(r.problems, fmt.Sprintf(format, args...))
}

func (l *Ledger) compare(ctx context.Context) *result {
	r := &result{faults: map[ledger.Kind]uint64{}}
	l.eachLane(func(lane *lane) {
		stored, err := lane.reread(ctx)
		if err != nil {
			// Not knowing what a stream holds is not the same as its messages being lost.
			r.problem("stream %s could not be re-read, nothing is known about it: %v", lane.name, err)
			return
		}
		r.add(ledger.Compare(lane.history(stored)))
	})
	for _, w := range l.writers {
		stored, err := w.final(ctx)
		if err != nil {
			r.problem("counter %s could not be read, nothing is known about writer %s: %v", w.counter, w.name, err)
			continue
		}
		w.mu.Lock()
		tally := ledger.Tally{Bucket: l.bucket(), Counter: w.counter, Writer: w.name, Increments: uint64(len(w.raisedAt)), Unresolved: w.unresolved, Stored: stored}
		w.mu.Unlock()
		r.add(ledger.CompareTally(tally), 0)
	}
	return r
}

func (l *lane) history(stored []ledger.Message) ledger.History {
	l.mu.Lock()
	defer l.mu.Unlock()
	h := ledger.History{Stream: l.name, Acknowledged: l.acked, Stored: stored, Delivered: append([]ledger.Delivery(nil), l.delivered...)}
	if l.sending != "" {
		h.Unresolved = []string{l.sending}
	}
	return h
}

// reread asks the stream's leader for every sequence from the first to the last.
func (l *lane) reread(ctx context.Context) ([]ledger.Message, error) {
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
	stored := make([]ledger.Message, 0, len(found))
	for i, id := range found {
		if id != "" {
			stored = append(stored, ledger.Message{Sequence: state.FirstSeq + uint64(i), ID: id})
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
		pause(ctx, afterFailure)
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
		pause(ctx, afterFailure)
	}
}
