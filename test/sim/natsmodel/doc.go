// Package natsmodel is a model of what the cluster controller works on: the StatefulSet controller, the kubelets and the
// garbage collector of a Kubernetes cluster, the nats-servers in its Pods, and their Raft groups. With package apimodel for
// the API server and package fault for what may come of a call it makes histories of the real reconciler, thousands a
// minute, and compares each step with the truth, which the controller never sees.
//
// The world moves by transitions: small steps, such as "the StatefulSet controller deletes the outdated Pod", "the process
// in lame duck ends", "demo-1 is current in the meta group". Whoever makes a history chooses among those that are possible,
// so a Pod may take long to end and a follower long to catch up.
//
// What is as in earnest: a Pod starts with the ConfigMap that is there then; what a kubelet reports comes later than
// what is so; a server that has just started first reports no JetStream, then names itself leader of every copy on its
// disk, and is up only when it knows the meta group; a group has a leader only while more than half of its members run; a
// member that was away is not current until it has caught up; a server is Ready only when all it holds is current. A changed
// ConfigMap comes into a container that runs at some later time; a server that is asked to reload reads what is there then,
// and takes it over whole or refuses. A NatsCluster that is deleted stays while it has finalizers, and what it owns goes after
// it.
//
// What is not modelled: certificates; more than one Pod of a name; claims that are lost; clients and messages; a server's own
// view of a split network; and of the system account the connection.
package natsmodel
