package manager_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/onsi/gomega"
	authenticationv1 "k8s.io/api/authentication/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/rest"
	certutil "k8s.io/client-go/util/cert"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlmanager "sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/holdfast-dev/holdfast/internal/kit/manager"
	"github.com/holdfast-dev/holdfast/test/envtest/env"
)

func TestMain(m *testing.M) { env.Main(m) }

// patience is how long a test waits for what must come, on a machine that has much else to do.
const patience = time.Minute

var hosts atomic.Int32

// options are those of a replica with an address of its own: every process and replica has one in 127/8, so that
// no port can be taken.
func options(namespace string) manager.Options {
	host := fmt.Sprintf("127.%d.%d.%d", 1+hosts.Add(1), os.Getpid()>>8&255, os.Getpid()&255)
	return manager.Options{
		Scheme: env.NewScheme(), FieldOwner: "holdfast/test",
		Cached: map[client.Object]cache.ByObject{
			&corev1.ConfigMap{}: {Label: labels.SelectorFromSet(labels.Set{"app": "mine"})},
		},
		MetricsAddress: host + ":8080", ProbeAddress: host + ":8081",
		LeaderElection: true, LeaderElectionID: "lease", LeaderElectionNamespace: namespace,
	}
}

// start runs a replica until the test ends or stop is called; stop returns when it has ended.
func start(t *testing.T, cluster *rest.Config, o manager.Options) (m ctrlmanager.Manager, stop func()) {
	t.Helper()
	m, err := manager.New(cluster, o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- m.Start(ctx) }()
	stopped := false
	stop = func() {
		if cancel(); !stopped {
			if err := <-ended; err != nil {
				t.Error("the manager ended with:", err)
			}
		}
		stopped = true
	}
	t.Cleanup(stop)
	return m, stop
}

// status is the HTTP status of a GET, 0 for no answer.
func status(trust *x509.CertPool, url, token string) int {
	request, err := http.NewRequest(http.MethodGet, url, nil)
	if err != nil {
		return 0
	}
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: trust, MinVersion: tls.VersionTLS12}, DisableKeepAlives: true}
	response, err := (&http.Client{Transport: transport}).Do(request)
	if err != nil {
		return 0
	}
	_ = response.Body.Close()
	return response.StatusCode
}

// probe is the status of a probe.
func probe(o manager.Options, path string) int { return status(nil, "http://"+o.ProbeAddress+path, "") }

func TestReplicas(t *testing.T) {
	e := env.Start(t)
	g := gomega.NewWithT(t)
	namespace := e.Namespace(t)
	first, second := options(namespace), options(namespace)

	leader, stop := start(t, e.Config, first)
	g.Eventually(leader.Elected()).WithTimeout(patience).Should(gomega.BeClosed())
	follower, _ := start(t, e.Config, second)

	for _, o := range []manager.Options{first, second} {
		g.Eventually(probe).WithArguments(o, "/readyz").WithTimeout(patience).Should(gomega.Equal(200))
		g.Expect(probe(o, "/healthz")).To(gomega.Equal(200))
	}
	g.Expect(follower.Elected()).NotTo(gomega.BeClosed())

	// The first gives the Lease back when it stops, so that the second need not wait until it expires.
	held := lease(t, e, namespace)
	stop()
	if now := lease(t, e, namespace); now == held {
		t.Errorf("the Lease is still held by %s", now)
	}
	g.Eventually(follower.Elected()).WithTimeout(patience).Should(gomega.BeClosed())
}

// lease returns who holds the Lease.
func lease(t *testing.T, e *env.Env, namespace string) string {
	t.Helper()
	var lease coordinationv1.Lease
	if err := e.Client.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: "lease"}, &lease); err != nil {
		t.Fatal(err)
	}
	if lease.Spec.HolderIdentity == nil {
		return ""
	}
	return *lease.Spec.HolderIdentity
}

// Not ready while a cache cannot be filled, here for want of a right; alive all the same.
func TestNotReadyBeforeCachesAreFilled(t *testing.T) {
	e := env.Start(t)
	g := gomega.NewWithT(t)
	o := options(e.Namespace(t))
	o.LeaderElection = false
	start(t, e.UserWithRole(t), o)
	g.Eventually(probe).WithArguments(o, "/healthz").WithTimeout(patience).Should(gomega.Equal(200))
	g.Expect(probe(o, "/readyz")).To(gomega.Equal(500))
}

func TestMetricsAskForARight(t *testing.T) {
	e := env.Start(t)
	g := gomega.NewWithT(t)
	o := options(e.Namespace(t))
	var trust *x509.CertPool
	o.MetricsCertDir, trust = certificate(t, o.MetricsAddress)
	start(t, e.Config, o)
	url := "https://" + o.MetricsAddress + "/metrics"
	g.Eventually(status).WithArguments(trust, url, "").WithTimeout(patience).Should(gomega.Equal(401))

	stranger, scraper := account(t, e, "stranger"), account(t, e, "scraper")
	role := rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{Name: scraper.Namespace},
		Rules:      []rbacv1.PolicyRule{{Verbs: []string{"get"}, NonResourceURLs: []string{"/metrics"}}},
	}
	binding := rbacv1.ClusterRoleBinding{
		ObjectMeta: role.ObjectMeta,
		Subjects:   []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: scraper.Namespace, Name: scraper.Name}},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name},
	}
	g.Expect(e.Client.Create(t.Context(), &role)).To(gomega.Succeed())
	g.Expect(e.Client.Create(t.Context(), &binding)).To(gomega.Succeed())
	g.Expect(status(trust, url, token(t, e, stranger))).To(gomega.Equal(403))
	// The API server's own view of roles is a cache too.
	g.Eventually(func() int { return status(trust, url, token(t, e, scraper)) }).WithTimeout(patience).Should(gomega.Equal(200))
}

