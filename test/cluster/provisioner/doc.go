// Package provisioner makes persistent volumes of the local cluster's nodes: each is a folder on the disk of
// one node, as real local storage is.
//
// A claim waits until a pod that uses it is scheduled; its volume is then made on that pod's node and pins
// every later pod to it, because the data stays with the node. The folder belongs to root, as the root of a
// fresh file system does: a pod that runs as another user needs an fsGroup. Reclaim policy Delete removes the
// folder, Retain keeps it. A claim that asks for more gets it; nothing limits what is written, since a folder
// has no size of its own. While a node is not ready nothing on its disk is made, removed or said to be larger.
//
// The program runs on the host and reaches a node's disk where the host keeps it.
package provisioner
