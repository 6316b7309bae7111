package natsload

import (
	"context"
	"encoding/json"
	"log/slog"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/holdfast-dev/holdfast/test/ledger/run"
)

// fakeBucket holds one counter; each write goes through the next of its steps.
type fakeBucket struct {
	jetstream.KeyValue
	value    []byte
	revision uint64
	lags     bool // the next read is answered by a replica that has nothing yet
	steps    []func(b *fakeBucket, value []byte, revision uint64) (uint64, error)
}

type fakeEntry struct {
	jetstream.KeyValueEntry
	value    []byte
	revision uint64
}

func (e fakeEntry) Value() []byte    { return e.value }
func (e fakeEntry) Revision() uint64 { return e.revision }

func (b *fakeBucket) Get(context.Context, string) (jetstream.KeyValueEntry, error) {
	if b.revision == 0 || b.lags {
		b.lags = false
		return nil, jetstream.ErrKeyNotFound
	}
	return fakeEntry{value: b.value, revision: b.revision}, nil
}

func (b *fakeBucket) Update(_ context.Context, _ string, value []byte, revision uint64) (uint64, error) {
	step := b.steps[0]
	b.steps = b.steps[1:]
	return step(b, value, revision)
}

// apply is what the server does: write when the revision is still the expected one.
func apply(b *fakeBucket, value []byte, revision uint64) (uint64, error) {
	if revision != b.revision {
		return 0, jetstream.ErrKeyRevisionMismatch
	}
	b.value, b.revision = value, b.revision+1
	return b.revision, nil
}

func applyLoseReply(b *fakeBucket, value []byte, revision uint64) (uint64, error) {
	_, _ = apply(b, value, revision)
	return 0, nats.ErrTimeout
}

func applyLoseReplyThenLag(b *fakeBucket, value []byte, revision uint64) (uint64, error) {
	b.lags = true
	return applyLoseReply(b, value, revision)
}

func loseRequest(*fakeBucket, []byte, uint64) (uint64, error) { return 0, nats.ErrTimeout }

// otherFirst lets the other writer raise its number before the write arrives.
func otherFirst(then func(*fakeBucket, []byte, uint64) (uint64, error)) func(*fakeBucket, []byte, uint64) (uint64, error) {
	return func(b *fakeBucket, value []byte, revision uint64) (uint64, error) {
		raiseOther(b)
		return then(b, value, revision)
	}
}

// otherAfter lets the other writer raise its number after the write was handled.
func otherAfter(first func(*fakeBucket, []byte, uint64) (uint64, error)) func(*fakeBucket, []byte, uint64) (uint64, error) {
	return func(b *fakeBucket, value []byte, revision uint64) (uint64, error) {
		defer raiseOther(b)
		return first(b, value, revision)
	}
}

func raiseOther(b *fakeBucket) {
	numbers := map[string]uint64{}
	if b.revision > 0 {
		_ = json.Unmarshal(b.value, &numbers)
	}
	numbers["b"]++
	b.value, _ = json.Marshal(numbers)
	b.revision++
}

// oneWriter is the first writer of a load that is not connected.
func oneWriter(t *testing.T) *writer {
	t.Helper()
	config := Config{URL: "nats://none", Streams: 1, Replicas: 1, Counters: 1, Config: run.Config{Name: "t", Interval: 1, Bound: 1}}
	l, err := newLoad(config, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	return l.writers[0]
}

// The writer counts a success exactly when its write took place, whatever became of the replies.
func TestRaiseResolvesLostReplies(t *testing.T) {
	type step = func(*fakeBucket, []byte, uint64) (uint64, error)
	cases := map[string]struct {
		steps  []step
		raised uint64
	}{
		"answered":                                     {steps: []step{apply}, raised: 1},
		"the other was faster":                         {steps: []step{otherFirst(apply)}},
		"applied, reply lost":                          {steps: []step{applyLoseReply}, raised: 1},
		"applied, reply lost, then overwritten":        {steps: []step{otherAfter(applyLoseReply)}, raised: 1},
		"applied, reply lost, and a replica that lags": {steps: []step{applyLoseReplyThenLag, apply}, raised: 1},
		"request lost, repeated":                       {steps: []step{loseRequest, apply}, raised: 1},
		"request lost twice, then the reply":           {steps: []step{loseRequest, loseRequest, applyLoseReply}, raised: 1},
		"request lost, then the other was faster":      {steps: []step{otherAfter(loseRequest)}},
		"request lost, the other faster at the repeat": {steps: []step{loseRequest, otherFirst(apply)}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			bucket := &fakeBucket{steps: c.steps}
			w := oneWriter(t)
			w.bucket = bucket
			w.raise(t.Context(), map[string]uint64{}, 0)
			stored, err := w.final(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if w.increments != c.raised || stored != c.raised || w.unresolved || len(bucket.steps) > 0 {
				t.Errorf("counted %d (unresolved %t, %d steps not taken), stored %d, want %d", w.increments, w.unresolved, len(bucket.steps), stored, c.raised)
			}
		})
	}
}

// A replica that lags answers without the writer's own last success; then the next write is lost. What the writer finds
// after that is its old success, and not one of the write that was lost.
func TestCountLooksPastAReplicaThatLags(t *testing.T) {
	stop := make(chan struct{})
	last := func(b *fakeBucket, value []byte, revision uint64) (uint64, error) {
		close(stop)
		return apply(b, value, revision)
	}
	w := oneWriter(t)
	bucket := &fakeBucket{steps: []func(*fakeBucket, []byte, uint64) (uint64, error){apply, loseRequest, last}}
	w.bucket = bucket
	w.raise(t.Context(), map[string]uint64{}, 0)
	bucket.lags = true
	w.count(t.Context(), stop)
	stored, err := w.final(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if w.increments != 2 || stored != 2 {
		t.Errorf("counted %d, stored %d, want 2 of both", w.increments, stored)
	}
}
