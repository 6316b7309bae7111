// Package deletion keeps a NatsCluster with JetStream from being deleted while streams are on it (nats-operator v1 design,
// 4.6 Deletion guard): a finalizer holds the object, and the object its servers.
//
// It promises: the finalizer is there before the first server is, and is taken off only when every server has answered and
// none holds a stream; when no server is left, or none has ever been up; or on the order of a person, the annotation
// force-delete. A server that does not answer may hold the only copy of a stream, so its silence is not an empty answer; nor
// is it one where of a server that has run only the claim is left, and others run.
//
// The claims stay in any case: what the guard protects is the service, and the streams whose only copy is in memory.
//
// Crash: both actions are one write of the finalizer, and what to do follows from the object and the servers. Stale cache:
// the write carries the resourceVersion that was decided on, so an object that was edited meanwhile is decided on again;
// the servers' objects are read from the API server, by their names where they are on no list, and the servers are asked.
// Second leader: of two writes one fails.
//
// What it cannot hold is a stream that is made between the last answer and the write, and a deletion with propagation policy
// Foreground: Kubernetes deletes what an object owns before it asks for finalizers then.
package deletion
