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
	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/client-go/util/cert"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-dev/holdfast/api/nats/cluster/v1beta1"
	natsv1beta1 "github.com/holdfast-dev/holdfast/api/nats/nats/v1beta1"
	"github.com/holdfast-dev/holdfast/internal/nats/sysapi/minted"
	"github.com/holdfast-dev/holdfast/test/envtest/env"
)

// wait bounds whatever has to happen.
const wait = 3 * time.Minute

// An installation is the chart on the API server, with a way in for its ServiceAccount.
type installation struct {
	testing.TB
	*gomega.WithT
	env        *env.Env
	namespace  string
	objects    objects
	program    string
	kubeconfig string
}

// install applies the chart and builds its program.
func install(tb testing.TB, namespace string, values map[string]any) *installation {
	tb.Helper()
	in := &installation{TB: tb, WithT: gomega.NewWithT(tb), env: env.Start(tb), namespace: namespace, objects: rendered(tb, namespace, values)}
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
	in.program = filepath.Join(dir, "nats-cluster-controller")
	build := exec.CommandContext(tb.Context(), "go", "build", "-o", in.program, "../../../cmd/nats-cluster-controller")
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
	r.cmd = exec.Command(in.program, flags...)
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

// looksAfter says that a new NatsCluster in the namespace gets a status and its events, which takes every right that
// its creation needs.
func (in *installation) looksAfter(namespace, name string) {
	in.Helper()
	in.says(newCluster(namespace, name), v1beta1.ReasonCreating, v1beta1.ReasonQuorumUnavailable)
}

func newCluster(namespace, name string) *v1beta1.NatsCluster {
	return &v1beta1.NatsCluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Spec: v1beta1.NatsClusterSpec{Version: "2.15.3", Replicas: 3},
	}
}

// trusting is a NatsCluster whose servers trust whom the NatsOperatorTrust main of a namespace names.
func trusting(namespace, name, trustee string) *v1beta1.NatsCluster {
	cluster := newCluster(namespace, name)
	cluster.Spec.Auth = &v1beta1.Auth{TrustRef: natsv1beta1.ObjectReference{Name: "main", Namespace: trustee}}
	return cluster
}

// trust makes a NatsOperatorTrust main in a namespace, and a grant to the NatsClusters of the other.
func (in *installation) trust(namespace, from string) {
	in.Helper()
	operator := minted.NewOperator("main")
	meta := metav1.ObjectMeta{Namespace: namespace, Name: "main"}
	in.must(in.env.Client.Create(in.Context(), &natsv1beta1.NatsOperatorTrust{ObjectMeta: meta, Spec: natsv1beta1.NatsOperatorTrustSpec{
		OperatorJWT: operator.JWT, SystemAccountJWT: operator.System.JWT,
	}}))
	in.must(in.env.Client.Create(in.Context(), &natsv1beta1.NatsReferenceGrant{ObjectMeta: meta, Spec: natsv1beta1.NatsReferenceGrantSpec{
		From: []natsv1beta1.ReferenceGrantFrom{{Group: v1beta1.GroupVersion.Group, Kind: v1beta1.KindNatsCluster, Namespace: from}},
		To:   []natsv1beta1.ReferenceGrantTo{{Group: natsv1beta1.GroupVersion.Group, Kind: natsv1beta1.KindNatsOperatorTrust}},
	}}))
}

// placeholders applies the sample for auth as it stands, and nothing comes of it.
func (in *installation) placeholders(namespace string) {
	in.Helper()
	for _, object := range env.Samples(in.TB)["auth.yaml"] {
		object.SetNamespace(namespace)
		if object.GetKind() != v1beta1.KindNatsCluster {
			in.must(in.env.Client.Create(in.Context(), object))
			continue
		}
		cluster := &v1beta1.NatsCluster{}
		in.must(runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, cluster))
		in.says(cluster, v1beta1.ReasonTrustInvalid)
	}
	var sets appsv1.StatefulSetList
	in.must(in.env.Client.List(in.Context(), &sets, client.InNamespace(namespace)))
	if len(sets.Items) != 0 {
		in.Errorf("%d StatefulSets for a trust that is none", len(sets.Items))
	}
}

// says waits until a new NatsCluster's conditions have the reasons.
func (in *installation) says(cluster *v1beta1.NatsCluster, reasons ...string) {
	in.Helper()
	in.must(in.env.Client.Create(in.Context(), cluster))
	in.Eventually(func() ([]string, error) {
		err := in.env.Client.Get(in.Context(), client.ObjectKeyFromObject(cluster), cluster)
		var reasons []string
		for _, condition := range cluster.Status.Conditions {
			reasons = append(reasons, condition.Reason)
		}
		return reasons, err
	}).Should(gomega.ContainElements(reasons))
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
func TestTwoReplicas(t *testing.T) {
	e := env.Start(t)
	in := install(t, e.Namespace(t), map[string]any{})
	first := in.run()
	in.Eventually(in.leader).ShouldNot(gomega.BeEmpty())
	led := in.leader()
	second := in.run()
	in.looksAfter(e.Namespace(t), "one")
	trustee, apps := e.Namespace(t), e.Namespace(t)
	in.trust(trustee, apps)
	in.says(trusting(apps, "trusting", trustee), v1beta1.ReasonCreating)
	in.placeholders(e.Namespace(t))
	if now := in.leader(); now != led {
		t.Errorf("%s led, now %s", led, now)
	}

	stranger, reader := in.account("stranger"), in.scraper()
	for who, bearer := range map[string]string{"nobody": "", "somebody": in.token(stranger)} {
		if status, _ := in.scrape(first, bearer); status != http.StatusUnauthorized && status != http.StatusForbidden {
			t.Errorf("%s asks for the metrics: %d", who, status)
		}
	}
	if status, body := in.scrape(first, in.token(reader)); status != http.StatusOK || !strings.Contains(body, `nats_operator_condition{kind="NatsCluster",name="one"`) {
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

// TestWatchedNamespaces runs one with rights in two namespaces, and a NatsCluster elsewhere is not its business. Nor is a
// NatsOperatorTrust elsewhere, though a grant there admits it: the NatsCluster that names it is held.
func TestWatchedNamespaces(t *testing.T) {
	e := env.Start(t)
	one, other, elsewhere := e.Namespace(t), e.Namespace(t), e.Namespace(t)
	values := variants(one, other)["everything else"] // the flags that are not there as shipped
	values["watchNamespaces"] = []any{one, other}
	in := install(t, e.Namespace(t), values)
	stranger := &v1beta1.NatsCluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: elsewhere, Name: "stranger"}, Spec: v1beta1.NatsClusterSpec{Version: "2.15.3", Replicas: 1},
	}
	in.must(e.Client.Create(t.Context(), stranger))
	in.run()
	in.looksAfter(one, "one")
	in.looksAfter(other, "two")
	in.trust(other, one)
	in.trust(elsewhere, one)
	in.says(trusting(one, "trusting", other), v1beta1.ReasonCreating)
	in.says(trusting(one, "held", elsewhere), v1beta1.ReasonTrustNotReady)
	set := &appsv1.StatefulSet{}
	in.must(e.Client.Get(t.Context(), client.ObjectKey{Namespace: one, Name: "one-0"}, set))
	if image := set.Spec.Template.Spec.Containers[1].Image; image != "registry.example.com/e:2@sha256:"+digits {
		t.Errorf("the exporter's image is %s", image)
	}
	in.must(e.Client.Get(t.Context(), client.ObjectKeyFromObject(stranger), stranger))
	if len(stranger.Status.Conditions) > 0 {
		t.Errorf("%+v", stranger.Status)
	}
}