// certificate writes a certificate for the address into a folder, and returns what trusts it.
func certificate(t *testing.T, address string) (string, *x509.CertPool) {
	t.Helper()
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	cert, key, err := certutil.GenerateSelfSignedCertKey(host, []net.IP{net.ParseIP(host)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	folder, trust := t.TempDir(), x509.NewCertPool()
	for name, content := range map[string][]byte{"tls.crt": cert, "tls.key": key} {
		if err := os.WriteFile(filepath.Join(folder, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	trust.AppendCertsFromPEM(cert)
	return folder, trust
}

func account(t *testing.T, e *env.Env, name string) *corev1.ServiceAccount {
	t.Helper()
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: e.Namespace(t), Name: name}}
	if err := e.Client.Create(t.Context(), account); err != nil {
		t.Fatal(err)
	}
	return account
}

func token(t *testing.T, e *env.Env, account *corev1.ServiceAccount) string {
	t.Helper()
	request := &authenticationv1.TokenRequest{}
	if err := e.Client.SubResource("token").Create(t.Context(), account, request); err != nil {
		t.Fatal(err)
	}
	return request.Status.Token
}

func configMap(namespace, name, app string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{"app": app}}}
}

// run starts a manager that need not be elected and waits until it is ready.
func run(t *testing.T, cluster *rest.Config, o manager.Options) client.Client {
	t.Helper()
	o.LeaderElection = false
	m, _ := start(t, cluster, o)
	gomega.NewWithT(t).Eventually(probe).WithArguments(o, "/readyz").WithTimeout(patience).Should(gomega.Equal(200))
	return m.GetClient()
}

func TestReadsSeeWhatWasWritten(t *testing.T) {
	e := env.Start(t)
	for name, narrow := range map[string]bool{"everywhere": false, "one namespace": true} {
		t.Run(name, func(t *testing.T) {
			namespace := e.Namespace(t)
			o := options(namespace)
			if narrow {
				o.WatchNamespaces = []string{namespace}
			}
			c := run(t, e.Config, o)
			for i := range 50 {
				one := configMap(namespace, fmt.Sprint("c", i), "mine")
				if err := c.Create(t.Context(), one); err != nil {
					t.Fatal(err)
				}
				if err := c.Get(t.Context(), client.ObjectKeyFromObject(one), one); err != nil {
					t.Fatalf("object %d: %v", i, err)
				}
				if by := one.ManagedFields[0].Manager; by != "holdfast/test" {
					t.Fatalf("written as %s", by)
				}
			}
		})
	}
}

func TestCachesAreNarrow(t *testing.T) {
	e := env.Start(t)
	g := gomega.NewWithT(t)
	inside, also, outside := e.Namespace(t), e.Namespace(t), e.Namespace(t)
	for _, object := range []*corev1.ConfigMap{
		configMap(inside, "a", "mine"), configMap(also, "b", "mine"), configMap(inside, "c", "theirs"), configMap(outside, "d", "mine"),
	} {
		g.Expect(e.Client.Create(t.Context(), object)).To(gomega.Succeed())
	}
	o := options(inside)
	o.WatchNamespaces = []string{inside, also}
	c := run(t, e.Config, o)

	var list corev1.ConfigMapList
	g.Expect(c.List(t.Context(), &list)).To(gomega.Succeed())
	var names []string
	for _, item := range list.Items {
		names = append(names, item.Name)
	}
	g.Expect(names).To(gomega.ConsistOf("a", "b"))
}

// A Secret that were read or written like the rest would be listed and watched in the whole cluster.
func TestOtherKindsAreNeverCached(t *testing.T) {
	e := env.Start(t)
	namespace := e.Namespace(t)
	var asked atomic.Bool
	cluster := rest.CopyConfig(e.Config)
	cluster.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTrip(func(request *http.Request) (*http.Response, error) {
			if strings.HasSuffix(request.URL.Path, "/secrets") && request.Method == http.MethodGet {
				asked.Store(true)
			}
			if agent := request.UserAgent(); agent != "holdfast/test" {
				t.Errorf("%s calls itself %s", request.URL, agent)
			}
			return next.RoundTrip(request)
		})
	})
	c := run(t, cluster, options(namespace))
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "s"}}
	untyped := &unstructured.Unstructured{}
	untyped.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ConfigMap"))

	for what, err := range map[string]error{
		"reading a Secret":         c.Get(t.Context(), client.ObjectKeyFromObject(secret), secret),
		"listing Secrets":          c.List(t.Context(), &corev1.SecretList{}),
		"creating a Secret":        c.Create(t.Context(), secret),
		"reading it the other way": c.Get(t.Context(), client.ObjectKeyFromObject(secret), untyped),
	} {
		if err == nil || !strings.Contains(err.Error(), "is not cached") {
			t.Errorf("%s: error %v", what, err)
		}
	}
	if err := c.Create(t.Context(), secret, client.DisableReadYourWritesConsistency); err != nil {
		t.Error("creating a Secret without waiting for the cache:", err)
	}
	if asked.Load() {
		t.Error("Secrets were listed")
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(request *http.Request) (*http.Response, error) { return f(request) }
