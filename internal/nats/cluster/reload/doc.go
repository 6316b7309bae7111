// Package reload says what a server needs to come to what is rendered for it: nothing, a new ConfigMap, a reload of its
// configuration, or a restart (nats-operator v1 design, 4.2 Config changes). It brings about all but the restart,
// which is the rollout's.
//
// It promises: a running server is asked to reload only where each key that differs is on the allow-list of its minor
// version. Everything else restarts: a key or a minor version that the list does not know, anything of the Pod, a
// certificate, and every change where the controller has no system user to ask with. nats-server takes a
// configuration whole or not at all, so one such key is enough.
//
// A reload is over when the process itself reports the digest of the configuration that it was given. A reply is no
// proof: a kubelet may take two minutes to bring a changed ConfigMap into the container, and until then a server
// reloads what it has. After three minutes without that proof, or when the server refuses, the server is
// restarted. That takes nothing that a restart would not: it waits for the rollout's gate.
//
// A ConfigMap that a user edits is put back. A process that was started with the edit meanwhile reports another revision than
// its ConfigMap has, in a Pod that is Ready at its template, and is restarted.
//
// The JWT of the system account, which only a starting server reads, is kept current in the ConfigMap and is no reason
// for either: a running server takes it as a claims update.
//
// Crash: the ConfigMap is written before the server is asked, and says on it that it is to be reloaded, and since when.
// What is still to be done is read from it, from the StatefulSet and from what the process reports. To ask twice is
// to ask once.
//
// Stale cache: the ConfigMap is written at the resourceVersion that was decided on. A process is asked by its ID, which
// is new at every start, so nobody else takes the request.
//
// Second leader: of two that write a ConfigMap one fails. Both may ask the process, which is to ask once.
package reload
