// Package credentials keeps what the nodes of a GarageCluster know each other and their controller by: the RPC secret, the
// token of the Admin API, and the one for metrics ("Additive node-local pools", API contract; garage-operator behaviour, 2
// Bootstrap of a new Auto cluster).
//
// # What it promises
//
// The RPC secret is one for the life of the GarageCluster: generated once, or taken once from the Secret that the spec
// names, and kept in an immutable Secret of our own. It is never made anew where nodes may run with another, and a change
// of the named Secret is reported and not followed: nodes with two RPC secrets do not find each other.
//
// Tokens may change. What a process is started with never does: each pair of them lies in an immutable Secret that is named
// after its content, and a new one is a new revision of the nodes, which the rollout brings. Old ones go when no Pod
// and no StatefulSet names them any more.
//
// # Why that holds
//
// Decide looks at the Secrets as the API server has them, never a cache. Each step is one creation, which fails if
// somebody was faster, and then the next pass looks again. A crash between two steps leaves Secrets that the next pass
// finds and takes. A Secret of our name that is not ours is never written. A Secret that could not be read is unknown, and
// then nothing is created.
package credentials
