package ledger

import (
	"slices"
	"sort"
	"time"
)

// GapSummary is what counts of many gaps.
type GapSummary struct {
	LongestMillis int64 `json:"longestMillis"`
	P99Millis     int64 `json:"p99Millis"`
}

// LatencySummary is what counts of many latencies.
type LatencySummary struct {
	P50Millis float64 `json:"p50Millis"`
	P99Millis float64 `json:"p99Millis"`
}

// Gaps lists the gaps that overlap the time from..to; acks are the times of acknowledgement of one line of
// writes, rising. A gap that reaches out of from..to is listed whole; with no later acknowledgement the last
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

// Summarise returns the longest gap and the p99, zero when there is none. It sorts gaps.
func Summarise(gaps []time.Duration) GapSummary {
	slices.Sort(gaps)
	return GapSummary{LongestMillis: rank(gaps, 100).Milliseconds(), P99Millis: rank(gaps, 99).Milliseconds()}
}

// SummariseLatencies returns the median and the p99 to a hundredth of a millisecond, zero when there is none. It
// sorts latencies.
func SummariseLatencies(latencies []time.Duration) LatencySummary {
	slices.Sort(latencies)
	millis := func(d time.Duration) float64 { return float64(d.Round(10*time.Microsecond).Microseconds()) / 1000 }
	return LatencySummary{P50Millis: millis(rank(latencies, 50)), P99Millis: millis(rank(latencies, 99))}
}

// rank is the nearest-rank percentile of sorted values, zero when there is none.
func rank(sorted []time.Duration, percent int) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[(percent*len(sorted)+99)/100-1]
}
