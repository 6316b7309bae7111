// Package removal lets GarageClusters and GarageNodes go: it puts finalizers on them and on their claims, and takes each off when
// nothing is lost by it ("Additive node-local pools", Upgrade, deletion, and permissions; garage-operator behaviour, 13 Deletion
// policies; holdfast decisions, Garage: where a proof lives).
//
// # What it promises
//
// A GarageNode that is deleted goes on running, and stays, until one of these is seen: the proof of its drain, and no role
// of it in any member's layout; that it was never given a role; that its GarageCluster is being deleted, or is gone, which is also
// how the end of a namespace shows. What could not be read holds it. So no deletion of a GarageNode, with whatever options, takes
// a member away from a store that is to stay, and none leaves fewer nodes than copies.
//
// A GarageCluster that is deleted goes as a whole: every node is marked in its status, so that the policy on DELETE lets it go, its
// process is stopped, its claims are kept or deleted as the spec says, and its GarageNode goes if the GarageCluster controls it. One of a
// user's stays, stopped, for the user to delete or for a GarageCluster of the same name to run again. Buckets are not looked at.
//
// A claim is deleted only by its name and UID as the node's status has them, once no Pod is left, and never where the node has no proof, has
// been given no role by us and may have come with what is on the disk. One of a node whose GarageCluster is no more is kept: what that one
// wanted is not known, and one of the same name has no say. The StatefulSet of a node deletes no claim at all: whoever
// deletes it by mistake loses a Pod. A claim that is kept says which GarageCluster gave its identity a role, so that one of the
// same name takes up exactly that. Claims of users, and whatever else is not controlled by UID, are never written.
//
// # Why that holds
//
// There is one irreversible action at a time: a StatefulSet or GarageNode deleted, a claim deleted, a finalizer taken off. Each is decided
// again on objects from the API server and on fresh answers, and carries the UID and resourceVersion that were read then. A crash
// between two of them leaves objects from which the same decision follows, since finalizers come off in the order in which
// things depend on each other: the claims', the node's, the GarageCluster's. Of two leaders one fails with a conflict, or both do the same
// once. A stale cache makes at worst a plan that is dropped.
//
// That a node was never given a role is not what the layout shows at the moment: a role may have been taken away since. It is a word in
// its status that is written before the first Apply with a role for it. The two cannot cross: the layout's writer gives no role to a
// node that it reads as deleted, and nothing is taken from a node that is not.
//
// A StatefulSet or claim that has lost its labels is asked for by its name: it is the node's by its owner, or by the finalizer.
//
// The mark in the status is for the policy. This package decides on the facts, so that where no policies exist, or somebody has
// written the mark by hand, the finalizer still holds the node.
//
// What it cannot hold is a deletion with propagation policy Foreground where there is no policy: Kubernetes then deletes
// the StatefulSet before it asks for the finalizer. The process stops; the claims, and with them the data, are held by their own.
package removal
