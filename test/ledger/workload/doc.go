// Package workload publishes, consumes and counts on a NATS cluster, writes down what was acknowledged, and
// compares at the end. What the words mean is said in package ledger.
//
// Everything is kept in memory: a ledger that was restarted has forgotten what it was promised and cannot vouch
// for anything. So it refuses to begin on streams or counters that already hold something, and a restarted pod
// stays failed, where it is seen, instead of reporting zero lost.
package workload
