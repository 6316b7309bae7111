// Package status builds the status of a GarageCluster and of its GarageNodes from what one pass has seen ("Additive
// node-local pools", Status). It is pure; the controller writes what differs.
//
// What a pass could not find out stays as it was last reported, and is never shown as a zero. Figures that move all the time,
// such as the free space of a disk, are written only when their class changes, so that a cluster at rest writes nothing.
package status
