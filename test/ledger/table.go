package ledger

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"text/tabwriter"
	"time"
)

// WriteTable writes the report for people: the verdict's numbers first, then one line per change.
func WriteTable(w io.Writer, r Report) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "%s acknowledged\t%d\n", r.Unit, r.Acknowledged)
	for _, count := range r.Whole.Counts {
		fmt.Fprintf(t, "%s\t%d\n", count.Name, count.Number)
	}
	known := func(count uint64) string {
		switch so := strconv.FormatUint(count, 10); {
		case r.Finished:
			return so
		case count > 0:
			return so + " so far"
		default:
			return "known after the finish"
		}
	}
	for _, kind := range byWeight {
		if count, looked := r.Faults[kind]; looked {
			fmt.Fprintf(t, "%s\t%s\n", kind, known(count))
		}
	}
	for _, count := range r.Harmless {
		fmt.Fprintf(t, "%s (no fault)\t%s\n", count.Name, known(count.Number))
	}

	fmt.Fprint(t, "\nCHANGE\tSECONDS\tACKNOWLEDGED\tLONGEST GAP\tP99 GAP\tP50 LATENCY\tP99 LATENCY\tRETRIES\tERRORS\n")
	for _, c := range append(slices.Clip(r.Changes), r.Whole) {
		name := c.Name
		if c.Open {
			name += " (open)"
		}
		fmt.Fprintf(t, "%s\t%.1f\t%d\t%d ms\t%d ms\t%.1f ms\t%.1f ms\t%d\t%d\n", name, c.Seconds, c.Acknowledged,
			c.Gaps.LongestMillis, c.Gaps.P99Millis, c.Latency.P50Millis, c.Latency.P99Millis, c.Retries, c.Errors)
	}
	if err := t.Flush(); err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	return writeLines(w, r)
}

// writeLines writes what is wrong, one line each.
func writeLines(w io.Writer, r Report) error {
	var lines []string
	for _, f := range r.Findings {
		lines = append(lines, f.String())
	}
	for _, reason := range r.Reasons {
		lines = append(lines, "not ok: "+reason)
	}
	for _, line := range lines {
		if _, err := fmt.Fprintln(w, line); err != nil {
			return fmt.Errorf("write the report: %w", err)
		}
	}
	return nil
}

// String is the finding as one line.
func (f Finding) String() string {
	line := fmt.Sprintf("%s: %s, sequence %d, id %s: %s", f.Kind, f.Stream, f.Sequence, f.ID, f.Detail)
	if !f.At.IsZero() {
		line += ", at " + f.At.UTC().Format(time.RFC3339Nano)
	}
	return line
}
