// Package certificaterenewal is the story of renewed certificates that running servers take over under load.
package certificaterenewal

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"embed"
	"net"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-dev/holdfast/test/sim/authority"
	"github.com/holdfast-dev/holdfast/test/stories/lab"
)

//go:embed *.yaml
var files embed.FS

const day = 24 * time.Hour

// Run tells the story.
func Run(s *lab.Story) {
	ctx := s.Context()
	trust := s.Trust()
	cluster := s.Create(files)
	trust.Admit(3)
	book := s.Load(cluster)
	processes := s.Running()
	keeper, first := read(s, "demo-routes-ca"), leaf(s, read(s, "demo-routes-tls"))
	routes, err := authority.Of(keeper.Data[corev1.TLSCertKey], keeper.Data[corev1.TLSPrivateKeyKey])
	s.Must(err)

	s.Must(book.Mark(ctx, "certificate-renewal"))
	renewed := replace(s, "demo-client", trust.ClientCertificate(20*time.Hour))
	now := time.Now()
	aged, err := routes.Issue(now.Add(-3*day), now.Add(day), first.DNSNames...) // a quarter of its life is left
	s.Must(err)
	due := replace(s, "demo-routes-tls", aged)

	untilShown(s, "4222", renewed, func(string) *tls.Config { return trust.TLS() }, true)
	var issued *x509.Certificate
	s.Must(lab.Until(ctx, 2*time.Minute, "another route certificate", func(context.Context) (bool, string) {
		issued = leaf(s, read(s, "demo-routes-tls"))
		return !issued.Equal(due) && !issued.Equal(first), "one that ends at " + issued.NotAfter.String()
	}))
	untilShown(s, "6222", issued, func(pod string) *tls.Config {
		return &tls.Config{MinVersion: tls.VersionTLS13, RootCAs: routes.Pool(), ServerName: pod + ".demo-headless." + s.Namespace + ".svc"}
	}, false)
	after := s.UpToDate(6 * time.Minute)
	s.Must(book.End(ctx))

	s.Restarted(processes)
	s.Meshed(3)
	if after.Status.Config.RestartReason != "" || after.Status.Rollout != nil {
		s.Errorf("%+v, rollout %+v", after.Status.Config, after.Status.Rollout)
	}
	if again := read(s, "demo-routes-ca"); again.ResourceVersion != keeper.ResourceVersion {
		s.Error("the authority of the routes was written")
	}
	s.Conclude(book)
}

func read(s *lab.Story, name string) *corev1.Secret {
	s.Helper()
	secret := &corev1.Secret{}
	s.Must(s.Client.Get(s.Context(), client.ObjectKey{Namespace: s.Namespace, Name: name}, secret))
	return secret
}

// leaf is the certificate in a Secret.
func leaf(s *lab.Story, secret *corev1.Secret) *x509.Certificate {
	s.Helper()
	pair, err := tls.X509KeyPair(secret.Data[corev1.TLSCertKey], secret.Data[corev1.TLSPrivateKeyKey])
	s.Must(err)
	return pair.Leaf
}

// replace puts a certificate of the same authority into the Secret, and returns it.
func replace(s *lab.Story, name string, data map[string][]byte) *x509.Certificate {
	s.Helper()
	secret := read(s, name)
	if string(secret.Data["ca.crt"]) != string(data["ca.crt"]) {
		s.Fatalf("the certificate for %s is of another authority", name)
	}
	before := secret.DeepCopy()
	secret.Data = data
	s.Must(s.Client.Patch(s.Context(), secret, client.MergeFrom(before), client.FieldOwner(lab.FieldOwner)))
	return leaf(s, secret)
}

// untilShown waits until every server's listener at that port shows the certificate.
func untilShown(s *lab.Story, port string, wanted *x509.Certificate, config func(pod string) *tls.Config, greets bool) {
	s.Helper()
	s.Must(lab.Until(s.Context(), 5*time.Minute, "the renewed certificate at port "+port, func(ctx context.Context) (bool, string) {
		pods, err := s.Pods(ctx, s.Namespace, "demo")
		if err != nil {
			return false, err.Error()
		}
		for name, pod := range pods {
			shown, err := s.Shown(ctx, net.JoinHostPort(pod.Status.PodIP, port), config(name), greets)
			if err != nil {
				return false, name + ": " + err.Error()
			}
			if !shown.Equal(wanted) {
				return false, name + " shows one that ends at " + shown.NotAfter.String()
			}
		}
		return len(pods) == 3, "fewer Pods"
	}))
}
