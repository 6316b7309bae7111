// Package peers has the members of a GarageCluster connect to each other (garage-operator behaviour, 2 Bootstrap of a new Auto
// cluster; Garage server facts, 1.7 Start, stop, ports, quorums, peering).
//
// # What it promises
//
// A member that does not see another one of the same GarageCluster as up is told where that one is. It is told only of
// nodes whose present Pod has said that it is who is recorded, or that the spec names with an address: never of a node that
// is held, so that a disk of somebody else's does not get in.
//
// # Why that holds
//
// To connect changes nothing but connections, and to be connected already is fine: it may be done twice, by two leaders,
// and after a crash again. Garage remembers peers by itself; this is for the first time, and for members whose addresses
// have all changed while they were away.
package peers
