// Package rollout brings servers to the rendered revision, one at a time: a step writes a server's ConfigMap
// and its Pod template, and its StatefulSet restarts the Pod, which enters lame-duck mode first
// (nats-operator v1 design, 4.4 Rollout). Without JetStream a step may also be the removal of a server beyond
// spec.replicas (4.5 Scale-down and server replacement). The highest ordinal goes first, the server that leads
// the meta group last.
//
// The promise: no step is taken while a server is down, a Raft group lacks a leader or a member is offline or
// not current, or while any of that is unknown. Nothing proceeds on a timeout. Two servers are never touched
// together.
//
// A server without a process serves nobody, and a new template takes nothing away by it. It may get one whatever the
// others do, or a mistyped image could not be corrected: where it has never been up, where no other server has been begun
// with, or where it cannot start as it is while the one that was begun with could. The last condition keeps a revision
// that cannot start to one server: another that is only on its way back, from an eviction say, keeps what it can start
// with. And a server that is down, or whose step is under way, waits for all the others to be whole, but not for itself:
// its own state is what the step is to change.
//
// A person may hold a rollout before its next step (spec.rollout.paused), and order one step through a closed gate and
// through the pause (the annotation force-step). Such an order is taken off the NatsCluster before the step, with the
// resourceVersion that it was read with: a crash in between loses it, and it has to be given again, but it can never
// be carried out twice.
//
// Crash: the position is read from the StatefulSets, each of which carries its revision. The one thing they do
// not tell, which server was chosen, is journalled in status.rollout.current before the server is touched. A
// restarted controller goes on with that server.
//
// Stale cache: the step is decided on the cache, then decided again on facts read from the API server and on a
// fresh observation of the servers, and taken only if both say the same.
//
// Second leader: the journal is written with the resourceVersion that was decided on, so of two leaders one
// fails there. A leader that stalls before it rereads finds another NatsCluster than the one it journalled, and gives up;
// the StatefulSets are read before that. One that stalls after it carries the StatefulSet's UID and resourceVersion.
// Nobody goes on to another server before these are out of date: either the step itself has written the StatefulSet since,
// or, where there was nothing to write because the step was taken back, the StatefulSet is marked.
package rollout
