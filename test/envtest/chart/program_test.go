package chart

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/onsi/gomega"
	authenticationv1 "k8s.io/api/authentication/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/client-go/util/cert"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-dev/holdfast/test/envtest/env"
)

// wait bounds whatever has to happen.
const wait = 3 * time.Minute

// An installation is the chart on the API server, with a way in for its ServiceAccount.
type installation struct {
	testing.TB
	chart
	*gomega.WithT
	env        *env.Env
	namespace  string
	objects    objects
	binary     string
	kubeconfig string
}

// install applies the chart and builds its program.
func install(tb testing.TB, c chart, namespace string, values map[string]any) *installation {
	tb.Helper()
	in := &installation{TB: tb, chart: c, WithT: gomega.NewWithT(tb), env: env.Start(tb), namespace: namespace, objects: c.rendered(tb, namespace, values)}
	in.SetDefaultEventuallyTimeout(wait)
	in.SetDefaultEventuallyPollingInterval(200 * time.Millisecond)
	for _, object := range in.objects {
		if object.GetAnnotations()["helm.sh/hook"] != "" {
			continue
		}
		if err := in.env.Client.Apply(tb.Context(), client.ApplyConfigurationFromUnstructured(object.DeepCopy()), client.ForceOwnership, client.FieldOwner("helm")); err != nil {
			tb.Fatalf("%s %s: %v", object.GetKind(), object.GetName(), err)
		}
	}
	dir := tb.TempDir()
	in.binary = filepath.Join(dir, c.program)
	build := exec.CommandContext(tb.Context(), "go", "build", "-o", in.binary, "../../../cmd/"+c.program)
	if said, err := build.CombinedOutput(); err != nil {
		tb.Fatalf("%v\n%s", err, said)
	}
	in.kubeconfig = filepath.Join(dir, "kubeconfig")
	in.reach(in.env.Config.Host, in.env.Config.CAData)
	return in
}

func (in *installation) must(err error) {
	in.Helper()
	if err != nil {
		in.Fatal(err)
	}
}

// token is one of a ServiceAccount, good for an hour.
func (in *installation) token(account *corev1.ServiceAccount) string {
	in.Helper()
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: ptr.To[int64](3600)}}
	in.must(in.env.Client.SubResource("token").Create(in.Context(), account, request))
	return request.Status.Token
}

// reach gives the chart's ServiceAccount a way to an API server.
func (in *installation) reach(server string, authority []byte) {
	in.Helper()
	config := clientcmdapi.NewConfig()
	config.Clusters["c"] = &clientcmdapi.Cluster{Server: server, CertificateAuthorityData: authority}
	config.AuthInfos["a"] = &clientcmdapi.AuthInfo{Token: in.token(only[*corev1.ServiceAccount](in.TB, in.objects))}
	config.Contexts["x"] = &clientcmdapi.Context{Cluster: "c", AuthInfo: "a"}
	config.CurrentContext = "x"
	in.must(clientcmd.WriteToFile(*config, in.kubeconfig))
}

// A replica is one process of the controller.
type replica struct {
	in              *installation
	cmd             *exec.Cmd
	output          bytes.Buffer
	metrics, health string
	authority       []byte // by which the metrics' certificate can be checked
	ended           bool
}

// run starts a replica as the Deployment does. What follows the chart's flags is only about this machine: the addresses,
// a certificate for them, and the namespace that a Pod would read from its files.
func (in *installation) run() *replica {
	in.Helper()
	r := &replica{in: in, metrics: freeAddress(in.TB), health: freeAddress(in.TB)}
	certificates := in.TempDir()
	certificate, private, err := cert.GenerateSelfSignedCertKey("127.0.0.1", nil, nil)
	in.must(err)
	in.must(os.WriteFile(filepath.Join(certificates, "tls.crt"), certificate, 0o600))
	in.must(os.WriteFile(filepath.Join(certificates, "tls.key"), private, 0o600))
	r.authority = certificate
	flags := append(args(in.TB, in.objects), "--metrics-cert-dir="+certificates, "--metrics-bind-address="+r.metrics, "--health-probe-bind-address="+r.health,
		"--leader-election-namespace="+in.namespace)
	r.cmd = exec.Command(in.binary, flags...)
	r.cmd.Env = append(os.Environ(), "KUBECONFIG="+in.kubeconfig, "POD_NAMESPACE="+in.namespace)
	r.cmd.Stdout, r.cmd.Stderr = &r.output, &r.output
	r.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	in.must(r.cmd.Start())
	in.Cleanup(func() {
		r.stop(syscall.SIGTERM)
		said := r.output.String()
		if in.Failed() {
			in.Logf("%v wrote:\n%s", r.cmd.Args, said)
		}
		if strings.Contains(said, "forbidden") {
			in.Errorf("the chart's rights are too narrow:\n%s", said)
		}
	})
	in.Eventually(func() error { return answersOK("http://" + r.health + "/readyz") }).Should(gomega.Succeed())
	return r
}

func (r *replica) stop(signal syscall.Signal) {
	if !r.ended {
		r.ended = true
		_ = r.cmd.Process.Signal(signal)
		_ = r.cmd.Wait()
	}
}

func freeAddress(tb testing.TB) string {
	tb.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	return listener.Addr().String()
}

func answersOK(url string) error {
	answer, err := http.Get(url)
	if err != nil {
		return err
	}
	defer func() { _ = answer.Body.Close() }()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answers %s", url, answer.Status)
	}
	return nil
}

// looksAfter says that a new object in the namespace gets a status and its events, which takes every right that its creation
// needs.
func (in *installation) looksAfter(namespace, name string) {
	in.Helper()
	in.says(in.created(namespace, name), in.reasons...)
}

