package run

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/holdfast-dev/holdfast/test/ledger"
)

// work is a workload whose writes the test does.
type work struct {
	book       *Book
	lane       *Lane
	side       *Lane
	setUp      chan error
	compare    func(*Found)
	ended      chan struct{}
	wasStopped bool
}

func (w *work) SetUp(ctx context.Context) error {
	return w.book.Until(ctx, "the service", func(context.Context) error { return <-w.setUp })
}

func (w *work) Writers() []func(context.Context, <-chan struct{}) {
	return []func(context.Context, <-chan struct{}){func(ctx context.Context, stop <-chan struct{}) {
		select {
		case <-stop:
			w.wasStopped = true
		case <-ctx.Done():
		}
	}}
}

func (w *work) Watchers() []func(context.Context) { return nil }
func (w *work) Compare(context.Context)           { w.compare(w.book.Found) }
func (w *work) Close()                            { close(w.ended) }

func newWork(t *testing.T, journal io.Writer) (*work, ledger.Client) {
	t.Helper()
	terms := Terms{Unit: "writes", Kinds: []ledger.Kind{ledger.Lost, ledger.Stale}, Counts: []string{"big", "small"}, Harmless: []string{"late"}}
	book := New(Config{Name: "n", Interval: time.Millisecond, Minimum: 2, Bound: time.Minute, Journal: journal}, terms, slog.New(slog.DiscardHandler))
	w := &work{
		book: book, lane: book.Lane("n-0", "lane n-0"), side: book.Aside("a side"),
		setUp: make(chan error), ended: make(chan struct{}), compare: func(*Found) {},
	}
	book.Carry(w)
	server := httptest.NewServer(book.Handler())
	ctx, cancel := context.WithCancel(t.Context())
	result := make(chan error, 1)
	go func() { result <- book.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-result; err != nil {
			t.Errorf("the run: %v", err)
		}
		<-w.ended
		server.Close()
	})
	return w, ledger.Client{BaseURL: server.URL}
}

