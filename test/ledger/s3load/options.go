package s3load

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"math"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/ratelimit"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	smithyendpoints "github.com/aws/smithy-go/endpoints"

	"github.com/holdfast-dev/holdfast/test/ledger/run"
)

// Config is what a run does. Its Name is the first part of every key: <name>/<writer>/<number>.
type Config struct {
	run.Config
	// URL is one or more endpoints, comma separated, that writes go through; each attempt takes the next.
	URL string
	// Members is one or more endpoints, comma separated, that everything is read through, each for itself, and each
	// address of each for itself: a headless Service leads to all its Pods. Empty for those of URL.
	Members string
	// Bucket must exist; Region is the one that the service expects in signatures.
	Bucket, Region string
	// Access is a folder that holds access-key-id and secret-access-key, and may hold ca.crt, the certificate
	// authority for https:// URLs. Empty for AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY of the environment, and the
	// system's authorities.
	Access string
	// Writers, and Keys that each may use in the whole run.
	Writers, Keys int
}

func (c Config) check() error {
	switch {
	case c.URL == "":
		return errors.New("no S3 URL: give --url or S3_URL")
	case c.Bucket == "", c.Region == "":
		return errors.New("a bucket and a region are needed")
	case c.Writers < 1, c.Keys < 1:
		return errors.New("at least one writer and one key are needed")
	}
	for _, each := range append(c.urls(), c.readURLs()...) {
		if u, err := url.Parse(each); err != nil || u.Host == "" || u.Path != "" || (u.Scheme != "http" && u.Scheme != "https") {
			return fmt.Errorf("endpoint %q: it must be like http://host:3900", each)
		}
	}
	return c.Check()
}

func (c Config) urls() []string     { return strings.Split(c.URL, ",") }
func (c Config) readURLs() []string { return strings.Split(cmp.Or(c.Members, c.URL), ",") }

const (
	// AttemptTimeout is how long one request may take, its body and the answer's included.
	AttemptTimeout = 5 * time.Second
	// WriteTimeout is how long a write is attempted again and again.
	WriteTimeout = 30 * time.Second
	dialTimeout  = 2 * time.Second
	longestPause = 500 * time.Millisecond
)

// ClientOptions are the options that a client of a Garage cluster whose members are restarted one by one should
// have. In one place, so that what the guide recommends is what the ledger proves. Credentials are the caller's;
// so is a context that ends: attempts go on until then. authorities may be nil for those of the system.
func ClientOptions(region string, authorities *x509.CertPool, urls ...string) func(*s3.Options) {
	return func(o *s3.Options) {
		o.Region = region
		// Garage tells buckets from host names only where it was given a root domain.
		o.UsePathStyle = true
		o.BaseEndpoint = aws.String(urls[0])
		o.Retryer = retry.NewStandard(func(o *retry.StandardOptions) {
			// The default of three attempts is over before a member that was restarted is back; what bounds them is the
			// context. 0 would be the default.
			o.MaxAttempts = math.MaxInt32
			o.MaxBackoff = longestPause
			// The default stops all repeats of a client after a hundred or so have failed: in an outage, that is at once.
			o.RateLimiter = ratelimit.None
		})
		// Every attempt goes to the next of several URLs. One URL, that of a Service, does as well: it leads to another
		// member once the one that is gone has left the Service.
		next := &rotation{client: httpClient(authorities, ""), urls: urls, resolver: s3.NewDefaultEndpointResolverV2()}
		o.HTTPClient, o.EndpointResolverV2 = next, next
		// Garage has no checksum for an object in parts, and says so by not sending one.
		o.DisableLogOutputChecksumValidationSkipped = true
	}
}

// httpClient connects to that address whatever the URL says, or as the URL says when it is empty.
func httpClient(authorities *x509.CertPool, address string) *http.Client {
	dialer := &net.Dialer{Timeout: dialTimeout}
	return &http.Client{
		// Without one, a request to a member that stands still, or whose machine lost power, waits for ever. One that is
		// told to stop takes no new connection for the ten seconds that it waits for those it has to be closed.
		Timeout: AttemptTimeout,
		Transport: &http.Transport{
			DialContext: func(ctx context.Context, network, to string) (net.Conn, error) {
				return dialer.DialContext(ctx, network, cmp.Or(address, to))
			},
			TLSHandshakeTimeout: dialTimeout,
			TLSClientConfig:     &tls.Config{RootCAs: authorities, MinVersion: tls.VersionTLS12},
			MaxIdleConnsPerHost: 16,
			IdleConnTimeout:     30 * time.Second,
		},
	}
}

// rotation has each request that is sent followed by one to the next endpoint. An endpoint is resolved anew, and
// more than once, for each attempt; so what moves on is the sending.
type rotation struct {
	client   *http.Client
	urls     []string
	sent     atomic.Uint64
	resolver s3.EndpointResolverV2
}

// Do implements s3.HTTPClient.
func (r *rotation) Do(request *http.Request) (*http.Response, error) {
	r.sent.Add(1)
	return r.client.Do(request)
}

// ResolveEndpoint implements s3.EndpointResolverV2.
func (r *rotation) ResolveEndpoint(ctx context.Context, p s3.EndpointParameters) (smithyendpoints.Endpoint, error) {
	p.Endpoint = &r.urls[r.sent.Load()%uint64(len(r.urls))]
	return r.resolver.ResolveEndpoint(ctx, p)
}

// access is what the ledger signs in with and whom it trusts.
type access struct {
	credentials aws.CredentialsProvider
	authorities *x509.CertPool
}

func (c Config) access() (access, error) {
	id, secret := os.Getenv("AWS_ACCESS_KEY_ID"), os.Getenv("AWS_SECRET_ACCESS_KEY")
	var a access
	if c.Access != "" {
		files := map[string]string{}
		for _, name := range []string{"access-key-id", "secret-access-key", "ca.crt"} {
			content, err := os.ReadFile(filepath.Join(c.Access, name))
			if err != nil && (name != "ca.crt" || !errors.Is(err, os.ErrNotExist)) {
				return a, fmt.Errorf("read the folder with the credentials and the certificate authority: %w", err)
			}
			files[name] = strings.TrimSpace(string(content))
		}
		id, secret = files["access-key-id"], files["secret-access-key"]
		if files["ca.crt"] != "" {
			a.authorities = x509.NewCertPool()
			if !a.authorities.AppendCertsFromPEM([]byte(files["ca.crt"])) {
				return a, errors.New("ca.crt holds no certificate in PEM")
			}
		}
	}
	if id == "" || secret == "" {
		return a, errors.New("no credentials: give --access, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY")
	}
	a.credentials = credentials.NewStaticCredentialsProvider(id, secret, "")
	return a, nil
}

// client speaks to those endpoints.
func (c Config) client(a access, urls ...string) *s3.Client {
	return s3.New(s3.Options{Credentials: a.credentials}, ClientOptions(c.Region, a.authorities, urls...))
}

// reader speaks to one member, at that address: one attempt for each request, whose failure is the caller's to count.
func (c Config) reader(a access, url, address string) *s3.Client {
	return s3.New(s3.Options{Credentials: a.credentials}, ClientOptions(c.Region, a.authorities, url), func(o *s3.Options) {
		o.Retryer, o.HTTPClient = aws.NopRetryer{}, httpClient(a.authorities, address)
		// The content says more than its checksum; and one that does not match shall be read, to say what is wrong.
		o.ResponseChecksumValidation = aws.ResponseChecksumValidationWhenRequired
	})
}
