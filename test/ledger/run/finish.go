package run

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/holdfast-dev/holdfast/test/ledger"
)

var errNotBegun = errors.New("the ledger has not begun yet: wait for GET /ready")

// Finish ends the run and returns the last report. It takes up to three times the configured bound: for the
// writers, and for what the workload does in two steps at most. It goes on when the caller goes away; asked
// again, it waits for the same report.
func (b *Book) Finish(ctx context.Context) (ledger.Report, error) {
	b.mu.Lock()
	running := b.running
	b.mu.Unlock()
	if running == nil {
		return ledger.Report{}, errNotBegun
	}
	b.ending.Do(func() { go b.end(running) })
	select {
	case <-b.ended:
	case <-ctx.Done():
		return ledger.Report{}, ctx.Err()
	case <-running.Done():
		return ledger.Report{}, errors.New("the ledger is shutting down")
	}
	return b.Report(), nil
}

func (b *Book) end(running context.Context) {
	b.stopWriting()
	b.work.Compare(running)
	report := b.counts()
	report.Finished = true
	report.Reasons = ledger.Judge(report)
	report.OK = len(report.Reasons) == 0
	b.mu.Lock()
	b.final = &report
	b.mu.Unlock()
	close(b.ended)
}

// stopWriting lets each writer finish what it is at, for as long as the bound.
func (b *Book) stopWriting() {
	close(b.stop)
	hurry := time.AfterFunc(b.config.Bound, b.hurry)
	b.writers.Wait()
	hurry.Stop()
	b.mu.Lock()
	defer b.mu.Unlock()
	b.stopped = b.Now()
	if last := len(b.changes) - 1; last >= 0 && b.changes[last].open {
		b.changes[last].open, b.changes[last].to = false, b.stopped
	}
}

// Found collects what is found, be it on the way or at the end. Its methods may be called at any time.
type Found struct {
	mu       sync.Mutex
	findings ledger.Findings
	harmless map[string]uint64
	problems []string
}

// Add takes faults in.
func (f *Found) Add(findings ...ledger.Finding) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, finding := range findings {
		f.findings.Add(finding)
	}
}

// Harmless counts n more of what is no fault; the name is one of Terms.Harmless.
func (f *Found) Harmless(name string, n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.harmless[name] += uint64(max(n, 0))
}

// Problem says that something could not be known. Not knowing is not the same as losing.
func (f *Found) Problem(format string, args ...any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.problems = append(f.problems, fmt.Sprintf(format, args...))
}

func (f *Found) fill(report *ledger.Report) {
	f.mu.Lock()
	defer f.mu.Unlock()
	all := f.findings.Sorted()
	for _, finding := range all {
		report.Faults[finding.Kind] += finding.Count
	}
	report.Findings = all[:min(len(all), ledger.MaxFindings)]
	for i, count := range report.Harmless {
		report.Harmless[i].Number = f.harmless[count.Name]
	}
	report.Problems = append(report.Problems, f.problems...)
}
