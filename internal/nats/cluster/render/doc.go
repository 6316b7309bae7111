// Package render turns a NatsCluster into the objects that run it: per server a StatefulSet and a ConfigMap, and
// the client Service, the headless Service, the PodDisruptionBudget and the NetworkPolicy that the servers share
// (nats-operator v1 design, 4.1 Workload).
//
// Everything here is pure: the same Input gives the same bytes, and nothing is read or written. What the schema
// of the CRD promises is checked again, because a renderer that trusts its input writes objects that the API
// server refuses halfway through.
package render
