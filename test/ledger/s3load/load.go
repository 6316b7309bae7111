package s3load

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/holdfast-dev/holdfast/test/ledger"
	"github.com/holdfast-dev/holdfast/test/ledger/run"
)

type load struct {
	book    *run.Book
	config  Config
	access  access
	client  *s3.Client // for writes
	retryer aws.RetryerV2
	believe time.Duration // see believeAfter
	page    int32         // see page

	writers []*writer
	readers []*reader
	members []*members
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
	access, err := config.access()
	if err != nil {
		return nil, err
	}
	terms := run.Terms{
		Unit: "writes", Counts: []string{created, overwritten, deleted, inParts, readBack}, Harmless: []string{happened, didNot, readThrough},
		Kinds: []ledger.Kind{
			ledger.Lost, ledger.Stale, ledger.Corrupted, ledger.Returned, ledger.Unreadable, ledger.Unlisted, ledger.Doubled, ledger.Foreign,
		},
	}
	l := &load{book: run.New(config.Config, terms, log), config: config, access: access, client: config.client(access, config.urls()...), believe: believeAfter, page: page}
	retryer, ok := l.client.Options().Retryer.(aws.RetryerV2)
	if !ok {
		return nil, fmt.Errorf("the S3 client's retryer is a %T", l.client.Options().Retryer)
	}
	l.retryer = retryer
	l.book.Carry(l)
	for i := range config.Writers {
		prefix := fmt.Sprintf("%s/%d", config.Name, i)
		l.writers = append(l.writers, &writer{Lane: l.book.Lane(prefix, "writer "+prefix), load: l, prefix: prefix, random: rand.NewChaCha8(seed("writer", uint64(i)))})
	}
	for i, url := range config.readURLs() {
		behind, err := newMembers(l, url)
		if err != nil {
			return nil, err
		}
		l.members = append(l.members, behind)
		l.readers = append(l.readers, &reader{Lane: l.book.Aside("reading through " + url), load: l, members: behind, random: rand.NewChaCha8(seed("reader", uint64(i)))})
	}
	return l, nil
}

// SetUp waits until the bucket answers, and looks that there is nothing under the name.
func (l *load) SetUp(ctx context.Context) error {
	what := fmt.Sprintf("bucket %s at %s", l.config.Bucket, l.config.URL)
	return l.book.Until(ctx, what, func(ctx context.Context) error {
		prefix := l.config.Name + "/"
		listed, err := l.client.ListObjectsV2(ctx, &s3.ListObjectsV2Input{Bucket: &l.config.Bucket, Prefix: &prefix, MaxKeys: aws.Int32(1)}, func(o *s3.Options) {
			o.Retryer = aws.NopRetryer{} // Until repeats, and says why
		})
		if err != nil {
			return err
		}
		if len(listed.Contents) > 0 {
			return &run.TakenError{What: fmt.Sprintf("bucket %s, under %s,", l.config.Bucket, prefix), Holds: "objects"}
		}
		return nil
	})
}

// Writers are those of objects, and the readers: these have nothing to do once nobody writes.
func (l *load) Writers() []func(context.Context, <-chan struct{}) {
	var all []func(context.Context, <-chan struct{})
	for _, w := range l.writers {
		all = append(all, w.write)
	}
	for _, r := range l.readers {
		all = append(all, r.read)
	}
	return all
}

// Watchers are none.
func (l *load) Watchers() []func(context.Context) { return nil }

// Close does nothing: idle connections end by themselves.
func (l *load) Close() {}
