package lab

import (
	"bufio"
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// An Authority signs certificates.
type Authority struct {
	certificate *x509.Certificate
	key         crypto.PrivateKey
}

// NewAuthority makes one that lives for a day.
func NewAuthority(name string) (*Authority, error) {
	template := &x509.Certificate{
		Subject: pkix.Name{CommonName: name}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
	}
	certificate, key, err := (*Authority)(nil).sign(template)
	if err != nil {
		return nil, err
	}
	return AuthorityOf(certificate, key)
}

// AuthorityOf is the one with that certificate and key, as PEM.
func AuthorityOf(certificate, key []byte) (*Authority, error) {
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

// Shown is the certificate that a listener shows, which the configuration has to admit. A client listener greets in the
// clear first.
func (l *Lab) Shown(ctx context.Context, address string, config *tls.Config, greets bool) (*x509.Certificate, error) {
	connection, err := l.Cluster.Dial(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	defer connection.Close()
	if err := connection.SetDeadline(time.Now().Add(5 * time.Second)); err != nil {
		return nil, err
	}
	if greets { // by one line, after which it waits
		if _, err := bufio.NewReader(connection).ReadString('\n'); err != nil {
			return nil, fmt.Errorf("%s does not greet: %w", address, err)
		}
	}
	client := tls.Client(connection, config)
	if err := client.HandshakeContext(ctx); err != nil {
		return nil, fmt.Errorf("TLS with %s: %w", address, err)
	}
	return client.ConnectionState().PeerCertificates[0], nil
}
