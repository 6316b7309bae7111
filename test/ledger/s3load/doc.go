// Package s3load writes, overwrites, deletes and reads objects of an S3 service, such as Garage, writes down what
// was acknowledged, and compares at the end.
//
// # What is written down
//
// Every key belongs to one writer, which does one write at a time: a PUT, a multipart upload or a DELETE. The
// writes of a key are numbered. Size, way and content of a write follow from its key and number, and the content
// begins with both, so that any content that comes back says which write it is of, and is checked to the last
// byte, without anything being kept. Contents are of every sort that Garage stores differently: in the row (below
// 3072 bytes), in one block, in more than one block (of 1 MiB), and in parts.
//
// A write is acknowledged when the server answered that it was done. It is refused when every attempt at it was
// refused (a 4xx, or no connection): then it did not happen. Otherwise it is unanswered: it may happen, now or
// later, since S3 has nothing by which a server could be told to forget a request that still waits somewhere. So
// a key with an attempt that went unanswered is not written again; were it, that attempt could undo the later
// write, and the ledger would report its own doing. Of an unanswered write either state is right: the one before
// or the one after.
//
// For each key this leaves a range: the last acknowledged write when a request began, up to the last one that had
// been sent when it ended. What is read must lie in it.
//
// # The words
//
// Readers read acknowledged keys all the time, through one member after the other. At the end everything is read
// through every member, and every member lists all keys, page by page, each with a client of its own. A member is an
// address: a URL with the name of a headless Service stands for all Pods that it has at that moment, so that one that
// left is not asked any more.
//
//   - Lost: "no such key", and the range has no deletion; or, at the end, "no such bucket".
//   - Stale: whole content of a write before the range. Or it is listed with the size of none in the range.
//   - Corrupted: content that is of no write of this key, or not all of it.
//   - Returned: the range is a deletion, and the key has the content of an earlier write, or is listed.
//   - Unreadable: at the end a member answered other reads, and this one never, though asked again for a while.
//     An error during the run is only counted: that no answer was given is no loss.
//   - Unlisted: not in the list, and the range has no deletion.
//   - Doubled: in one list twice.
//   - Foreign: a key, or a write, that this ledger never sent.
//
// What a member was wrong about when it was read is not looked at in its list once more: one loss is one finding.
//
// A finding has the time when the answer began, and the member's URL. One of the same kind on the same write is one
// finding, whoever sees it, also when it was seen during the run and not at the end: what is right later was wrong.
package s3load
