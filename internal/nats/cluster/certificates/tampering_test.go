package certificates

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"testing"
	"time"
)

// A user replaces the pair in demo-routes-tls by one of an authority of their own (kubectl create secret tls … | kubectl
// replace), with its ca.crt. Our CA is there all the while. Then the first server of the rollout restarts.
func TestAReplacedPairIsReissued(t *testing.T) {
	l := running(t)
	other := running(t) // another authority for the same names
	l.each(func(s *simulated) { s.given = s.digest })
	l.tls, l.edited = secret(tlsName, other.tls.Data), true
	did, plan := l.settle()
	l.start(2)
	if why := l.distrust(); why != "" {
		t.Errorf("after %v (handed on: %v) %s", did, plan.Named.Routes != nil, why)
	}
	l.start(0, 1)
	if !l.whole() {
		t.Error("the servers do not end with a certificate of our own")
	}
}

// What a Pod was started with is trusted by it, whoever wrote it, and so may be what nobody knows of: then our CA is put beside it
// first.
func TestAReplacedPairThatMayBeInUse(t *testing.T) {
	for name, meanwhile := range map[string]func(*lab){
		"a Pod was started with it":    func(l *lab) { l.start(2) },
		"the Pods are not known":       func(l *lab) { l.unknown = "no list" },
		"one Pod was, another is gone": func(l *lab) { l.start(1); l.servers[0].exists = false },
		"a Pod was given it since": func(l *lab) {
			l.each(func(s *simulated) { s.given = s.digest })
			l.servers[1].given = routesCertificate(l.tls).Digest
		},
	} {
		t.Run(name, func(t *testing.T) {
			l := running(t)
			l.tls, l.edited = secret(tlsName, running(t).tls.Data), true
			meanwhile(l)
			if plan := Decide(l.world(), l.now); plan.Action == nil || plan.Action.Kind != Trust {
				t.Errorf("%+v, want %s", plan.Action, Trust)
			}
		})
	}
}

// A clock that jumps and comes back leaves the servers trusting each other.
func TestTheClockJumps(t *testing.T) {
	l := running(t)
	for _, jump := range []int{-2, 400, -400, 4000, -4000, 11} {
		l.now = l.now.AddDate(0, 0, jump)
		l.settle()
	}
	l.now = birth
	l.settle()
	l.start(2)
	if why := l.distrust(); why != "" {
		t.Errorf("clock jumps: %s", why)
	}
}

// A user replaces our CA by one of theirs that may sign for servers alone, as corporate CAs do.
func TestACAThatCannotVouchForClients(t *testing.T) {
	l := running(t)
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		Subject: pkix.Name{CommonName: "corporate"}, NotBefore: l.now.Add(-time.Hour), NotAfter: l.now.AddDate(9, 0, 0), IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	data, err := sign(template, template, key, key)
	if err != nil {
		t.Fatal(err)
	}
	l.ca = secret(caName, data)
	l.settle()
	l.start(0, 1, 2)
	l.settle()
}
