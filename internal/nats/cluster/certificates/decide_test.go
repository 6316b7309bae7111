package certificates

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/holdfast-dev/holdfast/api/nats/cluster/v1beta1"
	"github.com/holdfast-dev/holdfast/internal/kit/fact"
	"github.com/holdfast-dev/holdfast/internal/nats/cluster/render"
)

func TestOwnCertificate(t *testing.T) {
	lost := func(l *lab) { // the CA is lost, its successor known to some servers
		l.ca = nil
		l.settle()
	}
	cases := map[string]struct {
		given func(*lab)
		want  []ActionKind
		roots int    // CAs in ca.crt afterwards
		waits string // in the message; then nothing is handed on
	}{
		"nothing yet": {
			given: func(l *lab) { *l = *newLab(l.fataler) }, want: kinds(CreateCA, Issue), roots: 1,
		},
		"at rest": {given: func(*lab) {}, roots: 1},
		"a moment before a third is left": {
			given: func(l *lab) { l.now = l.third().Add(-time.Nanosecond) }, roots: 1,
		},
		"a third is left": {
			given: func(l *lab) { l.now = l.third() }, want: kinds(Issue), roots: 1,
		},
		"expired": {
			given: func(l *lab) { l.now = l.now.Add(lifeOfCertificate + time.Second) }, want: kinds(Issue), roots: 1,
		},
		"a third of the CA's life is left": {
			given: func(l *lab) { l.now = birth.Add(lifeOfCA * 2 / 3) }, want: kinds(RenewCA, Issue), roots: 1,
		},
		"the CA is due, the certificate is not": {
			given: func(l *lab) {
				l.now = birth.Add(lifeOfCA*2/3 - time.Hour) // not due: the CA's life began an hour before its issue
				l.settle()
				l.now = l.now.Add(24 * time.Hour)
			}, roots: 1,
		},
		"the CA has expired": {
			given: func(l *lab) { l.now = birth.Add(lifeOfCA + time.Second) }, want: kinds(RenewCA, Issue), roots: 1,
		},
		"a crash after the CA was made": {
			given: func(l *lab) {
				*l = *newLab(l.fataler)
				l.step()
			},
			want: kinds(Issue), roots: 1,
		},
		"a crash after the CA was renewed": {
			given: func(l *lab) {
				l.now = birth.Add(lifeOfCA * 2 / 3)
				l.step()
			},
			want: kinds(Issue), roots: 1,
		},
		"the certificate is lost": {
			given: func(l *lab) { l.tls = nil }, want: kinds(Issue), roots: 1,
		},
		"the certificate is no PEM": {
			given: func(l *lab) { l.tls.Data[corev1.TLSCertKey] = []byte("x") }, want: kinds(Issue), roots: 1,
		},
		"the key is another's": {
			given: func(l *lab) { l.tls.Data[corev1.TLSPrivateKeyKey] = l.ca.Data[corev1.TLSPrivateKeyKey] },
			want:  kinds(Issue), roots: 1,
		},
		"no ca.crt": {
			given: func(l *lab) { delete(l.tls.Data, render.KeyCA) }, want: kinds(Issue), roots: 1,
		},
		"a certificate for other names": {
			given: func(l *lab) {
				w := l.world()
				w.RouteDomain = "other-headless.messaging.svc"
				_, l.tls.Data, _ = w.data(Action{Kind: Issue}, l.now)
			},
			want: kinds(Issue), roots: 1,
		},
		"the CA's certificate is lost, its key is not": {
			given: func(l *lab) { l.ca.Data[corev1.TLSCertKey] = nil }, want: kinds(RenewCA), roots: 1,
		},
		"the CA's certificate is another key's": {
			given: func(l *lab) { l.ca.Data[corev1.TLSCertKey] = running(l.fataler).ca.Data[corev1.TLSCertKey] },
			want:  kinds(RenewCA), roots: 1,
		},
		"the CA's certificate is no CA's": {
			given: func(l *lab) {
				l.ca.Data[corev1.TLSPrivateKeyKey] = l.tls.Data[corev1.TLSPrivateKeyKey]
				l.ca.Data[corev1.TLSCertKey] = l.tls.Data[corev1.TLSCertKey]
			},
			want: kinds(RenewCA, Trust), roots: 2,
		},
		"the CA is lost": {
			given: func(l *lab) { l.ca = nil }, want: kinds(CreateCA, Trust), roots: 2,
		},
		"the CA's key is garbage": {
			given: func(l *lab) { l.ca.Data[corev1.TLSPrivateKeyKey] = []byte("x") }, want: kinds(CreateCA, Trust), roots: 2,
		},
		"the CA is replaced by a user": {
			given: func(l *lab) { l.ca = running(l.fataler).ca }, want: kinds(Trust), roots: 2,
		},
		"a crash after the lost CA's successor was made": {
			given: func(l *lab) {
				l.ca = nil
				l.step()
			},
			want: kinds(Trust), roots: 2,
		},
		"a successor that one server does not know": {
			given: func(l *lab) {
				lost(l)
				l.start(2, 1)
			}, roots: 2,
		},
		"a successor, one server without a Pod": {
			given: func(l *lab) {
				lost(l)
				l.start(2, 1)
				l.servers[0].exists = false
			}, roots: 2,
		},
		"a successor, the servers unknown": {
			given: func(l *lab) {
				lost(l)
				l.start(2, 1, 0)
				l.unknown = "no answer"
			}, roots: 2,
		},
		"a successor that all servers know": {
			given: func(l *lab) {
				lost(l)
				l.start(2, 1, 0)
			},
			want: kinds(Issue), roots: 2,
		},
		"a successor that not all know when the old certificate has expired": {
			given: func(l *lab) {
				lost(l)
				l.now = l.now.Add(lifeOfCertificate + time.Second)
			},
			want: kinds(Issue), roots: 2,
		},
		"due with the old CA still in ca.crt, all servers on the new": {
			given: func(l *lab) {
				lost(l)
				l.start(2, 1, 0)
				l.settle()
				l.start(2, 1, 0)
				l.now = l.third()
			},
			want: kinds(Issue), roots: 1,
		},
		"due with the old CA still in ca.crt, a server behind": {
			given: func(l *lab) {
				lost(l)
				l.start(2, 1, 0)
				l.settle()
				l.start(2, 1)
				l.now = l.third()
			},
			want: kinds(Issue), roots: 2,
		},
		"both lost, servers running": {
			given: func(l *lab) { l.ca, l.tls = nil, nil }, waits: "put demo-routes-tls back",
		},
		"the CA lost, the certificate unusable, servers running": {
			given: func(l *lab) {
				l.ca, l.tls.Data[corev1.TLSCertKey] = nil, []byte("x")
			},
			waits: "put demo-routes-tls back",
		},
		"both lost, the servers unknown": {
			given: func(l *lab) { l.ca, l.tls, l.unknown = nil, nil, "no answer" }, waits: "is not known: no answer",
		},
		"both lost, no server has started": {
			given: func(l *lab) {
				l.ca, l.tls = nil, nil
				l.each(func(s *simulated) { s.started = false })
			},
			want: kinds(CreateCA, Issue), roots: 1,
		},
		"none yet, the servers run with a named certificate": {
			given: func(l *lab) {
				l.ca, l.tls = nil, nil
				l.each(func(s *simulated) { s.mounts = "mine" })
			},
			want: kinds(CreateCA, Issue), roots: 1,
		},
	}
	for name, test := range cases {
		t.Run(name, func(t *testing.T) {
			l := running(t)
			test.given(l)
			before := l.tls
			done, plan := l.settle()
			if diff := cmp.Diff(test.want, done); diff != "" {
				t.Errorf("done (-want +got):\n%s", diff)
			}
			if test.waits != "" {
				waitsForRoutes(t, plan.Named, test.waits)
				return
			}
			if got := l.roots(); got != test.roots {
				t.Errorf("ca.crt holds %d CAs, want %d", got, test.roots)
			}
			want := Named{Routes: &render.Certificate{SecretName: tlsName, Digest: routesCertificate(l.tls).Digest, Authorities: authoritiesOf(l.tls), Ends: endOf(l.tls), CA: true}}
			if diff := cmp.Diff(want, plan.Named); diff != "" {
				t.Errorf("hands on (-want +got):\n%s", diff)
			}
			if slices.Contains(test.want, Trust) && !bytes.Equal(before.Data[corev1.TLSCertKey], l.tls.Data[corev1.TLSCertKey]) {
				t.Error("Trust replaced the certificate")
			}
		})
	}
}

