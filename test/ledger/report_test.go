package ledger

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestGaps(t *testing.T) {
	const s = time.Second
	acks := []time.Duration{1 * s, 2 * s, 5 * s, 6 * s}
	cases := map[string]struct {
		acks     []time.Duration
		from, to time.Duration
		want     []time.Duration
	}{
		"never acknowledged":               {from: 1 * s, to: 4 * s, want: []time.Duration{3 * s}},
		"a gap that reaches out both ways": {acks: acks, from: 3 * s, to: 4 * s, want: []time.Duration{3 * s}},
		"begins on an acknowledgement":     {acks: acks, from: 2 * s, to: 5 * s, want: []time.Duration{3 * s}},
		"ends between two":                 {acks: acks, from: 1500 * time.Millisecond, to: 3 * s, want: []time.Duration{1 * s, 3 * s}},
		"no earlier one":                   {acks: acks, from: 0, to: 2 * s, want: []time.Duration{1 * s, 1 * s}},
		"no later one, open to the end":    {acks: acks, from: 5 * s, to: 10 * s, want: []time.Duration{1 * s, 4 * s}},
		"all before":                       {acks: acks, from: 8 * s, to: 9 * s, want: []time.Duration{3 * s}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, Gaps(c.acks, c.from, c.to)); diff != "" {
				t.Errorf("gaps (-want +got):\n%s", diff)
			}
		})
	}
}

func TestSummarise(t *testing.T) {
	falling := func(n int) []time.Duration {
		var gaps []time.Duration
		for i := n; i > 0; i-- {
			gaps = append(gaps, time.Duration(i)*time.Millisecond)
		}
		return gaps
	}
	cases := map[string]struct {
		gaps []time.Duration
		want GapSummary
	}{
		"none":              {},
		"one":               {gaps: falling(1), want: GapSummary{LongestMillis: 1, P99Millis: 1}},
		"a hundred":         {gaps: falling(100), want: GapSummary{LongestMillis: 100, P99Millis: 99}},
		"a hundred and one": {gaps: falling(101), want: GapSummary{LongestMillis: 101, P99Millis: 100}},
		"two hundred":       {gaps: falling(200), want: GapSummary{LongestMillis: 200, P99Millis: 198}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, Summarise(c.gaps)); diff != "" {
				t.Errorf("summary (-want +got):\n%s", diff)
			}
		})
	}
}

func TestSummariseLatencies(t *testing.T) {
	var latencies []time.Duration
	for i := 200; i > 0; i-- {
		latencies = append(latencies, time.Duration(i)*10*time.Microsecond+3*time.Microsecond)
	}
	if diff := cmp.Diff(LatencySummary{P50Millis: 1, P99Millis: 1.98}, SummariseLatencies(latencies)); diff != "" {
		t.Errorf("summary (-want +got):\n%s", diff)
	}
	if got := SummariseLatencies(nil); got != (LatencySummary{}) {
		t.Errorf("of none: %v", got)
	}
}

func TestFindingsJoinWhatViewsSay(t *testing.T) {
	seen := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	var f Findings
	for _, add := range []Finding{
		{Kind: Stale, Stream: "b", Sequence: 2, ID: "k", Count: 1, Detail: "through a", At: seen, Endpoint: "a"},
		{Kind: Stale, Stream: "b", Sequence: 2, ID: "k", Count: 1, Detail: "through c", At: seen.Add(1), Endpoint: "c"},
		{Kind: Stale, Stream: "b", Sequence: 2, ID: "k", Count: 1, Detail: "through a"},
		{Kind: Stale, Stream: "b", Sequence: 2, ID: "k", Count: 1, Detail: strings.Repeat("long", 1000)},
		{Kind: Lost, Stream: "b", Sequence: 2, ID: "j", Count: 3, Detail: "gone"},
		{Kind: Stale, Stream: "b", Sequence: 1, ID: "k", Count: 1, Detail: "through a"},
		{Kind: Stale, Stream: "a", Sequence: 9, ID: "k", Count: 1, Detail: "through a"},
	} {
		f.Add(add)
	}
	want := []Finding{
		{Kind: Stale, Stream: "a", Sequence: 9, ID: "k", Count: 1, Detail: "through a"},
		{Kind: Stale, Stream: "b", Sequence: 1, ID: "k", Count: 1, Detail: "through a"},
		{Kind: Lost, Stream: "b", Sequence: 2, ID: "j", Count: 3, Detail: "gone"},
		{Kind: Stale, Stream: "b", Sequence: 2, ID: "k", Count: 1, Detail: "through a; through c", At: seen, Endpoint: "a"},
	}
	if diff := cmp.Diff(want, f.Sorted()); diff != "" {
		t.Errorf("findings (-want +got):\n%s", diff)
	}
	if want, got := "stale: b, sequence 2, id k: through a; through c, at 2026-03-01T12:00:00Z", f.Sorted()[3].String(); got != want {
		t.Errorf("as a line:\n%s\nwant\n%s", got, want)
	}
}

