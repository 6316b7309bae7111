// Package kubelet stands in for the parts of Kubernetes that a bare API server lacks, so that a controller of
// NATS or Garage servers can be tested against real processes without a node: the StatefulSet controller, the
// scheduler, the kubelet with its probes and hooks, the DNS of headless Services, the growth of claims, and the
// garbage collector. It serves one namespace.
//
// What is real: the processes, their data, their signals and connections; the order in which a Pod is stopped
// (preStop, SIGTERM, SIGKILL at the end of the grace period) before its successor is made; when a Service's
// names resolve; the modes of files in ConfigMap and Secret volumes. What is not:
//
//   - A Pod's address is one of 127.0.0.0/8, a new one for each Pod, so that every server uses its usual ports. A
//     server would otherwise listen on all of them, so a nats-server has the address to listen on, and to tell its
//     peers, on its command line, and reads the nats.conf of the ConfigMap. Garage has no such flags: in the
//     garage.toml that it reads, the Pod's address stands for every address to listen on, and is the one for peers
//     and of outgoing connections unless the ConfigMap or Secret says otherwise. Each server runs in a folder of its
//     own as the root, with its volumes at their mount paths and an /etc/hosts that resolves what the cluster's DNS
//     would. TLS by host name works as it does in a Pod. A changed ConfigMap or Secret reaches a container within a
//     second.
//   - A process has its Pod's hostname only where the tests may give it one: as root.
//   - Only the container that runs the server runs. Others count as running and ready. Init containers, security
//     contexts and resource limits have no effect; NetworkPolicies neither. A Pod's fsGroup shows in the modes of
//     ConfigMap and Secret files, and nowhere else.
//   - StatefulSets have one replica or none. Claims are bound at once, to a folder that lasts as long as the claim and
//     has the whole machine's space. One that asks for more has it half a second later, and says in between that its
//     file system is still to grow. Of the StorageClass, only what the API server itself makes of it counts.
//   - A crashed server comes back after 1, 2, then 4 seconds, the first time at once.
//   - Owned objects are collected in the background; the other ways to delete an owner are refused.
package kubelet
