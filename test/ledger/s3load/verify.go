package s3load

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/smithy-go"

	"github.com/holdfast-dev/holdfast/test/ledger"
	"github.com/holdfast-dev/holdfast/test/ledger/run"
)

const (
	// atOnce is how many keys are read through one member at the same time.
	atOnce = 4
	// believeAfter is how long a member that answers other reads must fail to answer one before that counts.
	believeAfter = 10 * time.Second
	betweenTries = 500 * time.Millisecond
	// page is how many keys are listed in one answer: few, so that there are many pages.
	page = 100

	happened = "unanswered writes that happened"
	didNot   = "unanswered writes that did not happen"

	readThrough = "members that everything was read through"
)

// verifier reads everything through one member.
type verifier struct {
	*member
	objects []*object

	mu    sync.Mutex
	seen  map[*object]uint64 // which write each was found with, of those that were answered
	wrong map[*object]bool   // the answer was

	noBucket bool // it was said
}

// failure is a key that was not answered, and the last reason.
type failure struct {
	*object
	err error
}

// Compare reads everything again through every member, then has every member list.
func (l *load) Compare(running context.Context) {
	var objects []*object
	for _, w := range l.writers {
		objects = append(objects, w.objects...)
	}
	ctx, cancel := context.WithTimeout(running, l.book.Bound())
	var verifiers []*verifier
	for _, m := range l.everyMember(ctx) {
		verifiers = append(verifiers, &verifier{member: m, objects: objects, seen: map[*object]uint64{}, wrong: map[*object]bool{}})
	}
	l.book.Found.Harmless(readThrough, len(verifiers))
	each(verifiers, func(v *verifier) { v.contents(ctx) })
	cancel()
	ctx, cancel = context.WithTimeout(running, l.book.Bound())
	defer cancel()
	each(verifiers, func(v *verifier) { v.listing(ctx) })
	l.resolve(objects, verifiers)
}

func each(verifiers []*verifier, do func(*verifier)) {
	var all sync.WaitGroup
	for _, v := range verifiers {
		all.Go(func() { do(v) })
	}
	all.Wait()
}

// resolve counts what became of unanswered writes. One that did not happen yet may still happen; of a deletion the
// content that is gone says it.
func (l *load) resolve(objects []*object, verifiers []*verifier) {
	for _, o := range objects {
		so := o.promise()
		if so.last == so.acked {
			continue
		}
		answered, done := false, false
		for _, v := range verifiers {
			sequence, is := v.seen[o]
			answered = answered || is
			done = done || is && (sequence == so.last || so.deleted == so.last && sequence == 0)
		}
		switch {
		case done:
			l.book.Found.Harmless(happened, 1)
		case answered:
			l.book.Found.Harmless(didNot, 1)
		}
	}
}

// contents reads every key until each was answered. It gives up on some when the member answered others and has
// been asked for these for a while, and on all when ctx ends.
func (v *verifier) contents(ctx context.Context) {
	failed := v.pass(ctx, v.objects)
	for until := time.Now().Add(v.load.believe); len(failed) > 0 && ctx.Err() == nil && (!v.answered() || time.Now().Before(until)); {
		run.Pause(ctx, betweenTries)
		again, why := make([]*object, 0, len(failed)), map[*object]error{}
		for _, f := range failed {
			again, why[f.object] = append(again, f.object), f.err
		}
		failed = v.pass(ctx, again)
		for i, f := range failed {
			if ctx.Err() != nil { // what the member had said before says more than that there was no time
				failed[i].err = why[f.object]
			}
		}
	}
	v.conclude(failed)
}

// answered says that the member answered something, be it that there is no bucket.
func (v *verifier) answered() bool { return len(v.seen) > 0 || v.noBucket }