func TestJudge(t *testing.T) {
	cases := map[string]struct {
		spoil func(*Report)
		want  []string
	}{
		"good":                 {spoil: func(*Report) {}},
		"not finished":         {spoil: func(r *Report) { r.Finished = false }, want: []string{"the ledger is not finished: POST /finish re-reads and compares"}},
		"nothing acknowledged": {spoil: func(r *Report) { r.Acknowledged = 0 }, want: []string{"nothing was acknowledged"}},
		"every kind, all listed": {
			spoil: func(r *Report) {
				r.Faults = map[Kind]uint64{Lost: 1, Doubled: 2, OutOfOrder: 3, Unseen: 4, Foreign: 5, Stale: 6, Corrupted: 7, Returned: 8, Unreadable: 9, Unlisted: 10}
			},
			want: []string{
				"1 lost", "6 stale", "7 corrupted", "8 returned", "9 unreadable", "10 unlisted", "2 doubled", "3 out of order", "4 unseen", "5 foreign",
			},
		},
		"exactly the minimum": {spoil: func(r *Report) { r.Changes = []Change{{Name: "memory", Acknowledged: 10}} }},
		"one below the minimum": {
			spoil: func(r *Report) {
				r.Changes = []Change{{Name: "quick", Acknowledged: 9}, {Name: "long", Acknowledged: 11}}
			},
			want: []string{"change quick: 9 messages acknowledged, at least 10 are needed to say anything"},
		},
		"something is not known": {spoil: func(r *Report) { r.Problems = []string{"stream s: no answer"} }, want: []string{"stream s: no answer"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			report := Report{Finished: true, Unit: "messages", Acknowledged: 100, Minimum: 10}
			c.spoil(&report)
			if diff := cmp.Diff(c.want, Judge(report)); diff != "" {
				t.Errorf("reasons (-want +got):\n%s", diff)
			}
		})
	}
}

func TestWriteTable(t *testing.T) {
	report := Report{
		Finished: true, Unit: "messages", Acknowledged: 1200, Reasons: []string{"1 lost"},
		Faults:   map[Kind]uint64{Lost: 1, Doubled: 0, OutOfOrder: 0, Unseen: 0, Foreign: 0},
		Harmless: []Count{{Name: "redelivered", Number: 2}},
		Findings: []Finding{{Kind: Lost, Stream: "demo-0", Sequence: 7, ID: "demo-0/7", Count: 1, Detail: "acknowledged, not in the stream"}},
		Changes:  []Change{{Name: "memory-change", Seconds: 12.34, Acknowledged: 600, Gaps: GapSummary{LongestMillis: 280, P99Millis: 21}, Latency: LatencySummary{P50Millis: 1.25, P99Millis: 70}, Retries: 3, Errors: 1}},
		Whole:    Change{Name: "(whole run)", Seconds: 30, Acknowledged: 1200, Counts: []Count{{Name: "counter increments", Number: 80}}, Gaps: GapSummary{LongestMillis: 280, P99Millis: 20}},
	}
	const finished = `messages acknowledged   1200
counter increments      80
lost                    1
doubled                 0
out of order            0
unseen                  0
foreign                 0
redelivered (no fault)  2

CHANGE         SECONDS  ACKNOWLEDGED  LONGEST GAP  P99 GAP  P50 LATENCY  P99 LATENCY  RETRIES  ERRORS
memory-change  12.3     600           280 ms       21 ms    1.2 ms       70.0 ms      3        1
(whole run)    30.0     1200          280 ms       20 ms    0.0 ms       0.0 ms       0        0
lost: demo-0, sequence 7, id demo-0/7: acknowledged, not in the stream
not ok: 1 lost
`
	var table strings.Builder
	if err := WriteTable(&table, report); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(finished, table.String()); diff != "" {
		t.Errorf("finished (-want +got):\n%s", diff)
	}

	// A zero must not be read as "nothing lost" while nobody has looked.
	report.Finished, report.Changes[0].Open = false, true
	table.Reset()
	if err := WriteTable(&table, report); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"lost                    1 so far\n", "doubled                 known after the finish\n", "memory-change (open)  12.3"} {
		if !strings.Contains(table.String(), want) {
			t.Errorf("the table of a running ledger lacks %q:\n%s", want, table.String())
		}
	}
}
