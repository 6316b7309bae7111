package certificates

import (
	"crypto/x509"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-dev/holdfast/api/nats/cluster/v1beta1"
	"github.com/holdfast-dev/holdfast/internal/nats/cluster/facts"
	"github.com/holdfast-dev/holdfast/internal/nats/cluster/render"
)

// Named is what the renderer gets: a certificate for each listener that has TLS and can have it now.
type Named struct {
	// Client and Routes are the certificates to mount; nil where the listener has none or has to wait.
	Client, Routes *render.Certificate
	// Waiting are the certificates that are not there, the client listener's first.
	Waiting []Wait
}

// Wait is a certificate that is waited for.
type Wait struct {
	// Reason is ClientCertificateNotReady or RouteCertificateNotReady.
	Reason string
	// Message names the Secret and says what is wrong with it.
	Message string
}

// An ActionKind is one write of one Secret.
type ActionKind string

const (
	// CreateCA makes a CA under a new key.
	CreateCA ActionKind = "CreateCA"
	// RenewCA reissues the CA's certificate under its key.
	RenewCA ActionKind = "RenewCA"
	// Trust puts the CA before the others in ca.crt and leaves the certificate as it is.
	Trust ActionKind = "Trust"
	// Issue makes a certificate under a new key, signed by the CA.
	Issue ActionKind = "Issue"
)

// An Action is one write of one Secret.
type Action struct {
	Kind ActionKind
	// Also are the CAs that go into ca.crt besides the present one. Only of Trust and Issue.
	Also []*x509.Certificate
}

// Plan is what to do now. With an Action, decide again after it; Named is complete only without one.
type Plan struct {
	Action *Action
	Named  Named
	// Foreign are Secrets of names that are needed and that somebody else controls.
	Foreign []string
}

// Decide looks at the Secrets as they are and says what is missing.
func Decide(w World, now time.Time) Plan {
	var plan Plan
	if w.Client != nil {
		secret, problem := w.Client.usable(now)
		if problem == "" {
			plan.Named.Client = clientCertificate(secret)
		} else {
			plan.wait(v1beta1.ReasonClientCertificateNotReady, problem)
		}
	}
	if w.Routes != nil {
		secret, problem := w.Routes.usable(now)
		if problem == "" {
			problem = routesProblem(w.Routes.Name, secret, w.RouteHosts, now)
		}
		if problem == "" {
			plan.Named.Routes = routesCertificate(secret)
		} else {
			plan.wait(v1beta1.ReasonRouteCertificateNotReady, problem)
		}
	}
	if w.Own != nil {
		w.decideOwn(&plan, now)
	}
	return plan
}

func (p *Plan) wait(reason, message string) {
	p.Named.Waiting = append(p.Named.Waiting, Wait{Reason: reason, Message: message})
}

// usable is the named Secret, or the problem with it.
func (r Reference) usable(now time.Time) (*corev1.Secret, string) {
	secret, known := r.Secret.Get()
	if !known {
		return nil, fmt.Sprintf("Secret %s cannot be read: %s", r.Name, r.Secret.Why())
	}
	if secret == nil {
		return nil, fmt.Sprintf("Secret %s does not exist", r.Name)
	}
	pair, problem := pairOf(secret)
	if problem == "" {
		problem = expiry(pair.leaf, now)
	}
	if problem != "" {
		return nil, fmt.Sprintf("Secret %s %s", r.Name, problem)
	}
	return secret, ""
}

// routesProblem looks at what a certificate needs between servers: each side checks the other's.
func routesProblem(name string, secret *corev1.Secret, hosts []string, now time.Time) string {
	roots := rootsOf(secret.Data[render.KeyCA])
	if len(roots) == 0 {
		return fmt.Sprintf("Secret %s has no certificate in ca.crt, by which the servers check each other", name)
	}
	pair, _ := pairOf(secret)
	if problem := pair.servesRoutes(roots, hosts, now); problem != "" {
		return fmt.Sprintf("Secret %s %s", name, problem)
	}
	return ""
}

// decideOwn finds out whether the two Secrets are within reach, and what they need.
func (w World) decideOwn(plan *Plan, now time.Time) {
	for _, of := range []Reference{w.Own.CA, w.Own.TLS} {
		secret, known := of.Secret.Get()
		if !known {
			plan.wait(v1beta1.ReasonRouteCertificateNotReady, fmt.Sprintf("Secret %s cannot be read: %s", of.Name, of.Secret.Why()))
			return
		}
		if secret != nil && !w.controls(secret) {
			plan.Foreign = append(plan.Foreign, of.Name)
		}
	}
	if len(plan.Foreign) > 0 {
		return
	}
	caSecret, _ := w.Own.CA.Secret.Get()
	tlsSecret, _ := w.Own.TLS.Secret.Get()
	ca, shown := authorityOf(caSecret), w.shownIn(tlsSecret, now)
	if ca.key == nil && !shown.usable {
		w.beginAnew(plan)
		return
	}
	plan.Action = w.next(ca, shown, now)
	if plan.Action == nil {
		plan.Named.Routes = routesCertificate(tlsSecret)
	}
}

