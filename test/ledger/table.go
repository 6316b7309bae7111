package ledger

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"text/tabwriter"
)

// WriteTable writes the report for people: the verdict's numbers first, then one line per change.
func WriteTable(w io.Writer, r Report) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "messages acknowledged\t%d\n", r.Acknowledged)
	fmt.Fprintf(t, "counter increments\t%d\n", r.Increments)
	known := func(count uint64) string {
		if !r.Finished {
			return "known after the finish"
		}
		return strconv.FormatUint(count, 10)
	}
	for _, kind := range []Kind{Lost, Doubled, OutOfOrder, Unseen, Foreign} {
		fmt.Fprintf(t, "%s\t%s\n", kind, known(r.Faults[kind]))
	}
	fmt.Fprintf(t, "redelivered (no fault)\t%s\n\n", known(r.Redelivered))

	fmt.Fprint(t, "CHANGE\tSECONDS\tACKNOWLEDGED\tLONGEST GAP\tP99 GAP\tRETRIES\tERRORS\n")
	for _, c := range append(slices.Clip(r.Changes), r.Whole) {
		name := c.Name
		if c.Open {
			name += " (open)"
		}
		fmt.Fprintf(t, "%s\t%.1f\t%d\t%d ms\t%d ms\t%d\t%d\n", name, c.Seconds, c.Acknowledged, c.Gaps.LongestMillis, c.Gaps.P99Millis, c.Retries, c.Errors)
	}
	if err := t.Flush(); err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	for _, f := range r.Findings {
		if _, err := fmt.Fprintf(w, "%s: %s, sequence %d, id %s: %s\n", f.Kind, f.Stream, f.Sequence, f.ID, f.Detail); err != nil {
			return fmt.Errorf("write the report: %w", err)
		}
	}
	for _, reason := range r.Reasons {
		if _, err := fmt.Fprintf(w, "not ok: %s\n", reason); err != nil {
			return fmt.Errorf("write the report: %w", err)
		}
	}
	return nil
}
