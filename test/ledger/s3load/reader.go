package s3load

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/holdfast-dev/holdfast/test/ledger"
	"github.com/holdfast-dev/holdfast/test/ledger/run"
)

// readBack is what answers of readers are counted under.
const readBack = "objects read back"

// reader reads acknowledged keys, again and again, through one member after the other of those behind one URL.
type reader struct {
	*run.Lane
	load    *load
	members *members
	random  *rand.ChaCha8
}

func (r *reader) read(ctx context.Context, stop <-chan struct{}) {
	r.load.book.Ticks(ctx, stop, func() bool {
		w := r.load.writers[r.random.Uint64()%uint64(len(r.load.writers))]
		o := w.pick(r.random)
		if o == nil {
			return true
		}
		through, err := r.members.take(ctx)
		if err == nil {
			_, _, err = through.check(ctx, o)
		}
		if err != nil {
			r.Failed(err)
			return true
		}
		r.Counted(readBack)
		w.Seen()
		return true
	})
}

// pick is the key that was written last, every second time, and else any; nil when there is none.
func (w *writer) pick(random *rand.ChaCha8) *object {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.objects) == 0 {
		return nil
	}
	if w.recent != nil && random.Uint64()%2 == 0 {
		return w.recent
	}
	return w.objects[random.Uint64()%uint64(len(w.objects))]
}

// check reads a key and adds what is wrong with the answer to what was found. The error says that there was no
// answer.
func (m *member) check(ctx context.Context, o *object) (a answer, right bool, err error) {
	begun, floor := time.Now(), o.promise()
	a, err = m.get(ctx, o.key)
	if err != nil {
		return a, false, err
	}
	kind, detail := judge(floor, o.promise(), a)
	if kind != "" {
		m.found(kind, o.key, floor.acked, detail, begun)
	}
	return a, kind == "", nil
}

func (m *member) get(ctx context.Context, key string) (answer, error) {
	ctx, cancel := context.WithTimeout(ctx, AttemptTimeout)
	defer cancel()
	out, err := m.client.GetObject(ctx, &s3.GetObjectInput{Bucket: &m.load.config.Bucket, Key: &key})
	if _, none := errors.AsType[*types.NoSuchKey](err); none {
		return answer{absent: true}, nil
	}
	if err != nil {
		return answer{}, err
	}
	defer out.Body.Close()
	sequence, err := examine(out.Body, key)
	if damaged, is := errors.AsType[*corruption](err); is {
		return answer{damage: damaged.what}, nil
	}
	if err != nil {
		return answer{}, &brokenOffError{err}
	}
	return answer{sequence: sequence}, nil
}

// brokenOffError says that an answer began and did not end.
type brokenOffError struct{ err error }

func (e *brokenOffError) Error() string { return fmt.Sprintf("the answer broke off: %v", e.err) }
func (e *brokenOffError) Unwrap() error { return e.err }

func (m *member) found(kind ledger.Kind, key string, sequence uint64, detail string, at time.Time) {
	m.load.book.Found.Add(ledger.Finding{
		Kind: kind, Stream: m.load.config.Bucket, Sequence: sequence, ID: key, Count: 1, Detail: m.name + ": " + detail, At: at, Endpoint: m.name,
	})
}
