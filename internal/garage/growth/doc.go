// Package growth makes claims larger that are smaller than the spec says ("Additive node-local pools", API contract; garage-operator
// behaviour, 3 Manual nodes).
//
// # What it promises
//
// A claim that the controller has made follows the size in the spec upwards, one node at a time, and is followed to the end: it has
// grown when the claim itself says that its file system has the size. Until then the node's role gets no more capacity than it
// has, since Garage would fill a disk that is not there; and the roles of all nodes become larger together, so that data moves once.
// A claim that cannot grow is told of, with the reason, and nothing is written: one of somebody else's, one whose
// StorageClass does not let it, one that is larger already. No claim is ever made smaller, and none is made anew.
//
// A storage that refuses what a claim has been asked for stops there: the claims of the nodes after it stay as they are.
//
// # Why that holds
//
// Where it stands is what the claims say. Before one is written it is read again from the API server, looked at in the same way,
// and written with its resourceVersion: of two leaders one fails, and a claim that went and came again is another version. To ask
// twice for the same size changes nothing. A crash leaves a claim that asks for more, which the next pass follows on. Which claims
// a StorageClass lets grow is asked for when one is to grow, of the API server; without an answer nothing is written.
package growth
