// Package layout is the one writer of a Garage layout: it gives the nodes of a GarageCluster their roles
// ("Additive node-local pools", Reversible live-node drain transaction; Garage server facts, 3.3 Staging and its races). It
// takes no role away: that is the drain's.
//
// # What it promises
//
// A version of the layout is made only from a change that this package has staged itself and read back whole, on one
// node, while every member says of itself that it has the version before, that nothing moves any more, and that it is
// connected to every other. What somebody else has staged is neither applied nor dropped: it is named, and everything
// waits. The first version has all roles at once, since Garage wants as many as the replication factor; after that the
// roles that exist are changed together, and new ones come one at a time, each in a version that settles before the next.
//
// A person may order three things: that all that is staged is dropped, that the first layout is made without the nodes that are
// still to come, and that a version goes on without the word of nodes that are down. An order is judged once, and carried out on
// what it was judged on: its hash is in the status before the first call, and as soon as that is not what is there any more, the
// order is given up. A node that could come back is skipped only where the order names the version for which data may be missing.
//
// # Why that holds
//
// A sequence is Update, read back, Preview, Apply, all on one node, with the number of the version that the members were
// found at, plus one. Garage keeps that number: an Apply that was sent twice, or by two leaders, makes the version once.
// Before the first call the hash of the change is written to the GarageCluster's status with the resourceVersion that was
// decided on; of two leaders one fails there.
//
// After a crash the layout itself says where it stopped. Nothing is staged: the change is made again. The change is staged:
// it is applied. The version is there: it is waited for. If the spec has changed in between, what is staged
// has the hash in the status, so it is our own, and is withdrawn; only staging of that very hash ever is.
//
// A stale cache can at worst make a plan that Act drops: it decides again on objects from the API server and on fresh
// answers. A lost reply is an error that may have happened, after which nothing is done but look again. A reply that was
// not understood is no fact, and no fact lets nothing pass.
//
// Garage has no way to say "apply if only this is staged": somebody who stages within the milliseconds between the last
// read and Apply has it applied along. Whoever shares a layout with another writer is told so by the next pass, since the
// roles are then not those that were meant.
package layout
