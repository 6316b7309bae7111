package natscluster

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go"
	"github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-dev/holdfast/api/nats/cluster/v1beta1"
	"github.com/holdfast-dev/holdfast/internal/nats/sysapi/minted"
	"github.com/holdfast-dev/holdfast/test/sim/authority"
)

// selfSigned is a Secret with a certificate for the host, and what a client trusts it by.
func selfSigned(t *testing.T, name, host string) (*corev1.Secret, *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: host}, DNSNames: []string{host},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	secret := secretNamed(name)
	secret.Type = corev1.SecretTypeTLS
	certificate := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	secret.Data = map[string][]byte{
		corev1.TLSCertKey: certificate, corev1.TLSPrivateKeyKey: pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}),
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(certificate)
	return secret, pool
}

// serves fails unless each server shows clients a certificate that the pool trusts.
func (l *lab) serves(pool *x509.CertPool, host string, servers ...string) {
	l.Helper()
	for _, server := range servers {
		connection, err := nats.Connect(strings.Replace(l.clientURL(server), "nats://", "tls://", 1),
			nats.Secure(&tls.Config{RootCAs: pool, ServerName: host}), nats.Timeout(10*time.Second))
		if err != nil {
			l.Errorf("%s: %v", server, err)
			continue
		}
		connection.Close()
	}
}

// poke has the controller look again, as any change of an object of its own does.
func (l *lab) poke(service string) {
	l.Helper()
	body := []byte(`{"metadata":{"annotations":{"poked":"` + time.Now().Format(time.RFC3339Nano) + `"}}}`)
	object := get(l, service, &corev1.Service{})
	if err := l.client.Patch(l.Context(), object, client.RawPatch("application/merge-patch+json", body), client.FieldOwner("kubectl-annotate")); err != nil {
		l.Fatal(err)
	}
}

// TestClientCertificate waits for a named certificate, twice, and brings a renewed one to the servers.
func TestClientCertificate(t *testing.T) {
	t.Parallel()
	l := start(t)
	host := "relay." + l.namespace + ".svc"
	cluster := plain("relay", 3)
	cluster.Spec.TLS = &v1beta1.ListenerTLS{SecretRef: v1beta1.SecretReference{Name: "relay-client"}}
	l.create(cluster)
	missing := func(cluster *v1beta1.NatsCluster) bool {
		c := condition(cluster, v1beta1.ConditionProgressing)
		return c.Reason == v1beta1.ReasonClientCertificateNotReady && strings.Contains(c.Message, "relay-client")
	}
	waiting := l.until("relay", "waiting", missing)
	if found := append(l.ours(&appsv1.StatefulSetList{}), l.ours(&corev1.ConfigMapList{})...); len(found) > 0 || waiting.Status.Config.Revision != "" {
		t.Errorf("without the certificate: %v, revision %q", found, waiting.Status.Config.Revision)
	}

	secret, pool := selfSigned(t, "relay-client", host)
	l.create(secret.DeepCopy())
	running := l.untilAtRest("relay")
	if running.Status.Endpoints.Client != "tls://"+host+":4222" {
		t.Error(running.Status.Endpoints.Client)
	}
	l.serves(pool, host, "relay-0", "relay-1", "relay-2")
	from := l.mark()

	l.delete(get(l, "relay-client", &corev1.Secret{}))
	l.poke("relay")
	waiting = l.until("relay", "waiting", missing)
	if diff := cmp.Diff(running.Status.Config, waiting.Status.Config); diff != "" || *waiting.Status.ReadyReplicas != 3 {
		t.Errorf("while it is missing: %s, %d ready", diff, *waiting.Status.ReadyReplicas)
	}
	l.create(secret.DeepCopy())
	l.untilAtRest("relay")
	if stops := l.stops(from); len(stops) > 0 {
		t.Errorf("the same certificate restarted %v", stops)
	}

	before := l.processes()
	renewed, pool := selfSigned(t, "relay-client", host)
	live := get(l, "relay-client", &corev1.Secret{})
	live.Data = renewed.Data
	if err := l.client.Update(t.Context(), live); err != nil {
		t.Fatal(err)
	}
	// Nobody tells the controller: it reads the Secret again by itself.
	l.Eventually(func() []string { return l.stops(from) }).Should(gomega.HaveLen(3))
	cluster = l.untilAtRest("relay")
	l.oneAtATime(from)
	l.allNew(before)
	l.serves(pool, host, "relay-0", "relay-1", "relay-2")
	if cluster.Status.Config.RestartReason != "a certificate is restart-only without auth.systemCredentials" {
		t.Errorf("restartReason %q", cluster.Status.Config.RestartReason)
	}
}

// TestRouteCertificate renews the certificate that the controller keeps itself when a third of its life is left. The
// controller's clock begins in the past: nats-server's cannot be moved, and has to find both certificates valid.
func TestRouteCertificate(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.startKubelet()
	const day = 24 * time.Hour
	now := time.Now()
	clock := clocktesting.NewFakePassiveClock(now.Add(-244 * day))
	l.startController(controllerOptions{clock: clock})
	l.create(withJetStream("demo", 3))
	l.untilAtRest("demo")
	leaf, authority := get(l, "demo-routes-tls", &corev1.Secret{}), get(l, "demo-routes-ca", &corev1.Secret{})
	from, before := l.mark(), l.processes()

	clock.SetTime(now.Add(-2 * day)) // 242 days after its issue: due is what has 243 days and a third behind it
	writes := l.watchWrites(written()...)
	l.poke("demo")
	// A spec that changes nothing for the servers, so that a pass at the new time is seen.
	l.change("demo", func(spec *v1beta1.NatsClusterSpec) { spec.Exporter.Enabled = new(true) })
	l.untilAtRest("demo")
	for _, write := range writes() {
		if !strings.Contains(write, "kubectl-annotate") {
			t.Error("before it is due:", write)
		}
	}

	clock.SetTime(now)
	l.poke("demo")
	l.Eventually(func() []string { return l.stops(from) }).Should(gomega.HaveLen(3))
	cluster := l.untilAtRest("demo")
	l.oneAtATime(from)
	l.allNew(before)
	renewed := get(l, "demo-routes-tls", &corev1.Secret{})
	if string(renewed.Data[corev1.TLSCertKey]) == string(leaf.Data[corev1.TLSCertKey]) {
		t.Error("the certificate is the old one")
	}
	if now := get(l, "demo-routes-ca", &corev1.Secret{}); now.ResourceVersion != authority.ResourceVersion {
		t.Error("the CA was written")
	}
	if cluster.Status.Config.RestartReason != "a certificate is restart-only without auth.systemCredentials" {
		t.Errorf("restartReason %q", cluster.Status.Config.RestartReason)
	}
}