func waitsForRoutes(t *testing.T, named Named, says string) {
	t.Helper()
	if len(named.Waiting) != 1 || named.Waiting[0].Reason != v1beta1.ReasonRouteCertificateNotReady ||
		!strings.Contains(named.Waiting[0].Message, says) || named.Routes != nil {
		t.Errorf("hands on %+v, want a wait that says %q", named, says)
	}
}

// A Secret that cannot be read, or is not ours, stops everything, and the message says which.
func TestOwnSecretOutOfReach(t *testing.T) {
	unreadable := func(name string) Reference {
		return Reference{Name: name, Secret: fact.Unknown[*corev1.Secret]("forbidden")}
	}
	cases := map[string]struct {
		given   func(*lab, *World)
		waits   string
		foreign []string
	}{
		"the CA unreadable":   {given: func(_ *lab, w *World) { w.Own.CA = unreadable(caName) }, waits: "Secret demo-routes-ca cannot be read: forbidden"},
		"the pair unreadable": {given: func(_ *lab, w *World) { w.Own.TLS = unreadable(tlsName) }, waits: "Secret demo-routes-tls cannot be read: forbidden"},
		"the CA foreign":      {given: func(l *lab, _ *World) { l.ca.OwnerReferences = nil }, foreign: []string{caName}},
		"an earlier cluster's": {
			given: func(l *lab, _ *World) { l.tls.OwnerReferences[0].UID = "old" }, foreign: []string{tlsName},
		},
		"owned, not controlled": {
			given: func(l *lab, _ *World) { l.tls.OwnerReferences[0].Controller = new(false) }, foreign: []string{tlsName},
		},
		"both foreign": {
			given: func(l *lab, _ *World) { l.ca.OwnerReferences, l.tls.OwnerReferences = nil, nil }, foreign: []string{caName, tlsName},
		},
	}
	for name, test := range cases {
		t.Run(name, func(t *testing.T) {
			l := running(t)
			l.now = l.third() // there is something to do, too
			w := l.world()
			test.given(l, &w)
			plan := Decide(w, l.now)
			if plan.Action != nil || plan.Named.Routes != nil {
				t.Errorf("goes on with %v, %v", plan.Action, plan.Named.Routes)
			}
			var waits []Wait
			if test.waits != "" {
				waits = []Wait{{Reason: v1beta1.ReasonRouteCertificateNotReady, Message: test.waits}}
			}
			if diff := cmp.Diff(waits, plan.Named.Waiting); diff != "" {
				t.Errorf("waits (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.foreign, plan.Foreign); diff != "" {
				t.Errorf("foreign (-want +got):\n%s", diff)
			}
		})
	}
}

func TestNamedCertificate(t *testing.T) {
	good := func(l *lab) *corev1.Secret { return secret("mine", l.tls.Data) }
	without := func(l *lab, key string) *corev1.Secret {
		s := good(l)
		delete(s.Data, key)
		return s
	}
	cases := map[string]struct {
		given func(*lab) fact.Fact[*corev1.Secret]
		// what the client listener and the routes wait for, empty when they do not.
		client, routes string
	}{
		"good": {given: func(l *lab) fact.Fact[*corev1.Secret] { return fact.Known(good(l)) }},
		"unreadable": {
			given:  func(*lab) fact.Fact[*corev1.Secret] { return fact.Unknown[*corev1.Secret]("forbidden") },
			client: "cannot be read: forbidden", routes: "cannot be read: forbidden",
		},
		"missing": {
			given:  func(*lab) fact.Fact[*corev1.Secret] { return fact.Known[*corev1.Secret](nil) },
			client: "does not exist", routes: "does not exist",
		},
		"no certificate": {
			given:  func(l *lab) fact.Fact[*corev1.Secret] { return fact.Known(without(l, corev1.TLSCertKey)) },
			client: "has no tls.crt", routes: "has no tls.crt",
		},
		"no key": {
			given:  func(l *lab) fact.Fact[*corev1.Secret] { return fact.Known(without(l, corev1.TLSPrivateKeyKey)) },
			client: "has no tls.key", routes: "has no tls.key",
		},
		"no CA": {
			given:  func(l *lab) fact.Fact[*corev1.Secret] { return fact.Known(without(l, render.KeyCA)) },
			routes: "has no certificate in ca.crt",
		},
		"a CA that is no certificate": {
			given: func(l *lab) fact.Fact[*corev1.Secret] {
				s := good(l)
				s.Data[render.KeyCA] = s.Data[corev1.TLSPrivateKeyKey]
				return fact.Known(s)
			},
			routes: "has no certificate in ca.crt",
		},
		"a key of another certificate": {
			given: func(l *lab) fact.Fact[*corev1.Secret] {
				s := good(l)
				s.Data[corev1.TLSPrivateKeyKey] = l.ca.Data[corev1.TLSPrivateKeyKey]
				return fact.Known(s)
			},
			client: "cannot be used together", routes: "cannot be used together",
		},
		"expired": {
			given: func(l *lab) fact.Fact[*corev1.Secret] {
				l.now = birth.Add(lifeOfCertificate + time.Second)
				return fact.Known(good(l))
			},
			client: "expired on 2027-11-29", routes: "expired on 2027-11-29",
		},
		"in its last second": {
			given: func(l *lab) fact.Fact[*corev1.Secret] {
				l.now = birth.Add(lifeOfCertificate)
				return fact.Known(good(l))
			},
		},
		"not yet valid": {
			given: func(l *lab) fact.Fact[*corev1.Secret] {
				l.now = birth.Add(-2 * time.Hour)
				return fact.Known(good(l))
			},
			client: "valid only from 2026-11-29T11:00:00Z", routes: "valid only from 2026-11-29T11:00:00Z",
		},
		"another CA": {
			given: func(l *lab) fact.Fact[*corev1.Secret] {
				s := good(l)
				s.Data[render.KeyCA] = running(l.fataler).tls.Data[render.KeyCA]
				return fact.Known(s)
			},
			routes: "does not vouch for",
		},
		"other names": {
			given: func(l *lab) fact.Fact[*corev1.Secret] {
				w := l.world()
				w.RouteDomain = "other-headless.messaging.svc"
				_, data, _ := w.data(Action{Kind: Issue}, l.now)
				return fact.Known(secret("mine", data))
			},
			routes: "is not valid for demo-0-0.demo-headless.messaging.svc",
		},
	}
	for name, test := range cases {
		t.Run(name, func(t *testing.T) {
			l := running(t)
			reference := &Reference{Name: "mine", Secret: test.given(l)}
			plan := Decide(World{
				Client: reference, Routes: reference,
				RouteHosts: []string{"demo-0-0." + testDomain, "demo-1-0." + testDomain},
			}, l.now)
			if plan.Action != nil || plan.Foreign != nil {
				t.Errorf("would write a named Secret: %+v", plan)
			}
			said := map[string]string{}
			for _, wait := range plan.Named.Waiting {
				said[wait.Reason] = wait.Message
			}
			says(t, said[v1beta1.ReasonClientCertificateNotReady], test.client, plan.Named.Client)
			says(t, said[v1beta1.ReasonRouteCertificateNotReady], test.routes, plan.Named.Routes)
			if len(plan.Named.Waiting) == 2 && plan.Named.Waiting[0].Reason != v1beta1.ReasonClientCertificateNotReady {
				t.Error("the client listener's wait is not the first")
			}
		})
	}
}

// says holds that a certificate is either handed on or waited for, with the Secret's name and what is wanted.
func says(t *testing.T, got, want string, handedOn *render.Certificate) {
	t.Helper()
	if (handedOn != nil) != (want == "") || (got == "") != (want == "") {
		t.Errorf("hands on %v and says %q, want %q", handedOn, got, want)
	}
	if want != "" && (!strings.HasPrefix(got, "Secret mine ") || !strings.Contains(got, want)) {
		t.Errorf("says %q, want %q", got, want)
	}
}

// A digest moves with what the server reads, and with nothing else.
func TestDigests(t *testing.T) {
	l := running(t)
	base := secret("mine", l.tls.Data)
	client, routes := clientCertificate(base), routesCertificate(base)
	if !client.CA || !routes.CA || client.Digest == routes.Digest {
		t.Fatalf("client %+v, routes %+v", client, routes)
	}
	cases := map[string]struct {
		change         func(map[string][]byte)
		client, routes bool // moves
	}{
		"the certificate": {func(d map[string][]byte) { d[corev1.TLSCertKey] = []byte("x") }, true, true},
		"the key":         {func(d map[string][]byte) { d[corev1.TLSPrivateKeyKey] = []byte("x") }, true, true},
		"the CA":          {func(d map[string][]byte) { d[render.KeyCA] = []byte("x") }, false, true},
		"another key":     {func(d map[string][]byte) { d["note"] = []byte("x") }, false, false},
		"a byte that moves from one to the next": {func(d map[string][]byte) {
			certificate := d[corev1.TLSCertKey]
			last := len(certificate) - 1
			d[corev1.TLSPrivateKeyKey] = append([]byte{certificate[last]}, d[corev1.TLSPrivateKeyKey]...)
			d[corev1.TLSCertKey] = certificate[:last]
		}, true, true},
	}
	for name, test := range cases {
		t.Run(name, func(t *testing.T) {
			changed := base.DeepCopy()
			changed.ResourceVersion = "42"
			test.change(changed.Data)
			if got := clientCertificate(changed).Digest != client.Digest; got != test.client {
				t.Errorf("the client's digest moves: %v", got)
			}
			if got := routesCertificate(changed).Digest != routes.Digest; got != test.routes {
				t.Errorf("the routes' digest moves: %v", got)
			}
		})
	}
}
