// Package authority signs certificates for tests.
package authority

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// An Authority signs certificates.
type Authority struct {
	certificate *x509.Certificate
	key         crypto.PrivateKey
}

// New makes one that is valid for that time.
func New(name string, from, to time.Time) (*Authority, error) {
	template := &x509.Certificate{
		Subject: pkix.Name{CommonName: name}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
		NotBefore: from, NotAfter: to,
	}
	certificate, key, err := (*Authority)(nil).sign(template)
	if err != nil {
		return nil, err
	}
	return Of(certificate, key)
}

// Of is the one with that certificate and key, as PEM.
func Of(certificate, key []byte) (*Authority, error) {
	pair, err := tls.X509KeyPair(certificate, key)
	if err != nil {
		return nil, err
	}
	return &Authority{certificate: pair.Leaf, key: pair.PrivateKey}, nil
}

// Pool has this authority alone.
func (a *Authority) Pool() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(a.certificate)
	return pool
}

// Issue makes a certificate for those names, as a Secret for a listener holds it.
func (a *Authority) Issue(from, to time.Time, names ...string) (map[string][]byte, error) {
	certificate, key, err := a.sign(&x509.Certificate{
		Subject: pkix.Name{CommonName: names[0]}, DNSNames: names, NotBefore: from, NotAfter: to,
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	})
	return map[string][]byte{
		corev1.TLSCertKey: certificate, corev1.TLSPrivateKeyKey: key, "ca.crt": encode("CERTIFICATE", a.certificate.Raw),
	}, err
}

// sign gives the template a serial number and a key. Without an authority it is signed by that key itself.
func (a *Authority) sign(template *x509.Certificate) (certificate, key []byte, err error) {
	template.SerialNumber = big.NewInt(time.Now().UnixNano())
	own, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	by := &Authority{certificate: template, key: own}
	if a != nil {
		by = a
	}
	der, err := x509.CreateCertificate(rand.Reader, template, by.certificate, own.Public(), by.key)
	if err != nil {
		return nil, nil, err
	}
	private, err := x509.MarshalPKCS8PrivateKey(own)
	return encode("CERTIFICATE", der), encode("PRIVATE KEY", private), err
}

func encode(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}