// says waits until a new object's conditions have the reasons.
func (in *installation) says(object client.Object, reasons ...string) {
	in.Helper()
	in.must(in.env.Client.Create(in.Context(), object))
	in.Eventually(func() ([]string, error) { return in.saidOf(object) }).Should(gomega.ContainElements(reasons))
}

// saidOf are the reasons of an object's conditions.
func (in *installation) saidOf(object client.Object) (reasons []string, err error) {
	in.Helper()
	gvk, err := in.env.Client.GroupVersionKindFor(object)
	in.must(err)
	seen := &unstructured.Unstructured{}
	seen.SetGroupVersionKind(gvk)
	if err := in.env.Client.Get(in.Context(), client.ObjectKeyFromObject(object), seen); err != nil {
		return nil, err
	}
	conditions, _, err := unstructured.NestedSlice(seen.Object, "status", "conditions")
	for _, condition := range conditions {
		reason, _, _ := unstructured.NestedString(condition.(map[string]any), "reason")
		reasons = append(reasons, reason)
	}
	return reasons, err
}

func (in *installation) leader() string {
	in.Helper()
	var leases coordinationv1.LeaseList
	in.must(in.env.Client.List(in.Context(), &leases, client.InNamespace(in.namespace)))
	if len(leases.Items) != 1 || !slices.ContainsFunc(args(in.TB, in.objects), func(arg string) bool { return arg == "--leader-election-id="+leases.Items[0].Name }) {
		return ""
	}
	return ptr.Deref(leases.Items[0].Spec.HolderIdentity, "")
}

// TestTwoReplicas runs two as shipped: one leads, and the other follows when it is killed. The metrics are for those who
// may see them.
func TestTwoReplicas(t *testing.T) { ofEach(t, checkSuccession) }

func checkSuccession(t *testing.T, c chart) {
	t.Helper()
	e := env.Start(t)
	in := install(t, c, e.Namespace(t), map[string]any{})
	first := in.run()
	in.Eventually(in.leader).ShouldNot(gomega.BeEmpty())
	led := in.leader()
	second := in.run()
	in.looksAfter(e.Namespace(t), "one")
	c.everywhere(in)
	if now := in.leader(); now != led {
		t.Errorf("%s led, now %s", led, now)
	}

	stranger, reader := in.account("stranger"), in.scraper()
	for who, bearer := range map[string]string{"nobody": "", "somebody": in.token(stranger)} {
		if status, _ := in.scrape(first, bearer); status != http.StatusUnauthorized && status != http.StatusForbidden {
			t.Errorf("%s asks for the metrics: %d", who, status)
		}
	}
	if status, body := in.scrape(first, in.token(reader)); status != http.StatusOK || !strings.Contains(body, in.metric) {
		t.Errorf("%d %s", status, body)
	}

	first.stop(syscall.SIGKILL)
	in.Eventually(in.leader).ShouldNot(gomega.Or(gomega.Equal(led), gomega.BeEmpty()))
	in.looksAfter(e.Namespace(t), "two")
	second.stop(syscall.SIGTERM)
	if code := second.cmd.ProcessState.ExitCode(); code != 0 || in.leader() != "" {
		t.Errorf("ended with %d, and %q leads", code, in.leader())
	}
}

func (in *installation) account(name string) *corev1.ServiceAccount {
	in.Helper()
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: in.namespace, Name: name}}
	in.must(in.env.Client.Create(in.Context(), account))
	return account
}

// scraper is an account that may see the metrics.
func (in *installation) scraper() *corev1.ServiceAccount {
	in.Helper()
	account := in.account("scraper")
	role := &rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "scraper-"}, Rules: []rbacv1.PolicyRule{{NonResourceURLs: []string{"/metrics"}, Verbs: []string{"get"}}},
	}
	in.must(in.env.Client.Create(in.Context(), role))
	in.must(in.env.Client.Create(in.Context(), &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "scraper-"}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name},
		Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: account.Namespace, Name: account.Name}},
	}))
	return account
}

// scrape asks for the metrics.
func (in *installation) scrape(r *replica, bearer string) (status int, body string) {
	in.Helper()
	request, err := http.NewRequestWithContext(in.Context(), http.MethodGet, "https://"+r.metrics+"/metrics", nil)
	in.must(err)
	if bearer != "" {
		request.Header.Set("Authorization", "Bearer "+bearer)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(r.authority)
	asking := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}}}
	answer, err := asking.Do(request)
	in.must(err)
	defer func() { _ = answer.Body.Close() }()
	content, err := io.ReadAll(answer.Body)
	in.must(err)
	return answer.StatusCode, string(content)
}

// TestWatchedNamespaces runs one with rights in two namespaces, and what is elsewhere is not its business.
func TestWatchedNamespaces(t *testing.T) { ofEach(t, checkWatched) }

func checkWatched(t *testing.T, c chart) {
	t.Helper()
	e := env.Start(t)
	one, other, elsewhere := e.Namespace(t), e.Namespace(t), e.Namespace(t)
	values := c.variants(one, other)["everything else"] // the flags that are not there as shipped
	values["watchNamespaces"] = []any{one, other}
	in := install(t, c, e.Namespace(t), values)
	stranger := c.created(elsewhere, "stranger")
	in.must(e.Client.Create(t.Context(), stranger))
	in.run()
	in.looksAfter(one, "one")
	in.looksAfter(other, "two")
	c.watching(in, one, other, elsewhere)
	if said, err := in.saidOf(stranger); err != nil || len(said) > 0 {
		t.Errorf("%v %v", said, err)
	}
}
