// Package rollout brings nodes to what is rendered, one identity at a time over the whole GarageCluster ("Additive node-local
// pools", Parent-controlled workload rollout; garage-operator behaviour, 8 Storage rollout). A step writes one node's
// StatefulSet, takes its Pod out of the S3 Service, and deletes that Pod; the StatefulSet makes the next one from the new
// template. Pods do not restart by themselves when a template changes (OnDelete).
//
// # What it promises
//
// A Pod that serves is taken away only while every node of the layout is up by the word of every one, twice, some seconds
// apart, no change of the layout is under way, or was wanted when the step began, every node is who is recorded, and the claims of that
// Pod are there and are to stay. Unknown blocks; nothing proceeds by time. The next identity follows when the new Pod has itself said that
// it is the recorded one, is ready and has its role, and the store is whole again. A revision that cannot start stops at one
// identity, and a corrected one goes on with that identity, if only all others are up: whatever is wrong with the node itself is what is
// to be corrected.
//
// A process that is down serves nobody, and a new template takes nothing away by it: it waits for no other, or a mistyped
// image could not be corrected once it is on a node. Down is what has no ready Pod, does not answer us, and is seen by no
// member that does. It is still one identity at a time. A node that never had an identity has nothing to lose, and gets its
// new template at once. A step whose node waits for one that does not serve, and which waits for its own new template, ends for that one.
//
// # Why that holds
//
// Crash: which identity was chosen, and the UID of the Pod that is to go, are written to status.storageRollout before
// anything is touched; everything else is read from the objects. The template is written before the Pod is deleted, so
// whenever the Pod goes, the next one is made from the new template. The claims carry a finalizer from before the deletion
// until the new Pod is back: a claim that somebody deletes in between is not gone, and no empty one takes its place.
//
// Stale cache: a step is decided on the cache, and again on objects from the API server and new answers of every process,
// both before the first write and before the deletion, and goes on only if both say the same. One answer may come late, and make all
// others old: the objects are read once more after the last one, and a process that has gone since has said nothing.
//
// Second leader: the status is written with the resourceVersion that was decided on, so of two leaders one fails there. One
// that stalls later holds a Pod's UID and resourceVersion: nobody goes on to another identity before that Pod is gone, or, if
// the step is taken back, before it is marked and so has another resourceVersion.
//
// A StatefulSet that somebody replaces in between is another one by its UID, which is recorded: a Pod of the one that is gone
// does not end the step. At most 32 such UIDs are kept, and none is forgotten; with more than that nothing goes on.
package rollout
