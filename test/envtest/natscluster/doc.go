// Package natscluster tests the cluster controller as it is shipped: in the test's own process, under exactly the
// shipped role, against a real API server and real nats-server processes. Only the kubelets are simulated.
package natscluster
