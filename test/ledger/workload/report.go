package workload

import (
	"errors"
	"fmt"
	"slices"
	"sort"
	"time"

	"github.com/holdfast-dev/holdfast/test/ledger"
)

// change is the time between a mark and its end, as offsets from the start of the run.
type change struct {
	name     string
	from, to time.Duration
	open     bool
}

// Mark begins a change.
func (l *Ledger) Mark(name string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch last := len(l.changes) - 1; {
	case name == "":
		return errors.New("a change needs a name: POST /mark?name=…")
	case l.running == nil:
		return errNotBegun
	case l.stopped != 0:
		return errors.New("the ledger has finished")
	case last >= 0 && l.changes[last].open:
		return fmt.Errorf("change %s is still open: POST /mark/end first", l.changes[last].name)
	}
	l.changes = append(l.changes, change{name: name, from: l.now(), open: true})
	return nil
}

// EndMark ends the open change.
func (l *Ledger) EndMark() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	last := len(l.changes) - 1
	if last < 0 || !l.changes[last].open {
		return errors.New("no change is open: POST /mark?name=… begins one")
	}
	l.changes[last].open, l.changes[last].to = false, l.now()
	return nil
}

// Ready returns what is waited for before the first acknowledgement of every stream and writer; empty when all had it.
func (l *Ledger) Ready() string {
	l.mu.Lock()
	waiting := l.waiting
	l.mu.Unlock()
	if waiting != "" {
		return waiting
	}
	for _, lane := range l.lanes {
		lane.mu.Lock()
		none := len(lane.acked) == 0
		lane.mu.Unlock()
		if none {
			return "the first acknowledgement of stream " + lane.name
		}
	}
	for _, w := range l.writers {
		w.mu.Lock()
		none := len(w.raisedAt) == 0
		w.mu.Unlock()
		if none {
			return "the first increment of " + w.counter + " by writer " + w.name
		}
	}
	return ""
}

// Report returns the last report when there is one, else what is known now.
func (l *Ledger) Report() ledger.Report {
	l.mu.Lock()
	final := l.final
	l.mu.Unlock()
	if final != nil {
		return *final
	}
	report := l.counts()
	report.Reasons = ledger.Judge(report)
	return report
}

// counts is the part of the report that needs no comparison.
func (l *Ledger) counts() ledger.Report {
	l.mu.Lock()
	changes, stopped := slices.Clone(l.changes), l.stopped
	l.mu.Unlock()
	now := l.now()
	if stopped != 0 {
		now = stopped
	}
	report := ledger.Report{Name: l.config.Name, Started: l.start, Minimum: l.config.Minimum}
	whole := change{name: "(whole run)", from: now, to: now, open: stopped == 0}
	for _, lane := range l.lanes {
		lane.mu.Lock()
		if len(lane.ackedAt) > 0 {
			whole.from = min(whole.from, lane.ackedAt[0])
		}
		if lane.abandoned {
			report.Problems = append(report.Problems, fmt.Sprintf("stream %s: message %s was not acknowledged for %s, the publisher gave up", lane.name, lane.sending, giveUp))
		}
		lane.mu.Unlock()
	}
	if err := l.journal.err(); err != nil {
		report.Problems = append(report.Problems, fmt.Sprintf("the journal is incomplete: %v", err))
	}
	report.Whole = l.measure(whole, now)
	report.Acknowledged, report.Increments = report.Whole.Acknowledged, report.Whole.Increments
	for _, c := range changes {
		report.Changes = append(report.Changes, l.measure(c, now))
	}
	return report
}

// measure says what happened in a change.
func (l *Ledger) measure(c change, now time.Duration) ledger.Change {
	if c.open {
		c.to = now
	}
	m := ledger.Change{Name: c.name, Begin: l.start.Add(c.from), Open: c.open, Seconds: (c.to - c.from).Seconds()}
	var pooled []time.Duration
	for _, lane := range l.lanes {
		lane.mu.Lock()
		gaps := ledger.Gaps(lane.ackedAt, c.from, c.to)
		s := ledger.ChangeStream{Stream: lane.name, Acknowledged: within(lane.ackedAt, c), Delivered: within(lane.seenAt, c)}
		m.Retries += within(lane.retries, c)
		m.Errors += within(lane.errors, c)
		lane.mu.Unlock()
		pooled = append(pooled, gaps...)
		s.Gaps = ledger.Summarise(gaps)
		m.Acknowledged += s.Acknowledged
		m.Streams = append(m.Streams, s)
	}
	m.Gaps = ledger.Summarise(pooled)
	for _, w := range l.writers {
		w.mu.Lock()
		m.Increments += within(w.raisedAt, c)
		m.Errors += within(w.errors, c)
		w.mu.Unlock()
	}
	return m
}

// within counts the times in a change, both ends included; times rise.
func within(times []time.Duration, c change) uint64 {
	from := sort.Search(len(times), func(i int) bool { return times[i] >= c.from })
	to := sort.Search(len(times), func(i int) bool { return times[i] > c.to })
	return uint64(max(to-from, 0))
}