// refused wants an error that says that.
func refused(t *testing.T, err error, because string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), because) {
		t.Errorf("want it refused because %q, got %v", because, err)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// begin lets the set-up succeed and waits until the run has begun.
func (w *work) begin(t *testing.T, client ledger.Client) {
	t.Helper()
	w.setUp <- nil
	for {
		err := client.Ready(t.Context())
		if err != nil && strings.Contains(err.Error(), "the first success of lane n-0") {
			return
		}
		if t.Context().Err() != nil {
			t.Fatal(err)
		}
	}
}

func TestARunFromSetUpToFinish(t *testing.T) {
	var journal bytes.Buffer
	w, client := newWork(t, &journal)
	refused(t, client.Mark(t.Context(), "early"), "has not begun")
	_, err := client.Finish(t.Context())
	refused(t, err, "has not begun")
	w.begin(t, client)
	w.lane.Acknowledged(1, "a", 3*time.Millisecond, "big")
	refused(t, client.Ready(t.Context()), "the first success of a side")
	w.side.Counted("small")
	must(t, client.Ready(t.Context()))

	must(t, client.Mark(t.Context(), "change"))
	refused(t, client.Mark(t.Context(), "another"), "is still open")
	w.lane.Acknowledged(2, "b", 5*time.Millisecond)
	w.lane.Acknowledged(3, "c", 7*time.Millisecond, "big")
	w.lane.Retried(errors.New("lost"))
	w.lane.Seen()
	w.side.Failed(errors.New("lost"))
	must(t, client.End(t.Context()))
	refused(t, client.End(t.Context()), "no change is open")
	w.book.Found.Add(ledger.Finding{Kind: ledger.Stale, Stream: "s", ID: "b", Count: 1})
	running, err := client.Report(t.Context())
	must(t, err)
	if running.Finished || running.OK || running.Faults[ledger.Stale] != 1 {
		t.Errorf("running: %+v", running)
	}

	w.compare = func(f *Found) {
		f.Add(ledger.Finding{Kind: ledger.Lost, Stream: "s", ID: "a", Count: 1}, ledger.Finding{Kind: ledger.Stale, Stream: "s", ID: "b", Count: 1})
		f.Harmless("late", 2)
		f.Problem("%s was not read", "c")
	}
	report, err := client.Finish(t.Context())
	must(t, err)
	want := ledger.Report{
		Name: "n", Finished: true, Unit: "writes", Minimum: 2, Acknowledged: 3, Reasons: []string{"1 lost", "1 stale", "c was not read"},
		Faults:   map[ledger.Kind]uint64{ledger.Lost: 1, ledger.Stale: 1},
		Findings: []ledger.Finding{{Kind: ledger.Lost, Stream: "s", ID: "a", Count: 1}, {Kind: ledger.Stale, Stream: "s", ID: "b", Count: 1}},
		Harmless: []ledger.Count{{Name: "late", Number: 2}}, Problems: []string{"c was not read"},
		Whole: ledger.Change{
			Name: "(whole run)", Acknowledged: 3, Counts: []ledger.Count{{Name: "big", Number: 2}, {Name: "small", Number: 1}}, Retries: 1, Errors: 1,
			Latency: ledger.LatencySummary{P50Millis: 5, P99Millis: 7}, Streams: []ledger.ChangeStream{{Stream: "n-0", Acknowledged: 3, Delivered: 1}},
		},
		Changes: []ledger.Change{{
			Name: "change", Acknowledged: 2, Counts: []ledger.Count{{Name: "big", Number: 1}, {Name: "small"}}, Retries: 1, Errors: 1,
			Latency: ledger.LatencySummary{P50Millis: 5, P99Millis: 7}, Streams: []ledger.ChangeStream{{Stream: "n-0", Acknowledged: 2, Delivered: 1}},
		}},
	}
	times := cmp.Options{
		cmpopts.IgnoreFields(ledger.Report{}, "Started"), cmpopts.IgnoreFields(ledger.Change{}, "Begin", "Seconds", "Gaps"),
		cmpopts.IgnoreFields(ledger.ChangeStream{}, "Gaps"),
	}
	if diff := cmp.Diff(want, report, times); diff != "" {
		t.Errorf("report (-want +got):\n%s", diff)
	}
	refused(t, client.Mark(t.Context(), "late"), "has finished")
	again, err := client.Finish(t.Context())
	must(t, err)
	if diff := cmp.Diff(report, again); diff != "" || !w.wasStopped {
		t.Errorf("asked again (-first +second):\n%s", diff)
	}
	if lines := strings.Split(journal.String(), "\n"); len(lines) != 4 || !strings.HasPrefix(lines[1], "n-0\t2\tb\t") {
		t.Errorf("journal:\n%s", journal.String())
	}
}

func TestWhatKeepsALedgerFromBeingContent(t *testing.T) {
	w, client := newWork(t, nil)
	w.begin(t, client)
	for range 3 {
		w.lane.Acknowledged(1, "a", 1)
	}
	must(t, client.Mark(t.Context(), "short"))
	w.lane.Abandon("gave up")
	report, err := client.Finish(t.Context())
	must(t, err)
	want := []string{"change short: 0 writes acknowledged, at least 2 are needed to say anything", "lane n-0: gave up"}
	if diff := cmp.Diff(want, report.Reasons); diff != "" || report.OK || report.Changes[0].Open {
		t.Errorf("ok %t, %+v, reasons (-want +got):\n%s", report.OK, report.Changes, diff)
	}
}

// What is in use is refused at once; what is not there is waited for.
func TestSetUpWaitsButNotForWhatIsTaken(t *testing.T) {
	book := New(Config{Name: "n", Interval: 1, Bound: 1}, Terms{}, slog.New(slog.DiscardHandler))
	answers := []error{errors.New("not there"), &TakenError{What: "stream n", Holds: "messages"}}
	err := book.Until(t.Context(), "the service", func(context.Context) error {
		next := answers[0]
		answers = answers[1:]
		return next
	})
	refused(t, err, "stream n already holds messages that this ledger did not see acknowledged")
	if waits := book.Ready(); waits != "the service: not there" {
		t.Errorf("it waited for %q", waits)
	}
}
