package s3load

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast/test/ledger"
)

// startRun runs a whole ledger with its endpoint, until the test ends, and waits until it is ready.
func (s *service) startRun(t *testing.T, journal io.Writer) ledger.Client {
	t.Helper()
	for _, m := range s.members {
		m.set(untouched)
	}
	s.loads++
	config := s.config()
	config.Name, config.Journal, config.Interval = fmt.Sprintf("ledger-%d", s.loads), journal, 5*time.Millisecond
	book, err := New(config, slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelDebug})))
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(book.Handler())
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- book.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("the run: %v", err)
		}
		server.Close()
	})
	client := ledger.Client{BaseURL: server.URL}
	eventually(t, time.Minute, "the ledger to be ready", client.Ready)
	return client
}

// awaitWrites waits until the open change, the last one, has at least n writes acknowledged by every writer.
func awaitWrites(t *testing.T, client ledger.Client, n uint64) ledger.Report {
	t.Helper()
	var report ledger.Report
	eventually(t, 2*time.Minute, "writes to be acknowledged", func(ctx context.Context) (err error) {
		if report, err = client.Report(ctx); err != nil {
			return err
		}
		span := report.Whole
		if len(report.Changes) > 0 {
			span = report.Changes[len(report.Changes)-1]
		}
		for _, s := range span.Streams {
			if s.Acknowledged < n {
				return fmt.Errorf("%s: %d of %d", s.Stream, s.Acknowledged, n)
			}
		}
		return nil
	})
	return report
}