// next goes through the states between nothing at all and a certificate in its prime, for which it is nil.
func (w World) next(ca authority, shown shown, now time.Time) *Action {
	if ca.key == nil {
		return &Action{Kind: CreateCA}
	}
	if ca.certificate == nil || expiry(ca.certificate, now) != "" {
		return &Action{Kind: RenewCA}
	}
	switch {
	case !shown.usable, !shown.trusts(ca) && w.Own.Edited && !w.anyHas(shown.digest):
		// Of somebody else's certificate that nobody has, nobody knows that it is trusted.
		return ca.issue(shown.others(ca, now), now)
	case !shown.trusts(ca):
		return &Action{Kind: Trust, Also: shown.others(ca, now)}
	case !shown.signedBy(ca):
		return w.succeed(ca, shown, now)
	case due(shown.pair.leaf, now):
		return w.renew(ca, shown, now)
	}
	return nil
}

// succeed replaces a certificate of a CA that was lost by one of its successor, once everybody knows the successor.
func (w World) succeed(ca authority, shown shown, now time.Time) *Action {
	if !w.allStartedWith(shown.digest) {
		return nil
	}
	return ca.issue(shown.others(ca, now), now)
}

// renew replaces a certificate by another of the same CA. When everybody shows the one that is replaced, nobody
// needs the CAs before it any more.
func (w World) renew(ca authority, shown shown, now time.Time) *Action {
	if w.allStartedWith(shown.digest) {
		return ca.issue(nil, now)
	}
	return ca.issue(shown.others(ca, now), now)
}

// controls says that this very NatsCluster made the Secret, not an earlier one of its name.
func (w World) controls(secret *corev1.Secret) bool {
	return slices.ContainsFunc(secret.OwnerReferences, func(o metav1.OwnerReference) bool {
		return o.Controller != nil && *o.Controller && o.UID == w.UID
	})
}

// beginAnew makes the first CA. Where servers run already, both Secrets were lost, and a new CA would cut each
// server off from the others as it restarts: then a human has to choose.
func (w World) beginAnew(plan *Plan) {
	servers, known := w.Own.Servers.Get()
	if !known {
		plan.wait(v1beta1.ReasonRouteCertificateNotReady, "whether servers run with a certificate of an earlier CA is not known: "+
			w.Own.Servers.Why())
		return
	}
	for _, server := range servers {
		if runs(server, w.Own.TLS.Name) {
			plan.wait(v1beta1.ReasonRouteCertificateNotReady, fmt.Sprintf("Secrets %s and %s hold nothing that the running servers "+
				"trust, and a new CA would cut each restarted server off from the others: put %s back, or delete both Secrets and "+
				"then all Pods of the NatsCluster, which start together under a new CA", w.Own.CA.Name, w.Own.TLS.Name, w.Own.TLS.Name))
			return
		}
	}
	plan.Action = &Action{Kind: CreateCA}
}

// runs says that the server has started with a certificate out of that Secret.
func runs(server facts.Server, secret string) bool {
	pod := server.Pod
	if pod == nil || !slices.ContainsFunc(pod.Spec.Volumes, func(v corev1.Volume) bool {
		return v.Secret != nil && v.Secret.SecretName == secret
	}) {
		return false
	}
	return slices.ContainsFunc(pod.Status.ContainerStatuses, func(s corev1.ContainerStatus) bool {
		return s.Name == facts.Container && s.Started != nil && *s.Started
	})
}

// allStartedWith says that each planned server has a Pod, and that every Pod was started with what the Secret
// holds now. It is false while that is not known.
func (w World) allStartedWith(digest string) bool {
	servers, known := w.Own.Servers.Get()
	if !known {
		return false
	}
	for _, server := range servers {
		if server.Pod != nil && server.Pod.Annotations[v1beta1.AnnotationRouteCertificate] != digest {
			return false
		}
	}
	for ordinal := range w.Replicas {
		if servers.Get(render.ServerName(w.Cluster, ordinal)).Pod == nil {
			return false
		}
	}
	return true
}

// anyHas says that some Pod was started with what the Secret holds now, or was given it since. It is true while that is not known.
func (w World) anyHas(digest string) bool {
	servers, known := w.Own.Servers.Get()
	return !known || slices.ContainsFunc(servers, func(server facts.Server) bool {
		return server.Pod != nil && server.Pod.Annotations[v1beta1.AnnotationRouteCertificate] == digest ||
			server.ConfigMap != nil && server.ConfigMap.Annotations[v1beta1.AnnotationRouteCertificate] == digest
	})
}

// due says that at most a third of the certificate's life is left.
func due(certificate *x509.Certificate, now time.Time) bool {
	life := certificate.NotAfter.Sub(certificate.NotBefore)
	return certificate.NotAfter.Sub(now) <= life/3
}
