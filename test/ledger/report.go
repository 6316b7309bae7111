package ledger

import (
	"fmt"
	"time"
)

// Report is what the ledger knows. What was lost is known at the end; before the finish it has counts only.
type Report struct {
	Name    string    `json:"name"`
	Started time.Time `json:"started"`
	// Finished says that everything was re-read and compared.
	Finished bool `json:"finished"`
	// OK is the verdict of Judge; Reasons say why it is not.
	OK      bool     `json:"ok"`
	Reasons []string `json:"reasons,omitempty"`
	// Unit is what is acknowledged: "messages", or "writes".
	Unit string `json:"unit"`
	// Minimum is the number of them that each change must have had acknowledged.
	Minimum int `json:"minimum"`

	Acknowledged uint64 `json:"acknowledged"`
	// Faults counts by kind; it has every kind that is looked for.
	Faults map[Kind]uint64 `json:"faults"`
	// Findings are the faults one by one, at most MaxFindings.
	Findings []Finding `json:"findings,omitempty"`
	// Harmless counts what was found and is no fault.
	Harmless []Count `json:"harmless,omitempty"`
	// Problems are what kept the ledger from knowing something, such as a stream that could not be re-read.
	Problems []string `json:"problems,omitempty"`

	// Whole is the time from the first acknowledgement to the last write; Changes are in the order of their begin.
	Whole   Change   `json:"whole"`
	Changes []Change `json:"changes,omitempty"`
}

// MaxFindings bounds Report.Findings; Report.Faults counts all.
const MaxFindings = 100

// Count is a number and what it is the number of.
type Count struct {
	Name   string `json:"name"`
	Number uint64 `json:"number"`
}

// Change is the time between a mark and its end.
type Change struct {
	Name  string    `json:"name"`
	Begin time.Time `json:"begin"`
	// Open says that the change has not ended; its numbers count up to now.
	Open         bool    `json:"open,omitempty"`
	Seconds      float64 `json:"seconds"`
	Acknowledged uint64  `json:"acknowledged"`
	// Counts are what else the workload counts, such as increments of counters, or deletions among the writes.
	Counts []Count `json:"counts,omitempty"`
	// Retries counts attempts at a write that were not acknowledged; Errors counts every other request that failed,
	// and every write that was given up.
	Retries uint64 `json:"retries"`
	Errors  uint64 `json:"errors"`
	// Latency is the time from the first attempt at a write to its acknowledgement.
	Latency LatencySummary `json:"latency"`
	// Gaps is over all streams, Streams has each alone.
	Gaps    GapSummary     `json:"gaps"`
	Streams []ChangeStream `json:"streams"`
}

// Count is the number of that name, zero when there is none.
func (c Change) Count(name string) uint64 {
	for _, count := range c.Counts {
		if count.Name == name {
			return count.Number
		}
	}
	return 0
}

// ChangeStream is one line of writes that follow each other, during a change: a stream, or the keys of one writer.
type ChangeStream struct {
	Stream       string `json:"stream"`
	Acknowledged uint64 `json:"acknowledged"`
	// Delivered counts what was read back meanwhile.
	Delivered uint64     `json:"delivered"`
	Gaps      GapSummary `json:"gaps"`
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
	for _, kind := range byWeight {
		if n := r.Faults[kind]; n > 0 {
			reasons = append(reasons, fmt.Sprintf("%d %s", n, kind))
		}
	}
	for _, change := range r.Changes {
		if change.Acknowledged < uint64(max(r.Minimum, 0)) {
			reasons = append(reasons, fmt.Sprintf("change %s: %d %s acknowledged, at least %d are needed to say anything", change.Name, change.Acknowledged, r.Unit, r.Minimum))
		}
	}
	return append(reasons, r.Problems...)
}
