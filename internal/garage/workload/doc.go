// Package workload brings the objects of a GarageCluster into being: the GarageNodes that the controller makes, and what runs
// each node ("Additive node-local pools", Owned resources; garage-operator behaviour, 2 Bootstrap of a new Auto cluster and 11
// Scale up / down).
//
// # What it promises
//
// Before the first layout all GarageNodes are made together; after it one at a time, each when every earlier one has its role
// and no layout is being taken over. A node's objects are created, and those that restart it are never changed here: a
// StatefulSet keeps the template that its Pod was made from, so that a Pod which comes back by itself is the one that went.
// A GarageNode is never deleted here, however few are asked for. With the policy Manual those that the controller has made are left
// to users as they are, and nothing of them restarts. A claim is only taken up if it was kept of a node of that name.
//
// # Why that holds
//
// What is missing is created with the precondition that it does not exist, the configuration before what mounts it. A crash
// in between leaves objects that the next pass finds. Of two leaders the second is refused. That the earlier nodes have
// their roles is what every member says of itself; as long as one does not answer, no node is added.
package workload
