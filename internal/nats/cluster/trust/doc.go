// Package trust finds out whom the servers of a NatsCluster are to trust: the NATS operator and its system account that
// spec.auth.trustRef leads to (nats-operator v1 design, 4.3 Trust, resolver, gateways, leaf nodes, and 5.1 Keys and trust).
//
// It promises: servers are only ever rendered for a trust that this NatsCluster is admitted to, that is whole, and that
// nats-server will start with. Anything else, a withdrawn NatsReferenceGrant too, holds the NatsCluster at what was
// rendered last: a trust object has only public material, so nothing is won by taking it from servers that run, and
// servers without it would not start again.
//
// Nor does it let the system account change under servers that run. The meta group's messages pass through that account,
// and so do the controller's own: a server that was restarted with another one would find itself alone, and the gate
// of the rollout would stay shut behind it.
//
// It writes nothing, so there is nothing to resume after a crash and nothing that a second leader could do twice. It
// reads the cache: what it decides is rendered into a new revision at most, and every step towards that is proved by
// the rollout.
package trust
