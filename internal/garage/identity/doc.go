// Package identity finds out which Garage identity each GarageNode has, and keeps an identity that is not the recorded one
// away from the layout ("Additive node-local pools", Upstream Garage invariants; Node loss and identity replacement).
//
// # What it promises
//
// An identity is recorded once for each GarageNode, before its first role, from what the very Pod of that GarageNode said
// at its own address, and is never replaced by another: a node with an empty or another one's disk starts as
// somebody else without a complaint, and would get a role beside the one that its predecessor still has. Such a node is
// held, and so is one whose identity another GarageNode has: two processes with one key are one node to Garage.
//
// # Why that holds
//
// The record is the GarageNode's own status, written with the resourceVersion that was decided on, so that of two
// controllers one fails. Before it is written the Pod is read again from the API server, asked, and read once more: the
// answer counts if both times it is the same Pod with the same address and the same number of restarts. A Pod that came
// later than the cache knows, or an address that went to another Pod meanwhile, therefore records nothing.
//
// A crash before the write leaves nothing behind, and one after it finds the record. A recorded identity
// that does not answer stays recorded: whether it comes back is not for this package to say.
package identity
