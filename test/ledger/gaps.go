package ledger

import (
	"slices"
	"sort"
	"time"
)

// GapSummary is what counts of many publish gaps.
type GapSummary struct {
	LongestMillis int64 `json:"longestMillis"`
	P99Millis     int64 `json:"p99Millis"`
}

// Gaps lists the publish gaps that overlap the time from..to; acks are the times of acknowledgement of one
// stream, rising. A gap that reaches out of from..to is listed whole; with no later acknowledgement the last
// gap ends at to, with no earlier one the first gap begins at from.
func Gaps(acks []time.Duration, from, to time.Duration) []time.Duration {
	first := sort.Search(len(acks), func(i int) bool { return acks[i] > from })
	last := from
	if first > 0 {
		last = acks[first-1]
	}
	var gaps []time.Duration
	for _, at := range acks[first:] {
		gaps = append(gaps, at-last)
		if last = at; at >= to {
			return gaps
		}
	}
	return append(gaps, to-last)
}

// Summarise returns the longest gap and the nearest-rank p99, zero when there is none. It sorts gaps.
func Summarise(gaps []time.Duration) GapSummary {
	if len(gaps) == 0 {
		return GapSummary{}
	}
	slices.Sort(gaps)
	rank := (99*len(gaps) + 99) / 100
	return GapSummary{LongestMillis: gaps[len(gaps)-1].Milliseconds(), P99Millis: gaps[rank-1].Milliseconds()}
}
