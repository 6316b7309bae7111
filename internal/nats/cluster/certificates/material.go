package certificates

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"encoding/hex"
	"encoding/pem"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/holdfast-dev/holdfast/internal/nats/cluster/render"
)

// A pair is a certificate with its key, as a Secret of type kubernetes.io/tls holds it.
type pair struct {
	leaf *x509.Certificate
	// above are the certificates that lie below the leaf in tls.crt.
	above *x509.CertPool
}

// pairOf reads tls.crt and tls.key; the problem says what is wrong with them, empty when nothing is.
func pairOf(secret *corev1.Secret) (p pair, problem string) {
	for _, key := range []string{corev1.TLSCertKey, corev1.TLSPrivateKeyKey} {
		if len(secret.Data[key]) == 0 {
			return pair{}, "has no " + key
		}
	}
	read, err := tls.X509KeyPair(secret.Data[corev1.TLSCertKey], secret.Data[corev1.TLSPrivateKeyKey])
	if err != nil {
		return pair{}, fmt.Sprintf("has a tls.crt and tls.key that cannot be used together (%v)", err)
	}
	p = pair{leaf: read.Leaf, above: x509.NewCertPool()}
	for _, der := range read.Certificate[1:] {
		if above, err := x509.ParseCertificate(der); err == nil {
			p.above.AddCert(above)
		}
	}
	return p, ""
}

// expiry says that the certificate is not valid at that time; empty when it is.
func expiry(certificate *x509.Certificate, now time.Time) string {
	switch {
	case now.After(certificate.NotAfter):
		return "has a certificate that expired on " + certificate.NotAfter.UTC().Format(time.DateOnly)
	case now.Before(certificate.NotBefore):
		return "has a certificate that is valid only from " + certificate.NotBefore.UTC().Format(time.RFC3339)
	}
	return ""
}

// rootsOf reads the certificates in a PEM text and leaves out what is none.
func rootsOf(text []byte) []*x509.Certificate {
	var out []*x509.Certificate
	for {
		var block *pem.Block
		if block, text = pem.Decode(text); block == nil {
			return out
		}
		if certificate, err := x509.ParseCertificate(block.Bytes); err == nil {
			out = append(out, certificate)
		}
	}
}

func pool(of []*x509.Certificate) *x509.CertPool {
	out := x509.NewCertPool()
	for _, certificate := range of {
		out.AddCert(certificate)
	}
	return out
}

// servesRoutes says why the certificate is no good between servers that trust those roots: each server shows it
// as the one that dials and as the one that is dialled, under its own name. Empty when it is good.
func (p pair) servesRoutes(roots []*x509.Certificate, hosts []string, now time.Time) string {
	for _, usage := range []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth} {
		_, err := p.leaf.Verify(x509.VerifyOptions{
			Roots: pool(roots), Intermediates: p.above, CurrentTime: now, KeyUsages: []x509.ExtKeyUsage{usage},
		})
		if err != nil {
			return fmt.Sprintf("has a certificate that its ca.crt does not vouch for, for servers and clients both (%v)", err)
		}
	}
	for _, host := range hosts {
		if p.leaf.VerifyHostname(host) != nil {
			return fmt.Sprintf("has a certificate that is not valid for %s", host)
		}
	}
	return ""
}

// digestOf identifies what the servers read.
func digestOf(secret *corev1.Secret, keys ...string) string {
	sum := sha256.New()
	for _, key := range keys {
		data := secret.Data[key]
		var length [8]byte
		binary.BigEndian.PutUint64(length[:], uint64(len(data)))
		sum.Write(length[:]) // or one file's end could pass for another's beginning
		sum.Write(data)
	}
	return hex.EncodeToString(sum.Sum(nil)[:8])
}

// clientCertificate is what the client listener reads of the Secret.
func clientCertificate(secret *corev1.Secret) *render.Certificate {
	return &render.Certificate{
		SecretName: secret.Name,
		Digest:     digestOf(secret, corev1.TLSCertKey, corev1.TLSPrivateKeyKey),
		Ends:       endOf(secret),
		CA:         len(secret.Data[render.KeyCA]) > 0,
	}
}

// routesCertificate is what the route listener reads of the Secret.
func routesCertificate(secret *corev1.Secret) *render.Certificate {
	return &render.Certificate{
		SecretName:  secret.Name,
		Digest:      routesDigest(secret),
		Authorities: authoritiesOf(secret),
		Ends:        endOf(secret),
		CA:          true,
	}
}

// routesDigest identifies what the route listener reads of the Secret.
func routesDigest(secret *corev1.Secret) string {
	return digestOf(secret, corev1.TLSCertKey, corev1.TLSPrivateKeyKey, render.KeyCA)
}

