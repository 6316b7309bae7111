package run

import (
	"errors"
	"fmt"
	"slices"
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
func (b *Book) Mark(name string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch last := len(b.changes) - 1; {
	case name == "":
		return errors.New("a change needs a name: POST /mark?name=…")
	case b.running == nil:
		return errNotBegun
	case b.stopped != 0:
		return errors.New("the ledger has finished")
	case last >= 0 && b.changes[last].open:
		return fmt.Errorf("change %s is still open: POST /mark/end first", b.changes[last].name)
	}
	b.changes = append(b.changes, change{name: name, from: b.Now(), open: true})
	return nil
}

// EndMark ends the open change.
func (b *Book) EndMark() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	last := len(b.changes) - 1
	if last < 0 || !b.changes[last].open {
		return errors.New("no change is open: POST /mark?name=… begins one")
	}
	b.changes[last].open, b.changes[last].to = false, b.Now()
	return nil
}

// Ready returns what is waited for before the first success of every lane; empty when all had it.
func (b *Book) Ready() string {
	b.mu.Lock()
	waiting := b.waiting
	b.mu.Unlock()
	if waiting != "" {
		return waiting
	}
	for _, lane := range b.lanes {
		if !lane.begun() {
			return "the first success of " + lane.what
		}
	}
	return ""
}

// Report returns the last report when there is one, else what is known now.
func (b *Book) Report() ledger.Report {
	b.mu.Lock()
	final := b.final
	b.mu.Unlock()
	if final != nil {
		return *final
	}
	report := b.counts()
	report.Reasons = ledger.Judge(report)
	return report
}

// counts is the part of the report that needs no comparison.
func (b *Book) counts() ledger.Report {
	b.mu.Lock()
	changes, stopped := slices.Clone(b.changes), b.stopped
	b.mu.Unlock()
	now := b.Now()
	if stopped != 0 {
		now = stopped
	}
	report := ledger.Report{Name: b.config.Name, Started: b.start, Unit: b.terms.Unit, Minimum: b.config.Minimum, Faults: map[ledger.Kind]uint64{}}
	for _, kind := range b.terms.Kinds {
		report.Faults[kind] = 0
	}
	for _, name := range b.terms.Harmless {
		report.Harmless = append(report.Harmless, ledger.Count{Name: name})
	}
	whole := change{name: "(whole run)", from: now, to: now, open: stopped == 0}
	for _, lane := range b.lanes {
		lane.mu.Lock()
		if len(lane.acked) > 0 {
			whole.from = min(whole.from, lane.acked[0])
		}
		if lane.abandoned != "" {
			report.Problems = append(report.Problems, lane.what+": "+lane.abandoned)
		}
		lane.mu.Unlock()
	}
	if err := b.journal.err(); err != nil {
		report.Problems = append(report.Problems, fmt.Sprintf("the journal is incomplete: %v", err))
	}
	report.Whole = b.measure(whole, now)
	report.Acknowledged = report.Whole.Acknowledged
	for _, c := range changes {
		report.Changes = append(report.Changes, b.measure(c, now))
	}
	b.Found.fill(&report)
	return report
}

// measure says what happened in a change.
func (b *Book) measure(c change, now time.Duration) ledger.Change {
	if c.open {
		c.to = now
	}
	m := ledger.Change{Name: c.name, Begin: b.start.Add(c.from), Open: c.open, Seconds: (c.to - c.from).Seconds()}
	var gaps, latencies []time.Duration
	counts := map[string]uint64{}
	for _, lane := range b.lanes {
		g, l := lane.measure(c, &m, counts)
		gaps, latencies = append(gaps, g...), append(latencies, l...)
	}
	m.Gaps, m.Latency = ledger.Summarise(gaps), ledger.SummariseLatencies(latencies)
	for _, name := range b.terms.Counts {
		m.Counts = append(m.Counts, ledger.Count{Name: name, Number: counts[name]})
	}
	return m
}
