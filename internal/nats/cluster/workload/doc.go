// Package workload brings the objects of a NatsCluster into being: the Services, the PodDisruptionBudget and
// the NetworkPolicy that its servers share, and each server's ConfigMap and StatefulSet where they are missing
// (nats-operator v1 design, 4.1 Workload). It never changes a server that exists: that restarts it, and is the
// business of package rollout.
//
// It also refuses, before anything is written, what cannot be carried out without losing data: a server that
// ran alone and would join others, or the reverse; fewer servers with JetStream; other disks; a version that is more than a
// minor away from what some server runs.
//
// Why it holds. Every action is an idempotent write towards the rendered objects, so a crash between any two of
// them leaves a state that the next pass completes. A create is a create: with a stale cache, or a second
// leader at work, it finds the object there and fails; what was begun is completed in the state that was seen, or not at
// all. An object that was not seen because it lost its labels gets them back and nothing else, and a server whose Pod runs
// without its StatefulSet is the rollout's, since a new one would restart the Pod. The refusals rest on facts that only
// become true by our own creation of a server (its claim, its configuration); a cache that does not show them
// yet also does not show the server, and then the create fails on the StatefulSet that is there. Facts that
// cannot be read are Unknown, and then nothing is created.
package workload