// conclude says what it means that these were never answered.
func (v *verifier) conclude(failed []failure) {
	var unknown []failure
	for _, f := range failed {
		so := f.promise()
		_, broken := errors.AsType[*brokenOffError](f.err)
		switch {
		case isNoBucket(f.err):
			if !mayBeAbsent(so, so) {
				v.found(ledger.Lost, f.key, so.acked, "no such bucket", time.Now())
			}
		case v.answered() && (broken || statusOf(f.err) != 0):
			v.found(ledger.Unreadable, f.key, so.acked, f.err.Error(), time.Now())
		default:
			unknown = append(unknown, f)
		}
	}
	if len(unknown) > 0 {
		v.load.book.Found.Problem("%d of %d keys could not be read through %s, nothing is known about them: %v", len(unknown), len(v.objects), v.name, unknown[0].err)
	}
}

// pass reads each of the keys once and returns those that were not answered.
func (v *verifier) pass(ctx context.Context, objects []*object) []failure {
	next := make(chan *object)
	var failed []failure
	var all sync.WaitGroup
	for range atOnce {
		all.Go(func() {
			for o := range next {
				a, right, err := v.check(ctx, o)
				v.mu.Lock()
				if err != nil {
					failed = append(failed, failure{o, err})
					v.noBucket = v.noBucket || isNoBucket(err)
				} else {
					v.seen[o], v.wrong[o] = a.sequence, !right
				}
				v.mu.Unlock()
			}
		})
	}
	for _, o := range objects {
		next <- o
	}
	close(next)
	all.Wait()
	return failed
}

func isNoBucket(err error) bool {
	said, is := errors.AsType[smithy.APIError](err)
	return is && said.ErrorCode() == "NoSuchBucket"
}

// listing lists all keys and holds them against those that must and may be there.
func (v *verifier) listing(ctx context.Context) {
	for {
		begun := time.Now()
		listed, err := v.list(ctx)
		switch {
		case err == nil:
			v.compare(listed, begun)
			return
		case isNoBucket(err):
			return // every key was found to be lost with it
		case ctx.Err() != nil:
			v.load.book.Found.Problem("the keys could not be listed through %s, nothing is known about its lists: %v", v.name, err)
			return
		}
		run.Pause(ctx, betweenTries)
	}
}

// list returns every listed key with the sizes that it was listed with.
func (v *verifier) list(ctx context.Context) (map[string][]int, error) {
	prefix := v.load.config.Name + "/"
	input := &s3.ListObjectsV2Input{Bucket: &v.load.config.Bucket, Prefix: &prefix, MaxKeys: &v.load.page}
	listed := map[string][]int{}
	for most := 2*len(v.objects)/int(v.load.page) + 10; most > 0; most-- {
		out, err := v.client.ListObjectsV2(ctx, input)
		if err != nil {
			return nil, err
		}
		for _, entry := range out.Contents {
			listed[aws.ToString(entry.Key)] = append(listed[aws.ToString(entry.Key)], int(aws.ToInt64(entry.Size)))
		}
		if !aws.ToBool(out.IsTruncated) {
			return listed, nil
		}
		input.ContinuationToken = out.NextContinuationToken
	}
	return nil, fmt.Errorf("the list does not end, though only %d keys were ever written", len(v.objects))
}

func (v *verifier) compare(listed map[string][]int, begun time.Time) {
	for _, o := range v.objects {
		so := o.promise()
		may, sizes := so.sizes(o.key), listed[o.key]
		delete(listed, o.key)
		switch {
		case v.wrong[o]: // in the list too, most likely, and found already
		case len(sizes) == 0 && !mayBeAbsent(so, so):
			v.found(ledger.Unlisted, o.key, so.acked, "not in the list", begun)
		case len(sizes) == 0:
		case len(may) == 0:
			v.found(ledger.Returned, o.key, so.acked, "in the list", begun)
		case !slices.Contains(may, sizes[0]):
			v.found(ledger.Stale, o.key, so.acked, fmt.Sprintf("in the list with %d bytes, and it has %d", sizes[0], may), begun)
		}
		if len(sizes) > 1 {
			v.found(ledger.Doubled, o.key, so.acked, fmt.Sprintf("%d times in the list", len(sizes)), begun)
		}
	}
	for key := range listed {
		v.found(ledger.Foreign, key, 0, "in the list", begun)
	}
}
