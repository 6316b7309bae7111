// Package run is what the runs of all workloads have in common: the clock, the changes that callers mark, the
// measures, the journal, the HTTP endpoint, and a finish that happens once. A workload is what is done to one
// service, such as package natsload.
//
// Everything is kept in memory: a ledger that was restarted has forgotten what it was promised and cannot vouch
// for anything. So a workload refuses to begin where something lies already ([TakenError]), and a restarted pod
// stays failed, where it is seen, instead of reporting zero lost. Each write costs some thirty bytes.
package run
