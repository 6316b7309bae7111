// Package settled judges whether a NATS cluster is Settled: every Raft group placed in it has a leader, and every member
// of every group is online and current. The groups are the meta group and those of all streams and consumers of all
// accounts. It is the gate before every step that takes a server away (nats-operator v1 design, 4.4 Rollout).
//
// Observe reads, Judge decides, Look does both. Neither writes anything or remembers anything, so a crash, a second leader or a stale
// cache cannot harm them: a verdict is as old as its observation, and whoever acts on it observes again just before.
//
// # The argument
//
// A verdict is Settled only if every server that should exist answered every request under its own name, each group that
// any of them holds is claimed by exactly one leader, and that leader's own list shows every member online and current.
//
//   - A server that fails any request, or any page of one, is silent as a whole. What it said before that is dropped: half
//     of its groups would hide the other half. A silent server unsettles the cluster whatever the others say.
//   - Followers are asked for one thing only, which groups exist. Their lists call every other follower not current, and
//     the leader they name may have died since. A group that followers hold and nobody leads has no leader.
//   - A group that two servers claim has no leader either: one of them has not heard that it lost.
//   - A server that has just started names itself the leader of every copy on its disk, before it runs a Raft node for any
//     of them. Its claim on a group that should have more than one copy does not count until it runs one. This is why the
//     configurations are read along.
//   - A server whose JetStream is not up reports no groups, or only those that it has read from its disk so far, which must
//     not read as having no others. A clustered server is up when it reports the meta group: that comes last at its start.
//   - No server answered: the verdict is not known, which is neither Settled nor unsettled.
//
// Look takes a few observations within about a second for one, where members are behind and nothing else is wrong. At a
// single instant some follower of a busy stream always is. What counts as current then was so within that second, by
// the list of a leader that still leads, and in a process that still runs. A member with something to catch up with is
// current at none of the looks. Silence, a missing leader and an offline member are always those of the last look.
//
// The reads are not one snapshot. A leadership that moves between two reads shows as two leaders or none and is put right
// by the next observation. What the reads cannot show is a group whose only copy is on a server that forgot it.
//
// A standalone server has no Raft groups: it is Settled when it answers and its JetStream is up. Without JetStream a cluster
// is Settled when every server answers.
package settled
