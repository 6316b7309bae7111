package lab

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	natsv1beta1 "github.com/holdfast-dev/holdfast/api/nats/nats/v1beta1"
	"github.com/holdfast-dev/holdfast/internal/nats/monitorapi/realnats"
	"github.com/holdfast-dev/holdfast/internal/nats/sysapi/minted"
	"github.com/holdfast-dev/holdfast/test/sim/authority"
)

// A Trust is what people bring who guard the NatsCluster demo: a NATS operator with an account for the ledger, and the
// authority of the certificate that clients are shown.
type Trust struct {
	*Story
	Clients  *authority.Authority
	operator *minted.Operator
	account  minted.Account
}

// Trust makes one, and the objects that the NatsCluster and the ledger find it by: NatsOperatorTrust main, and the Secrets
// demo-system, demo-client and ledger.
func (s *Story) Trust() *Trust {
	s.Helper()
	clients, err := authority.New("clients", time.Now().Add(-time.Hour), time.Now().Add(24*time.Hour))
	s.Must(err)
	operator := minted.NewOperator("main")
	t := &Trust{Story: s, Clients: clients, operator: operator, account: operator.Account("orders", minted.WithJetStream())}
	s.Must(s.Client.Create(s.Context(), &natsv1beta1.NatsOperatorTrust{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: "main"},
		Spec:       natsv1beta1.NatsOperatorTrustSpec{OperatorJWT: operator.JWT, SystemAccountJWT: operator.System.JWT},
	}))
	certificate := t.ClientCertificate(12 * time.Hour)
	for name, data := range map[string]map[string][]byte{
		"demo-system": {"user.creds": operator.System.User("cluster-controller", minted.ClusterController())},
		"demo-client": certificate,
		"ledger":      {"user.creds": t.account.User("ledger"), "ca.crt": certificate["ca.crt"]},
	} {
		secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: name}, Data: data}
		s.Must(s.Client.Create(s.Context(), secret))
	}
	return t
}

// host is the name of the client Service.
func (t *Trust) host() string { return fmt.Sprintf("demo.%s.svc", t.Namespace) }

// ClientCertificate is one for the client listener that lives so long.
func (t *Trust) ClientCertificate(life time.Duration) map[string][]byte {
	t.Helper()
	now := time.Now()
	data, err := t.Clients.Issue(now.Add(-time.Minute), now.Add(life), t.host(), t.host()+".cluster.local")
	t.Must(err)
	return data
}

// TLS is how a client checks the servers' certificate.
func (t *Trust) TLS() *tls.Config {
	return &tls.Config{MinVersion: tls.VersionTLS13, RootCAs: t.Clients.Pool(), ServerName: t.host()}
}

// Admit makes the ledger's account known to that many servers, which are all of the NatsCluster.
func (t *Trust) Admit(servers int) {
	t.Helper()
	t.Meshed(servers)
	system := t.connect()
	defer system.Close()
	t.Must(minted.Push(t.Context(), system, servers, t.account))
}

// Meshed waits until that many servers, which are all of the NatsCluster demo, have every route to each other, and returns
// their processes. What is asked over a route that is not there yet is lost.
func (s *Story) Meshed(servers int) map[string]Process {
	s.Helper()
	var processes map[string]Process
	s.Must(Until(s.Context(), time.Minute, "every route", func(ctx context.Context) (bool, string) {
		var err error
		if processes, err = s.Processes(ctx, s.Namespace, "demo"); err != nil || len(processes) != servers {
			return false, fmt.Sprintf("%d servers, %v", len(processes), err)
		}
		for _, process := range processes {
			if process.Routes != realnats.RoutesToEach*(servers-1) {
				return false, fmt.Sprintf("%s has %d routes", process.Name, process.Routes)
			}
		}
		return true, ""
	}))
	return processes
}

// dialer dials from the host into the cluster's network.
type dialer struct {
	context.Context
	*Lab
}

// Dial is what nats.CustomDialer asks for.
func (d dialer) Dial(network, address string) (net.Conn, error) {
	return d.Cluster.Dial(d.Context, network, address)
}

// connect signs in as a user of the system account.
func (t *Trust) connect() *nats.Conn {
	t.Helper()
	pods, err := t.Pods(t.Context(), t.Namespace, "demo")
	t.Must(err)
	var urls []string
	for _, pod := range pods {
		urls = append(urls, "nats://"+net.JoinHostPort(pod.Status.PodIP, "4222"))
	}
	connection, err := nats.Connect(strings.Join(urls, ","), nats.UserCredentialBytes(t.operator.System.User("auth")),
		nats.Secure(t.TLS()), nats.SetCustomDialer(dialer{t.Context(), t.Lab}), nats.Timeout(5*time.Second))
	t.Must(err)
	return connection
}
