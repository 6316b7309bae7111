// Package orders follows what people ask of a GarageCluster by annotation: repairs, snapshots, scrubs and connections of its
// nodes, and what package layout carries out of the layout (garage-operator API, 11 Annotations).
//
// # What it promises
//
// An order is judged when it is first seen, on what is known then. One that is badly written, or that cannot be carried out as things
// are, fails at once with the reason, and nothing is done: none lies in wait and takes a person by surprise later. Nodes are told
// together or not at all: each has to answer first. How an order ended is in status.lastOperation, and an event.
//
// An order is carried out once. Its annotation is taken away afterwards, whether it succeeded or failed. Several are carried out
// one after the other.
//
// # Why that holds
//
// That an order is begun is written to the status with the resourceVersion that it was seen at; of two leaders one fails there.
// A crash afterwards leaves an order that is begun. One that may be given twice, such as to connect or to repair, is
// given again, to the nodes that are not at it. A snapshot is not: Garage keeps two, and a third would push out one that may be
// needed; it fails with that reason. An order about the layout goes on for what its hash stands for, or is given up.
//
// How it ended is written before the annotation is taken away, with the resourceVersion of that writing, and that it was taken away
// after that: an annotation that is found with an order that has ended is the old one.
package orders
