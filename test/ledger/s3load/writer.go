package s3load

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/holdfast-dev/holdfast/test/ledger/run"
)

// The names that writes are counted under.
const (
	created     = "objects created"
	overwritten = "objects overwritten"
	deleted     = "objects deleted"
	inParts     = "of them in parts"
)

// writer owns the keys of one prefix, and writes one after the other.
type writer struct {
	*run.Lane
	load   *load
	prefix string
	random *rand.ChaCha8 // of the writing goroutine alone

	mu      sync.Mutex
	objects []*object // all that were written; only the writing goroutine appends
	recent  *object   // the last that was acknowledged
}

// intent is one write.
type intent struct {
	*object
	name     string // it is counted under
	deletion bool
}

func (w *writer) write(ctx context.Context, stop <-chan struct{}) {
	w.load.book.Ticks(ctx, stop, func() bool {
		next, found := w.choose()
		if !found {
			w.Abandon(fmt.Sprintf("attempts at a write of each of its %d keys went unanswered, there is none left to write", w.load.config.Keys))
			return false
		}
		w.carryOut(ctx, next)
		return true
	})
}

// choose takes four new keys in ten writes as long as there may be more, and else one that was written before:
// when it is there, a quarter is deleted.
func (w *writer) choose() (intent, bool) {
	known := len(w.objects)
	if known < w.load.config.Keys && (known == 0 || w.random.Uint64()%10 < 4) {
		return w.create(), true
	}
	at := int(w.random.Uint64() % uint64(known))
	for i := range known {
		o := w.objects[(at+i)%known]
		switch {
		case o.rests():
		case o.promise().absent():
			return intent{object: o, name: created}, true
		case w.random.Uint64()%4 == 0:
			return intent{object: o, name: deleted, deletion: true}, true
		default:
			return intent{object: o, name: overwritten}, true
		}
	}
	if known < w.load.config.Keys {
		return w.create(), true
	}
	return intent{}, false
}

func (w *writer) create() intent {
	o := &object{key: fmt.Sprintf("%s/%06d", w.prefix, len(w.objects))}
	w.mu.Lock()
	w.objects = append(w.objects, o)
	w.mu.Unlock()
	return intent{object: o, name: created}
}

// carryOut does one write and writes down what became of it.
func (w *writer) carryOut(ctx context.Context, i intent) {
	ctx, cancel := context.WithTimeout(ctx, WriteTimeout)
	defer cancel()
	tries := &attempts{RetryerV2: w.load.retryer, failed: w.Retried}
	begin := time.Now()
	sequence := i.begin(i.deletion)
	shape := shapeOf(i.key, sequence)
	err := w.send(ctx, i, sequence, shape, tries)
	if err != nil {
		tries.note(err)
	}
	switch {
	case err == nil:
		i.acknowledge(tries.doubtful)
		w.acknowledged(i, sequence, len(shape.parts) > 0, time.Since(begin))
	case tries.doubtful:
		i.doubt()
		w.Failed(err)
	default:
		i.refuse()
		w.Failed(err)
	}
}

func (w *writer) acknowledged(i intent, sequence uint64, multipart bool, took time.Duration) {
	id, under := i.key, []string{i.name}
	switch {
	case i.deletion:
		id += " deleted"
	case multipart:
		under = append(under, inParts)
	}
	w.Acknowledged(sequence, id, took, under...)
	w.mu.Lock()
	w.recent = i.object
	w.mu.Unlock()
}

func (w *writer) send(ctx context.Context, i intent, sequence uint64, shape shape, tries *attempts) error {
	bucket, key := &w.load.config.Bucket, &i.key
	if i.deletion {
		_, err := w.load.client.DeleteObject(ctx, &s3.DeleteObjectInput{Bucket: bucket, Key: key}, tries.with)
		return err
	}
	body := content(i.key, sequence)
	if len(shape.parts) == 0 {
		_, err := w.load.client.PutObject(ctx, &s3.PutObjectInput{Bucket: bucket, Key: key, Body: bytes.NewReader(body)}, tries.with)
		return err
	}
	return w.multipart(ctx, bucket, key, body, shape.parts, tries)
}

// multipart uploads in parts. Only the last request makes the object, but a repeat of it is answered with "no such
// upload" when the first attempt was done: such an answer follows an attempt that was noted as doubtful.
func (w *writer) multipart(ctx context.Context, bucket, key *string, body []byte, sizes []int, tries *attempts) error {
	upload, err := w.load.client.CreateMultipartUpload(ctx, &s3.CreateMultipartUploadInput{Bucket: bucket, Key: key}, tries.with)
	if err != nil {
		return err
	}
	if upload.UploadId == nil {
		return errors.New("the multipart upload has no id")
	}
	var done []types.CompletedPart
	for n, size := range sizes {
		number := aws.Int32(int32(n + 1))
		part, err := w.load.client.UploadPart(ctx, &s3.UploadPartInput{
			Bucket: bucket, Key: key, UploadId: upload.UploadId, PartNumber: number, Body: bytes.NewReader(body[:size]),
		}, tries.with)
		if err != nil {
			return err
		}
		body = body[size:]
		done = append(done, types.CompletedPart{
			PartNumber: number, ETag: part.ETag, ChecksumCRC32: part.ChecksumCRC32, ChecksumCRC64NVME: part.ChecksumCRC64NVME,
		})
	}
	_, err = w.load.client.CompleteMultipartUpload(ctx, &s3.CompleteMultipartUploadInput{
		Bucket: bucket, Key: key, UploadId: upload.UploadId, MultipartUpload: &types.CompletedMultipartUpload{Parts: done},
	}, tries.with)
	return err
}
