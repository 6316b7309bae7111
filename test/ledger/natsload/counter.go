package natsload

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"sync"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/holdfast-dev/holdfast/test/ledger/run"
)

// increments is what a writer's successes are counted under.
const increments = "counter increments"

// writer raises its number in one counter. What a counter is, and why a lost reply can be resolved, is said in
// package ledger under "Counters".
type writer struct {
	*run.Lane
	load    *load
	counter string
	name    string
	bucket  jetstream.KeyValue

	mu         sync.Mutex
	increments uint64 // successes
	revision   uint64 // highest revision known to hold a success
	unresolved bool   // a write was sent and its fate is not known
}

func (l *load) setUpBucket(ctx context.Context, js jetstream.JetStream) error {
	bucket, err := js.CreateKeyValue(ctx, jetstream.KeyValueConfig{Bucket: l.bucket(), Storage: jetstream.FileStorage, Replicas: l.config.Replicas})
	if errors.Is(err, jetstream.ErrBucketExists) {
		return &run.TakenError{What: "bucket " + l.bucket(), Holds: "counters"}
	}
	if err != nil {
		return fmt.Errorf("create: %w", err)
	}
	status, err := bucket.Status(ctx)
	if err != nil {
		return fmt.Errorf("look at it: %w", err)
	}
	if status.Values() != 0 {
		return &run.TakenError{What: "bucket " + l.bucket(), Holds: "counters"}
	}
	for _, w := range l.writers {
		w.bucket = bucket
	}
	return nil
}

// count raises the counter until stop, resolves the write it is at, and ends with ctx at the latest.
func (w *writer) count(ctx context.Context, stop <-chan struct{}) {
	w.load.book.Ticks(ctx, stop, func() bool {
		numbers, revision, err := w.read(ctx)
		switch {
		case err != nil:
			w.Failed(err)
			run.Pause(ctx, afterFailure)
		case revision < w.known():
			// A replica that lags answered, without this writer's last success. To raise that number again would be
			// refused; but if the write got lost, its success would be taken for that of the new one.
			run.Pause(ctx, afterFailure)
		default:
			w.raise(ctx, numbers, revision)
		}
		return true
	})
}

// raise writes numbers+1 over exactly this revision, until it is known whether that write took place.
func (w *writer) raise(ctx context.Context, numbers map[string]uint64, revision uint64) {
	wanted := maps.Clone(numbers)
	wanted[w.name]++
	value, err := json.Marshal(wanted)
	if err != nil {
		panic(err) // a map of numbers
	}
	for doubtful := false; ; {
		w.setUnresolved(true)
		attempt, cancel := context.WithTimeout(ctx, ackTimeout)
		at, err := w.bucket.Update(attempt, w.counter, value, revision)
		cancel()
		if err == nil {
			w.raised(at)
			return
		}
		refused := errors.Is(err, jetstream.ErrKeyRevisionMismatch)
		if refused && !doubtful {
			w.setUnresolved(false) // refused at the first attempt: the other writer was faster
			return
		}
		if !refused {
			doubtful = true
			w.Failed(err)
		}
		now, at, err := w.readUntil(ctx)
		switch {
		case err != nil:
			return // still unresolved
		case at <= revision: // nothing moved, or a replica that lags answered: the same write again
			run.Pause(ctx, afterFailure)
		case now[w.name] == wanted[w.name]:
			w.raised(at)
			return
		default:
			w.setUnresolved(false)
			return
		}
	}
}

// read returns the numbers and the revision; a counter that is not there has revision 0.
func (w *writer) read(ctx context.Context) (map[string]uint64, uint64, error) {
	attempt, cancel := context.WithTimeout(ctx, ackTimeout)
	defer cancel()
	entry, err := w.bucket.Get(attempt, w.counter)
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		return map[string]uint64{}, 0, nil
	}
	if err != nil {
		return nil, 0, fmt.Errorf("read %s: %w", w.counter, err)
	}
	numbers := map[string]uint64{}
	if err := json.Unmarshal(entry.Value(), &numbers); err != nil {
		return nil, 0, fmt.Errorf("read %s: %w", w.counter, err)
	}
	return numbers, entry.Revision(), nil
}

// readUntil reads until an answer comes or ctx ends.
func (w *writer) readUntil(ctx context.Context) (map[string]uint64, uint64, error) {
	for {
		numbers, revision, err := w.read(ctx)
		if err == nil || ctx.Err() != nil {
			return numbers, revision, err
		}
		w.Failed(err)
		run.Pause(ctx, afterFailure)
	}
}

// final reads the writer's number at the end. An answer older than a known success may be a replica that lags,
// so it asks again; when ctx ends, the newest answer counts.
func (w *writer) final(ctx context.Context) (uint64, error) {
	numbers, revision, err := w.readUntil(ctx)
	for err == nil && revision < w.known() && ctx.Err() == nil {
		run.Pause(ctx, afterFailure)
		if newer, at, err := w.read(ctx); err == nil {
			numbers, revision = newer, at
		}
	}
	return numbers[w.name], err
}

// known is the highest revision that holds a success of this writer.
func (w *writer) known() uint64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.revision
}

func (w *writer) raised(revision uint64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.increments++
	w.Counted(increments)
	w.revision, w.unresolved = max(w.revision, revision), false
}

func (w *writer) setUnresolved(to bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.unresolved = to
}