// newAuthority is valid for a year back, as the controller's clock may be.
func newAuthority(t *testing.T) *authority.Authority {
	t.Helper()
	now := time.Now()
	ca, err := authority.New("ca"+now.String(), now.AddDate(-1, 0, 0), now.AddDate(1, 0, 0))
	if err != nil {
		t.Fatal(err)
	}
	return ca
}

// pair is what a Secret holds of a new certificate for the host.
func pair(t *testing.T, ca *authority.Authority, host string, life time.Duration) map[string][]byte {
	t.Helper()
	now := time.Now()
	data, err := ca.Issue(now.AddDate(-1, 0, 0), now.Add(life), host)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func tlsSecret(name string, data map[string][]byte) *corev1.Secret {
	secret := secretNamed(name)
	secret.Type, secret.Data = corev1.SecretTypeTLS, data
	return secret
}

// replaceSecret is a user who puts another certificate in place.
func (l *lab) replaceSecret(name string, data map[string][]byte) {
	l.Helper()
	live := get(l, name, &corev1.Secret{})
	live.Data = data
	if err := l.client.Update(l.Context(), live); err != nil {
		l.Fatal(err)
	}
}

// TestRenewedCertificatesAreLoaded: with a system user neither listener's certificate costs a restart.
func TestRenewedCertificatesAreLoaded(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.startKubelet()
	now := time.Now()
	clock := clocktesting.NewFakePassiveClock(now.AddDate(0, 0, -244))
	l.startController(controllerOptions{monitor: closed{}, clock: clock})
	operator, ca, host := minted.NewOperator("main"), newAuthority(t), "demo."+l.namespace+".svc"
	cluster := trusting(withJetStream("demo", 3))
	cluster.Spec.TLS = &v1beta1.ListenerTLS{SecretRef: v1beta1.SecretReference{Name: "demo-client"}}
	l.create(trust(operator), credentials(operator), tlsSecret("demo-client", pair(t, ca, host, time.Hour)), cluster)
	l.untilAtRest("demo")
	l.untilMeshed("demo-0", "demo-1", "demo-2")
	before, routes := l.processes(), l.varz("demo-0").Cluster.CertificateEnds

	renewed := pair(t, ca, host, 2*time.Hour)
	l.replaceSecret("demo-client", renewed)
	clock.SetTime(now)
	l.poke("demo")
	shows := func(server string) bool {
		block, _ := pem.Decode(renewed[corev1.TLSCertKey])
		var shown []byte
		config := &tls.Config{RootCAs: ca.Pool(), ServerName: host, VerifyPeerCertificate: func(raw [][]byte, _ [][]*x509.Certificate) error {
			shown = raw[0]
			return nil
		}}
		// Nobody is let in without credentials, and everybody is shown the certificate.
		if connection, err := nats.Connect(strings.Replace(l.clientURL(server), "nats://", "tls://", 1), nats.Secure(config), nats.Timeout(10*time.Second)); err == nil {
			connection.Close()
		}
		return bytes.Equal(shown, block.Bytes) && l.varz(server).Cluster.CertificateEnds.After(routes)
	}
	for server := range before {
		l.Eventually(func() bool { return shows(server) }).Should(gomega.BeTrue(), server)
	}
	after := l.untilAtRest("demo")
	if got := l.processes(); !cmp.Equal(before, got) {
		t.Errorf("%v before, %v after; want the same processes", before, got)
	}
	if after.Status.Config.AppliedBy != v1beta1.ApplyReload || after.Status.Rollout != nil {
		t.Errorf("%+v, rollout %+v", after.Status.Config, after.Status.Rollout)
	}
}

// TestRoutesOfAnUnrelatedAuthority: without JetStream nothing but the routes themselves tells that the first restarted server
// is cut off, and the rollout waits there.
func TestRoutesOfAnUnrelatedAuthority(t *testing.T) {
	t.Parallel()
	l := start(t)
	unrelated := func() map[string][]byte {
		return pair(t, newAuthority(t), "*.demo-headless."+l.namespace+".svc", time.Hour)
	}
	l.create(tlsSecret("routes", unrelated()))
	cluster := plain("demo", 3)
	cluster.Spec.Routes.TLS.SecretRef.Name = "routes"
	l.create(cluster)
	l.untilAtRest("demo")
	from := l.mark()
	good := get(l, "routes", &corev1.Secret{}).Data
	replace := func(data map[string][]byte) {
		l.replaceSecret("routes", data)
		l.poke("demo")
	}
	replace(unrelated())
	l.untilProgress("has routes to")
	l.Consistently(func() []string { return l.stops(from) }).WithTimeout(10 * time.Second).Should(gomega.Equal([]string{"demo-2"}))
	replace(good)
	l.untilAtRest("demo")
}
