// Package natsload publishes, consumes and counts on a NATS cluster, writes down what was acknowledged, and
// compares at the end.
//
// It publishes numbered messages into streams, reads them back through one durable pull consumer per stream, and
// raises counters in a key-value bucket by compare-and-set. At the end it re-reads every stream from the first
// sequence to the last. [Compare] and [CompareTally], which judge, are pure functions.
//
// # What is written down
//
// Per stream, one publisher sends message n+1 only after message n was acknowledged. The body of a message is its
// id, and the same id is its Nats-Msg-Id, so a retry of an unanswered message is dropped by the server when the
// first attempt had arrived. An acknowledgement is the pair (id, stream sequence). A message that was sent and
// never acknowledged is unresolved: it may be there once, or not at all.
//
// The consumer has one message outstanding at a time (max_ack_pending 1) and acknowledges with a reply
// (AckSync), so that it knows of each acknowledgement whether the server had it.
//
// # The words
//
//   - Lost: acknowledged, and at the end no message of the stream has this id.
//   - Doubled: a message of the stream whose id the stream also holds at another sequence. The copy at the
//     acknowledged sequence is the original (or the first copy, if none is there); each further copy counts one,
//     under its own sequence. The consumer seeing one id at two sequences is the same finding.
//     Doubled is also a delivery that comes again after its own acknowledgement was confirmed by the server AND a
//     higher sequence was delivered: the consumer went back behind a confirmed position.
//   - Redelivered (counted, no fault): the same id at the same sequence delivered again otherwise. That is what
//     "at least once" promises after an acknowledgement was lost on the way. Before a higher sequence was
//     delivered it may also cross a confirmed acknowledgement on the wire, so it is no fault then either.
//   - Out of order: a message found at another sequence than the acknowledged one; an acknowledgement whose
//     sequence is not above all earlier ones; a first delivery whose sequence is not above all earlier ones.
//   - Unseen: in the stream, acknowledged, and not delivered by the time the bound for draining had passed.
//   - Foreign: a message that this ledger never sent.
//
// What two views (stream and consumer) show of one message is one finding: findings are keyed by kind, stream,
// sequence and id.
//
// # Counters
//
// The value of a counter holds, per writer, how often that writer raised it; only the writer itself raises its
// number. A write is a compare-and-set on the revision that was read. When its reply is lost the writer reads
// back: its number has risen (the write counts), or the revision moved on without it (the write can never
// apply any more), or nothing moved (the same write is sent again: both expect the same revision, so at most
// one applies). At the end each writer's number must equal its successes: below is lost, above is doubled.
package natsload
