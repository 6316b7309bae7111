// Package reload says what a server needs to come to what is rendered for it: nothing, a new ConfigMap, a reload of its
// configuration, or a restart (nats-operator v1 design, 4.2 Config changes). It brings about all but the restart,
// which is the rollout's.
//
// It promises: a running server is asked to reload only where each key that differs is on the allow-list of its minor
// version. Everything else restarts: a key or a minor version that the list does not know, anything of the Pod, other CAs of
// the routes, and every change where the controller has no system user to ask with. nats-server takes a
// configuration whole or not at all, so one such key is enough.
//
// A reload is over when the process itself reports the digest of the configuration that it was given. A reply is no
// proof: a kubelet may take two minutes to bring a changed ConfigMap into the container, and until then a server
// reloads what it has. After three minutes without that proof, or when the server refuses, the server is
// restarted. That takes nothing that a restart would not: it waits for the rollout's gate.
//
// A renewed certificate comes with a new revision of the ConfigMap, though not in it, and the process proves it by the end of the
// certificate that it shows (ADR 0011). nats-server reads the certificate before its CAs, and a kubelet replaces all files of a
// Secret at once, so that who shows the new certificate trusts by the new ca.crt. A certificate with the same end as the one
// that is shown, and other CAs without another certificate, could not be proved, and restart. A new Secret reaches the files of a
// running server before the reload, and does nothing there; a server that restarts by itself takes it.
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