func finish(t *testing.T, client ledger.Client) ledger.Report {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	report, err := client.Finish(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if !report.Finished {
		t.Fatal("the report after the finish says that it is not finished")
	}
	return report
}

func logTable(t *testing.T, report ledger.Report) {
	t.Helper()
	var table strings.Builder
	if err := ledger.WriteTable(&table, report); err != nil {
		t.Fatal(err)
	}
	t.Log("\n" + table.String())
}

// lines counts what is written.
type lines struct{ n atomic.Int64 }

func (l *lines) Write(p []byte) (int, error) {
	l.n.Add(int64(bytes.Count(p, []byte("\n"))))
	return len(p), nil
}

// cleanRun runs everything where nothing is wrong.
func cleanRun(t *testing.T, s *service) {
	t.Helper()
	journal := &lines{}
	client := s.startRun(t, journal)
	if err := client.Mark(t.Context(), "quiet"); err != nil {
		t.Fatal(err)
	}
	awaitEveryCount(t, client)
	awaitWrites(t, client, 100)
	if err := client.End(t.Context()); err != nil {
		t.Fatal(err)
	}
	report := finish(t, client)
	expect(t, report, nil)
	whole := report.Whole
	if !report.OK || report.Changes[0].Acknowledged < 200 || whole.Errors+whole.Retries > 0 {
		t.Errorf("ok %t, reasons %q, whole %+v", report.OK, report.Reasons, whole)
	}
	if writes := whole.Count(created) + whole.Count(overwritten) + whole.Count(deleted); writes != report.Acknowledged || journal.n.Load() != int64(writes) {
		t.Errorf("%d writes counted, %d acknowledged, %d in the journal", writes, report.Acknowledged, journal.n.Load())
	}
	checkMeasures(t, whole)
	if diff := cmp.Diff(report, finish(t, client)); diff != "" {
		t.Errorf("asked again, the finish says something else:\n%s", diff)
	}
	logTable(t, report)
	refusesToGoOn(t, s, report.Name)
}

func checkMeasures(t *testing.T, whole ledger.Change) {
	t.Helper()
	if latency := whole.Latency; latency.P50Millis <= 0 || latency.P99Millis < latency.P50Millis {
		t.Errorf("latency %+v cannot be", latency)
	}
	if gaps := whole.Gaps; gaps.LongestMillis < 5 || gaps.LongestMillis < gaps.P99Millis {
		t.Errorf("gaps %+v cannot be: writes of one writer are 5 ms apart", gaps)
	}
}

// awaitEveryCount waits until there were three of everything that is counted.
func awaitEveryCount(t *testing.T, client ledger.Client) {
	t.Helper()
	eventually(t, 2*time.Minute, "every kind of write", func(ctx context.Context) error {
		report, err := client.Report(ctx)
		if err != nil {
			return err
		}
		for _, count := range report.Whole.Counts {
			if count.Number < 3 {
				return fmt.Errorf("%d %s", count.Number, count.Name)
			}
		}
		return nil
	})
}

// A ledger that was restarted has forgotten what it was promised: it must not go on as if nothing had been.
func refusesToGoOn(t *testing.T, s *service, name string) {
	t.Helper()
	config := s.config()
	config.Name = name
	second, err := New(config, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	if err := second.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "already holds objects") {
		t.Errorf("a second ledger of the same name: %v", err)
	}
}

func TestCleanRun(t *testing.T) { cleanRun(t, inMemory(t)) }

// onceOld answers one read of an object with the content of two writes before.
func onceOld() func(http.ResponseWriter, *http.Request, http.Handler) bool {
	var once sync.Once
	return func(w http.ResponseWriter, r *http.Request, pass http.Handler) bool {
		key, isObject := strings.CutPrefix(r.URL.Path, "/"+bucket+"/")
		if r.Method != http.MethodGet || !isObject || key == "" {
			return false
		}
		said := httptest.NewRecorder()
		pass.ServeHTTP(said, r)
		body := said.Body.Bytes()
		if sequence, err := examine(bytes.NewReader(body), key); err == nil && sequence > 2 {
			once.Do(func() { body = content(key, sequence-2) })
		}
		w.WriteHeader(said.Code)
		_, _ = w.Write(body)
		return true
	}
}

// What is right at the end was wrong all the same: one old answer on the way is found, with its time and member.
func TestOneOldAnswerOnTheWay(t *testing.T) {
	s := inMemory(t)
	client := s.startRun(t, nil)
	awaitWrites(t, client, 20)
	begun := time.Now()
	s.members[1].set(onceOld())
	eventually(t, time.Minute, "the old answer to be found", func(ctx context.Context) error {
		report, err := client.Report(ctx)
		if err != nil {
			return err
		}
		if len(report.Findings) == 0 {
			return fmt.Errorf("faults: %v", report.Faults)
		}
		return nil
	})
	report := finish(t, client)
	// Where a deletion had been acknowledged, and the write after it not yet when the read began, it is one of that.
	if report.OK || len(report.Findings) != 1 || report.Faults[ledger.Stale]+report.Faults[ledger.Returned] != 1 {
		t.Fatalf("ok %t, findings %v", report.OK, report.Findings)
	}
	if f := report.Findings[0]; f.Endpoint != s.members[1].url || f.At.Before(begun) || f.At.After(time.Now()) || !strings.Contains(f.Detail, "has the content of write") {
		t.Errorf("%+v", f)
	}
}

// A member that does not answer while the ledger runs is no fault.
func TestErrorsOnTheWayAreNoLoss(t *testing.T) {
	s := inMemory(t)
	client := s.startRun(t, nil)
	awaitWrites(t, client, 10)
	for _, tamper := range []func(http.ResponseWriter, *http.Request, http.Handler) bool{loseRequest, fail, breakOff, loseReply} {
		s.members[1].set(tamper)
		before := awaitWrites(t, client, 0).Whole
		eventually(t, time.Minute, "failures", func(ctx context.Context) error {
			report, err := client.Report(ctx)
			if err == nil && (report.Whole.Errors < before.Errors+5 || report.Whole.Retries < before.Retries+5) {
				err = fmt.Errorf("errors %d, retries %d", report.Whole.Errors, report.Whole.Retries)
			}
			return err
		})
		s.members[1].set(untouched)
	}
	report := finish(t, client)
	expect(t, report, nil)
	if !report.OK {
		t.Errorf("reasons: %q", report.Reasons)
	}
}

func TestConfiguration(t *testing.T) {
	s := inMemory(t)
	cases := map[string]struct {
		spoil func(*Config)
		want  string
	}{
		"no URL":         {func(c *Config) { c.URL = "" }, "no S3 URL"},
		"no bucket":      {func(c *Config) { c.Bucket = "" }, "a bucket and a region"},
		"no writer":      {func(c *Config) { c.Writers = 0 }, "at least one writer"},
		"no key":         {func(c *Config) { c.Keys = 0 }, "one key"},
		"not a URL":      {func(c *Config) { c.Members = c.URL + ",demo:3900" }, `endpoint "demo:3900"`},
		"a path":         {func(c *Config) { c.URL += "/books" }, "must be like http://host:3900"},
		"a strange name": {func(c *Config) { c.Name = "a/b" }, `name "a/b"`},
		"no interval":    {func(c *Config) { c.Interval = 0 }, "longer than zero"},
		"no folder":      {func(c *Config) { c.Access = "/none" }, "read the folder with the credentials"},
		"no credentials": {func(*Config) { t.Setenv("AWS_SECRET_ACCESS_KEY", "") }, "no credentials"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Setenv("AWS_SECRET_ACCESS_KEY", "secret")
			config := s.config()
			c.spoil(&config)
			if _, err := New(config, slog.New(slog.DiscardHandler)); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}
