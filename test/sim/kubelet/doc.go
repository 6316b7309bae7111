// Package kubelet stands in for the parts of Kubernetes that a bare API server lacks, so that a controller of
// NATS servers can be tested against real nats-server processes without a node: the StatefulSet controller,
// the scheduler, the kubelet with its probes and hooks, the DNS of headless Services, and the garbage
// collector. It serves one namespace.
//
// What is real: the processes, their data, their signals and connections; the order in which a Pod is stopped
// (preStop, SIGTERM, SIGKILL at the end of the grace period) before its successor is made; when a Service's
// names resolve. What is not:
//
//   - A Pod's address is one of 127.0.0.0/8, a new one for each Pod, so that every server uses its usual ports. A
//     server would otherwise listen on all of them, so the address to listen on, and to tell its peers, is put on its
//     command line. Its nats.conf is what the ConfigMap says: each server runs in a folder of its own as the
//     root, with its volumes at their mount paths and an /etc/hosts that resolves what the cluster's DNS would. TLS by
//     host name works as it does in a Pod. A changed ConfigMap or Secret reaches a container within a second.
//   - Only the container that runs nats-server runs. Others count as running and ready. Init containers,
//     security contexts and resource limits have no effect; NetworkPolicies neither.
//   - StatefulSets have one replica. Claims are bound at once, to a folder that lasts as long as the claim.
//   - A crashed server comes back after 1, 2, then 4 seconds, the first time at once.
//   - Owned objects are collected in the background; the other ways to delete an owner are refused.
package kubelet