// endOf is when the certificate ends; zero when the pair cannot be used.
func endOf(secret *corev1.Secret) time.Time {
	if pair, problem := pairOf(secret); problem == "" {
		return pair.leaf.NotAfter
	}
	return time.Time{}
}

// authoritiesOf identifies whom ca.crt vouches for: names and keys, in any order.
func authoritiesOf(secret *corev1.Secret) string {
	var each []string
	for _, root := range rootsOf(secret.Data[render.KeyCA]) {
		each = append(each, string(root.RawSubject)+string(root.RawSubjectPublicKeyInfo))
	}
	slices.Sort(each)
	sum := sha256.Sum256([]byte(strings.Join(slices.Compact(each), "")))
	return hex.EncodeToString(sum[:8])
}

// encodeAll writes certificates as PEM.
func encodeAll(of ...*x509.Certificate) []byte {
	var out bytes.Buffer
	for _, certificate := range of {
		out.Write(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate.Raw}))
	}
	return out.Bytes()
}

// authority is a CA with its key: nil where there is none. The certificate is nil, too, when it is not the key's.
type authority struct {
	key         *ecdsa.PrivateKey
	certificate *x509.Certificate
}

// vouchesForRoutes says that a CA may sign for servers and clients both, as each end of a route is both.
func vouchesForRoutes(ca *x509.Certificate) bool {
	may := func(usage x509.ExtKeyUsage) bool {
		return len(ca.ExtKeyUsage) == 0 || slices.Contains(ca.ExtKeyUsage, usage) || slices.Contains(ca.ExtKeyUsage, x509.ExtKeyUsageAny)
	}
	return may(x509.ExtKeyUsageServerAuth) && may(x509.ExtKeyUsageClientAuth)
}

// authorityOf reads the Secret of the CA. A key without its certificate is worth keeping: what it signs is trusted
// by whoever trusts an earlier certificate of it.
func authorityOf(secret *corev1.Secret) authority {
	if secret == nil {
		return authority{}
	}
	block, _ := pem.Decode(secret.Data[corev1.TLSPrivateKeyKey])
	if block == nil {
		return authority{}
	}
	read, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return authority{}
	}
	key, ok := read.(*ecdsa.PrivateKey)
	if !ok {
		return authority{}
	}
	ca := authority{key: key}
	for _, certificate := range rootsOf(secret.Data[corev1.TLSCertKey]) {
		if certificate.IsCA && vouchesForRoutes(certificate) && key.PublicKey.Equal(certificate.PublicKey) {
			ca.certificate = certificate
			break
		}
	}
	return ca
}

// issue is the next step to a new certificate: it must not outlive its CA, so the CA's comes first when it is
// due as well.
func (a authority) issue(also []*x509.Certificate, now time.Time) *Action {
	if due(a.certificate, now) {
		return &Action{Kind: RenewCA}
	}
	return &Action{Kind: Issue, Also: also}
}

// shown is what the servers show each other and trust.
type shown struct {
	pair   pair
	roots  []*x509.Certificate
	usable bool
	digest string
}

// shownIn reads the Secret that the servers mount. What it holds is usable when servers that all have it would
// talk to each other.
func (w World) shownIn(secret *corev1.Secret, now time.Time) shown {
	if secret == nil {
		return shown{}
	}
	s := shown{roots: rootsOf(secret.Data[render.KeyCA]), digest: routesDigest(secret)}
	var problem string
	if s.pair, problem = pairOf(secret); problem != "" {
		return s
	}
	var hosts []string
	for _, name := range routeNames(w.RouteDomain) {
		hosts = append(hosts, strings.Replace(name, "*", "any", 1))
	}
	s.usable = s.pair.servesRoutes(s.roots, hosts, now) == ""
	return s
}

// routeNames are the names that a certificate of the routes is for.
func routeNames(domain string) []string {
	return []string{"*." + domain, "*." + domain + ".cluster.local"}
}

// trusts says that the CA, by whichever of its certificates, is among the roots.
func (s shown) trusts(ca authority) bool {
	return slices.ContainsFunc(s.roots, ca.is)
}

// signedBy says that the certificate is the CA's, by whichever of the CA's certificates.
func (s shown) signedBy(ca authority) bool {
	return s.pair.leaf.CheckSignatureFrom(ca.certificate) == nil
}

// others are the roots besides the CA that are still of use to somebody.
func (s shown) others(ca authority, now time.Time) []*x509.Certificate {
	return slices.DeleteFunc(slices.Clone(s.roots), func(root *x509.Certificate) bool {
		return ca.is(root) || now.After(root.NotAfter)
	})
}

// is says that the certificate is one of the CA's.
func (a authority) is(certificate *x509.Certificate) bool {
	return a.key.PublicKey.Equal(certificate.PublicKey)
}
