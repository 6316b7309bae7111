package certificates

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-dev/holdfast/api/nats/cluster/v1beta1"
	"github.com/holdfast-dev/holdfast/internal/kit/apply"
	"github.com/holdfast-dev/holdfast/internal/nats/cluster/render"
)

const (
	year = 365 * 24 * time.Hour
	// lifeOfCA and lifeOfCertificate are counted from the issue on.
	lifeOfCA          = 10 * year
	lifeOfCertificate = year
	// backdated is how much earlier a certificate is valid: clocks differ.
	backdated = time.Hour
	// maxSteps bounds the writes of one pass: a CA, its renewal and a certificate are the most that a state needs.
	maxSteps = 4
)

// Keep brings the certificates of a NatsCluster up to date and returns them. A Secret of a name that is needed and
// that somebody else controls gives an *apply.ForeignError. Any other error is the API server's: a conflict means
// that somebody else wrote at the same moment.
func Keep(ctx context.Context, applier *apply.Applier, cluster *v1beta1.NatsCluster, now time.Time) (Named, error) {
	for range maxSteps {
		w := observe(ctx, applier.Client, applier.Reader, cluster)
		if w.Own != nil {
			if secret, _ := w.Own.TLS.Secret.Get(); secret != nil {
				w.Own.Edited = !applier.Owns(secret, "data", corev1.TLSCertKey)
			}
		}
		plan := Decide(w, now)
		if len(plan.Foreign) > 0 {
			return plan.Named, foreign(cluster, plan.Foreign)
		}
		if plan.Action == nil {
			return plan.Named, nil
		}
		if err := act(ctx, applier, cluster, w, *plan.Action, now); err != nil {
			return plan.Named, err
		}
	}
	return Named{}, fmt.Errorf("the route certificate of %s is not at rest after %d writes: is somebody else writing %s?",
		cluster.Name, maxSteps, render.RoutesSecretName(cluster.Name))
}

func foreign(cluster *v1beta1.NatsCluster, names []string) error {
	errs := make([]error, 0, len(names))
	for _, name := range names {
		errs = append(errs, &apply.ForeignError{Kind: "Secret", Namespace: cluster.Namespace, Name: name})
	}
	return errors.Join(errs...)
}

// act writes one Secret, as it was when the action was decided or not at all.
func act(ctx context.Context, applier *apply.Applier, cluster *v1beta1.NatsCluster, w World, action Action, now time.Time) error {
	name, data, err := w.data(action, now)
	if err != nil {
		return fmt.Errorf("%s for the routes of %s: %w", action.Kind, cluster.Name, err)
	}
	secret := &corev1.Secret{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"},
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: cluster.Namespace, Labels: render.Labels(cluster.Name)},
		Type:       corev1.SecretTypeTLS,
		Data:       data,
	}
	var at apply.Precondition // of a Secret that must not exist
	for _, of := range []Reference{w.Own.CA, w.Own.TLS} {
		if seen, _ := of.Secret.Get(); of.Name == name && seen != nil {
			at = apply.At(seen)
		}
	}
	return applier.ApplyAt(ctx, cluster, secret, at)
}

// data is what the action writes into which Secret.
func (w World) data(action Action, now time.Time) (name string, data map[string][]byte, err error) {
	caSecret, _ := w.Own.CA.Secret.Get()
	ca := authorityOf(caSecret)
	switch action.Kind {
	case CreateCA:
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			return "", nil, err
		}
		data, err = w.signCA(key, now)
		return w.Own.CA.Name, data, err
	case RenewCA:
		data, err = w.signCA(ca.key, now)
		return w.Own.CA.Name, data, err
	case Trust:
		tlsSecret, _ := w.Own.TLS.Secret.Get()
		data = map[string][]byte{
			corev1.TLSCertKey:       tlsSecret.Data[corev1.TLSCertKey],
			corev1.TLSPrivateKeyKey: tlsSecret.Data[corev1.TLSPrivateKeyKey],
		}
	case Issue:
		if data, err = w.signLeaf(ca, now); err != nil {
			return "", nil, err
		}
	}
	data[render.KeyCA] = encodeAll(append([]*x509.Certificate{ca.certificate}, action.Also...)...)
	return w.Own.TLS.Name, data, nil
}

func (w World) signCA(key *ecdsa.PrivateKey, now time.Time) (map[string][]byte, error) {
	template := &x509.Certificate{
		// One name for all certificates of the key, or an earlier one would not vouch for what a later one signs.
		Subject:               pkix.Name{CommonName: w.Cluster + " route CA"},
		NotBefore:             now.Add(-backdated),
		NotAfter:              now.Add(lifeOfCA),
		IsCA:                  true,
		BasicConstraintsValid: true,
		MaxPathLenZero:        true,
		KeyUsage:              x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
	return sign(template, template, key, key)
}

func (w World) signLeaf(ca authority, now time.Time) (map[string][]byte, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		Subject:     pkix.Name{CommonName: w.Cluster + " routes"},
		DNSNames:    routeNames(w.RouteDomain),
		NotBefore:   now.Add(-backdated),
		NotAfter:    now.Add(lifeOfCertificate),
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	return sign(template, ca.certificate, key, ca.key)
}

// sign gives the template a serial number and returns the certificate and its key as a Secret holds them.
func sign(template, parent *x509.Certificate, key, by *ecdsa.PrivateKey) (map[string][]byte, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return nil, err
	}
	template.SerialNumber = serial.Add(serial, big.NewInt(1)) // zero is not allowed
	certificate, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), by)
	if err != nil {
		return nil, err
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, err
	}
	return map[string][]byte{
		corev1.TLSCertKey:       pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate}),
		corev1.TLSPrivateKeyKey: pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}),
	}, nil
}
