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
// Two exceptions take nothing away. A server whose Pod has never run nats-server serves nobody, so it gets a
// new template whatever the others do; otherwise a mistyped image could not be corrected. And the server whose
// step is under way, down by our own hand, may get a newer template while all the others are whole.
//
// Crash: the position is read from the StatefulSets, each of which carries its revision. The one thing they do
// not tell, which server was chosen, is journalled in status.rollout.current before the server is touched. A
// restarted controller goes on with that server.
//
// Stale cache: the step is decided on the cache, then decided again on facts read from the API server and on a
// fresh observation of the servers, and taken only if both say the same.
//
// Second leader: the journal is written with the resourceVersion that was decided on, so of two leaders one
// fails there. A leader that stalls between its journal and its write carries the StatefulSet's UID and
// resourceVersion: the successor goes on with the same server, as the journal says, and its write makes the
// late one fail.
package rollout
