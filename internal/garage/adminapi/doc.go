// Package adminapi asks one member of a Garage cluster over its Admin API, version 2, as Garage 2.0 to 2.4 speak it.
//
// A Client speaks to one address, so that what it reads is that member's own view: what one member says of another
// proves nothing about it (Garage drain, own view). The calls about a node always ask the node that answers, and
// their Answer names it.
//
// One call is one request. Nothing is tried twice, nothing is cached, no redirect is followed and no proxy is used.
// There are only the calls that Holdfast needs; those that throw away data or work (PurgeBlocks, clearResyncQueue) have
// no place here.
//
// What may surprise in the API is dealt with here once (Garage server facts, 6 Traps for an operator):
//
//   - Every error is an *Error. Its Class says what is known, and MayHaveHappened whether the cluster may have changed.
//   - A field that a version does not have, or that a node does not know, is an unknown fact and never zero. A reply
//     that lacks what every version sends is NotUnderstood as a whole.
//   - What Garage refuses reads the same, whether it says so with status 400, with 500, or with 200 and a list of errors.
//   - A role is sent with all of its fields, and a gateway only when one was asked for.
package adminapi
