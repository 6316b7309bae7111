// Package certificates sees to the certificates of a NatsCluster's listeners: it reads the Secrets that the spec
// names, and keeps the self-signed certificate of the routes (nats-operator v1 design, 4.1 Workload).
//
// It promises:
//
//   - A named Secret is only read, by its name. While it cannot be used, nothing is handed on, and the message says
//     which Secret it is and what is wrong with it.
//   - The route certificate of its own is valid for a year and reissued when a third of that is left, under the
//     key of a CA that lives ten years and is reissued by the same rule, under its own key. So whoever trusts
//     the CA of any time trusts the certificates of any other time, and servers that were restarted talk to those
//     that were not.
//   - It never takes away from running servers what they trust each other by. A lost CA is replaced in two steps:
//     first every server learns the new CA beside the old one and goes on showing its old certificate; only when
//     every Pod was started with both does a certificate of the new CA follow. When nothing is left that the
//     running servers trust, it waits and says what to do: a certificate that they do not trust would cut off
//     each restarted server.
//
// One thing it cannot make good: when the CA is lost, and then N-routes-tls as well before every server knows the
// successor, the servers that do not know it are cut off until they are restarted.
//
// It tells the servers nothing: a changed Secret has another digest, that gives another revision, and a reload or the rollout
// brings it to them. Trust in another CA is always a restart, so that a Pod's annotation tells whom its server trusts.
//
// Where things lie. The Secret N-routes-ca holds the CA's certificate and key and is never mounted. N-routes-tls is
// mounted: the certificate, its key, and in ca.crt the CAs to trust, the present one first.
//
// Why it holds after a crash: each step is one write of one Secret, and what comes next follows from the two
// Secrets alone. A CA without a certificate of it (a crash in between, a lost N-routes-tls) gets one; a CA whose
// certificate is newer than the one in ca.crt has the same key, and the certificate that made it due is due still.
// The second step of a lost CA waits for the Pods, which carry the digest that they were started with.
//
// Why it holds with a stale cache: the Secrets are read from the API server. The Pods are not, but an old view of
// them shows older digests, which only makes the second step wait; and a Pod that a view does not show yet
// was started with what the Secret holds.
//
// Why it holds with a second leader: a Secret is created, or written at the resourceVersion that was decided on.
// Of two leaders one is refused, and decides again on what the other one wrote.
package certificates
