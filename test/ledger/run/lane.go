package run

import (
	"slices"
	"sort"
	"sync"
	"time"

	"github.com/holdfast-dev/holdfast/test/ledger"
)

// Lane is one line of writes that follow each other, and when what became of them. Its methods may be called at
// any time.
type Lane struct {
	book *Book
	name string // in the report; empty for a lane that is not listed there
	what string // in messages

	mu        sync.Mutex
	acked     []time.Duration // rising, as all times here
	took      []time.Duration // of acked, same index
	seen      []time.Duration
	retries   []time.Duration
	errors    []time.Duration
	counts    map[string][]time.Duration
	abandoned string
}

// Lane adds a line of writes under a name for the report, and what it is called in messages. Before Run only.
func (b *Book) Lane(name, what string) *Lane {
	l := &Lane{book: b, name: name, what: what, counts: map[string][]time.Duration{}}
	b.lanes = append(b.lanes, l)
	return l
}

// Aside adds a line whose writes are only counted: by Counted. Before Run only.
func (b *Book) Aside(what string) *Lane { return b.Lane("", what) }

// Acknowledged writes a write down: its sequence and id, for the journal, the time since its first attempt, and
// the names that it is counted under besides.
func (l *Lane) Acknowledged(sequence uint64, id string, took time.Duration, under ...string) {
	l.mu.Lock()
	at := l.book.Now()
	l.acked, l.took = append(l.acked, at), append(l.took, took)
	for _, name := range under {
		l.counts[name] = append(l.counts[name], at)
	}
	l.mu.Unlock()
	l.book.journal.write(l.name, sequence, id, at)
}

// Counted counts one more of that name.
func (l *Lane) Counted(name string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.counts[name] = append(l.counts[name], l.book.Now())
}

// Seen counts one more that was read back.
func (l *Lane) Seen() { l.note(&l.seen) }

// Retried counts an attempt at a write that was not acknowledged.
func (l *Lane) Retried(err error) {
	l.note(&l.retries)
	l.book.Log.Debug("not acknowledged", "by", l.what, "error", err)
}

// Failed counts any other request that failed.
func (l *Lane) Failed(err error) {
	l.note(&l.errors)
	l.book.Log.Debug("failed", "at", l.what, "error", err)
}

func (l *Lane) note(times *[]time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	*times = append(*times, l.book.Now())
}

// Abandon says that the lane's writer gave up, and why: the ledger cannot be content any more.
func (l *Lane) Abandon(why string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.abandoned = why
}

func (l *Lane) begun() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.acked) > 0 || len(l.counts) > 0
}

// measure adds what happened in a change, and returns the gaps and latencies.
func (l *Lane) measure(c change, m *ledger.Change, counts map[string]uint64) (gaps, latencies []time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	m.Retries += within(l.retries, c)
	m.Errors += within(l.errors, c)
	for name, times := range l.counts {
		counts[name] += within(times, c)
	}
	if l.name == "" {
		return nil, nil
	}
	gaps = ledger.Gaps(l.acked, c.from, c.to)
	s := ledger.ChangeStream{Stream: l.name, Acknowledged: within(l.acked, c), Delivered: within(l.seen, c), Gaps: ledger.Summarise(slices.Clone(gaps))}
	m.Acknowledged += s.Acknowledged
	m.Streams = append(m.Streams, s)
	from, to := span(l.acked, c)
	return gaps, slices.Clone(l.took[from:to])
}

// within counts the times in a change, both ends included; times rise.
func within(times []time.Duration, c change) uint64 {
	from, to := span(times, c)
	return uint64(to - from)
}

func span(times []time.Duration, c change) (from, to int) {
	from = sort.Search(len(times), func(i int) bool { return times[i] >= c.from })
	to = sort.Search(len(times), func(i int) bool { return times[i] > c.to })
	return from, max(from, to)
}
