package ledger

import (
	"fmt"
	"time"
)

// Report is what the ledger knows. Before the finish it has counts only; what was lost is known at the end.
type Report struct {
	Name    string    `json:"name"`
	Started time.Time `json:"started"`
	// Finished says that the streams were re-read and compared.
	Finished bool `json:"finished"`
	// OK is the verdict of Judge; Reasons say why it is not.
	OK      bool     `json:"ok"`
	Reasons []string `json:"reasons,omitempty"`
	// Minimum is the number of messages that each change must have had acknowledged.
	Minimum int `json:"minimum"`

	Acknowledged uint64 `json:"acknowledged"`
	Increments   uint64 `json:"increments"`
	// Faults counts by kind, over streams and counters.
	Faults map[Kind]uint64 `json:"faults"`
	// Findings are the faults one by one, at most MaxFindings.
	Findings []Finding `json:"findings,omitempty"`
	// Redelivered counts faultless redeliveries.
	Redelivered uint64 `json:"redelivered"`
	// Problems are what kept the ledger from knowing something, such as a stream that could not be re-read.
	Problems []string `json:"problems,omitempty"`

	// Whole is the time from the first acknowledgement to the last publish; Changes are in the order of their begin.
	Whole   Change   `json:"whole"`
	Changes []Change `json:"changes,omitempty"`
}

// MaxFindings bounds Report.Findings; Report.Faults counts all.
const MaxFindings = 100

// Change is the time between a mark and its end.
type Change struct {
	Name  string    `json:"name"`
	Begin time.Time `json:"begin"`
	// Open says that the change has not ended; its numbers count up to now.
	Open    bool    `json:"open,omitempty"`
	Seconds float64 `json:"seconds"`
	// Acknowledged counts messages, Increments the counters' successful writes.
	Acknowledged uint64 `json:"acknowledged"`
	Increments   uint64 `json:"increments"`
	// Retries counts publish attempts that were not acknowledged and sent again; Errors counts every other
	// request that failed (consumers, counters).
	Retries uint64 `json:"retries"`
	Errors  uint64 `json:"errors"`
	// Gaps is over all streams, Streams has each alone.
	Gaps    GapSummary     `json:"gaps"`
	Streams []ChangeStream `json:"streams"`
}

// ChangeStream is one stream during a change.
type ChangeStream struct {
	Stream       string     `json:"stream"`
	Acknowledged uint64     `json:"acknowledged"`
	Delivered    uint64     `json:"delivered"`
	Gaps         GapSummary `json:"gaps"`
}

// Judge returns why a report is not good, nothing when it is. Every reason is listed, not only the first.
func Judge(r Report) []string {
	var reasons []string
	if !r.Finished {
		reasons = append(reasons, "the ledger is not finished: POST /finish re-reads and compares")
	}
	if r.Acknowledged == 0 {
		reasons = append(reasons, "nothing was acknowledged")
	}
	for _, kind := range []Kind{Lost, Doubled, OutOfOrder, Unseen, Foreign} {
		if n := r.Faults[kind]; n > 0 {
			reasons = append(reasons, fmt.Sprintf("%d %s", n, kind))
		}
	}
	for _, change := range r.Changes {
		if change.Acknowledged < uint64(max(r.Minimum, 0)) {
			reasons = append(reasons, fmt.Sprintf("change %s: %d messages acknowledged, at least %d are needed to say anything", change.Name, change.Acknowledged, r.Minimum))
		}
	}
	return append(reasons, r.Problems...)
}
