// Package sysapi asks the nats-servers of one NATS cluster as a user of their system account: what a server is (VARZ),
// which Raft groups it holds (JSZ), and that it read its configuration again (RELOAD).
//
// Every request goes to one server by its name, through whichever server the connection is to, and is answered by that
// server alone; a reload goes to one process, by its ID. The replies are those of the monitoring port, so the types are
// monitorapi's. Nothing is retried and nothing is cached: a reply that is late, cannot be read, or says that it failed
// is an error. No error and no log line carries the credentials.
//
// A Pool keeps one connection for each NATS cluster from one look to the next. The subjects are those that the preset
// cluster-controller of a NatsUser admits (nats-operator v1 design, 5.3 Users).
package sysapi
