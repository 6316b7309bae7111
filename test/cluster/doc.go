// Package cluster brings up a real Kubernetes with several nodes on one Linux machine, without a container
// engine and without a registry: etcd, the control plane, and for each node a containerd, a kubelet and a
// kube-proxy in namespaces of its own. The host's links, routes, firewall and sysctls stay as they are.
//
// A cluster is known by its name; several live side by side. It outlives the program that brought it up.
// Its processes hang below one process, the hub (see internal/initd), so that Down, and an Up after a run
// that was killed, need nothing but the name.
//
// A program that imports this package is itself what the hub and the nodes run: it is started again under
// another name, and then does not reach its own main function.
package cluster
