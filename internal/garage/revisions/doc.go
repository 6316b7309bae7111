// Package revisions lets go of configurations that nothing runs any more ("Additive node-local pools", Owned resources: the active
// revision, and those that are still referenced during a rollout).
//
// # What it promises
//
// A ConfigMap with a configuration goes when no Pod and no StatefulSet of the GarageCluster names it and it is not what is
// rendered now, and not while a rollout is wanted or under way. One that somebody else controls is left alone.
//
// # Why that holds
//
// A ConfigMap's name tells its contents and it cannot change, so whoever needs one again makes it again. It is made before the
// StatefulSet names it, but then it is what is rendered now. A crash, a stale cache or a second leader can delete one that
// nothing names, and nothing else: the deletion carries the UID and resourceVersion that were read.
package revisions
