// Package ledger says what a service did to what it had acknowledged.
//
// A workload writes, reads back, and writes down everything that was acknowledged; at the end it reads everything
// again and compares. There is one for NATS (package natsload) and one for S3 (package s3load), which say what
// their words mean; what they have in common while they run is in package run, and cmd/ledger is the program.
// This package holds what a finding and a report are ([Findings], [Gaps], [Judge], [WriteTable]: pure), and the
// client of the program's HTTP endpoint.
//
// # The gap
//
// The time between two acknowledgements that follow each other in one line of writes: one stream, or the keys of
// one writer. It cannot be shorter than the writer's interval. A gap belongs, whole, to every change that it
// overlaps; one that is still open counts up to now.
//
// # Percentiles
//
// Of gaps and latencies: the nearest rank over all of the change.
package ledger
