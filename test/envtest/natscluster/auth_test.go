package natscluster

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go"
	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-dev/holdfast/api/nats/cluster/v1beta1"
	natsv1beta1 "github.com/holdfast-dev/holdfast/api/nats/nats/v1beta1"
	"github.com/holdfast-dev/holdfast/internal/nats/monitorapi"
	"github.com/holdfast-dev/holdfast/internal/nats/sysapi/minted"
)

// closed is a MonitorAPI that nobody answers: with credentials it is not to be asked.
type closed struct{}

var errClosed = errors.New("the monitoring port is closed")

func (closed) Varz(context.Context, string) (monitorapi.Varz, error) {
	return monitorapi.Varz{}, errClosed
}
func (closed) Jsz(context.Context, string, int, int) (monitorapi.Jsz, error) {
	return monitorapi.Jsz{}, errClosed
}

// trusting has a NatsCluster trust the operator by a NatsOperatorTrust of that name, and the controller be a system user.
func trusting(cluster *v1beta1.NatsCluster) *v1beta1.NatsCluster {
	cluster.Spec.Auth = &v1beta1.Auth{
		TrustRef: natsv1beta1.ObjectReference{Name: "main"},
		SystemCredentials: &natsv1beta1.Credentials{SecretKeyRef: natsv1beta1.CredentialsSecretKey{
			Name: "system", Key: "user.creds",
		}},
	}
	return cluster
}

func trust(operator *minted.Operator) *natsv1beta1.NatsOperatorTrust {
	return &natsv1beta1.NatsOperatorTrust{ObjectMeta: metav1.ObjectMeta{Name: "main"}, Spec: natsv1beta1.NatsOperatorTrustSpec{
		OperatorJWT: operator.JWT, SystemAccountJWT: operator.System.JWT,
	}}
}

func credentials(operator *minted.Operator) *corev1.Secret {
	secret := secretNamed("system")
	secret.Data = map[string][]byte{"user.creds": operator.System.User("controller", minted.ClusterController())}
	return secret
}

// startTrusting brings up a NATS cluster of three servers under an operator, asked over $SYS alone.
func startTrusting(t *testing.T) (*lab, *minted.Operator) {
	t.Helper()
	l := newLab(t)
	l.startKubelet()
	l.stopControllers = l.startController(controllerOptions{monitor: closed{}})
	operator := minted.NewOperator("main")
	l.create(trust(operator), credentials(operator), trusting(withJetStream("demo", 3)))
	l.untilAtRest("demo")
	l.untilMeshed("demo-0", "demo-1", "demo-2")
	return l, operator
}

// config is the configuration in a server's ConfigMap.
func (l *lab) config(server string) map[string]any {
	l.Helper()
	var out map[string]any
	if err := json.Unmarshal([]byte(get(l, server+"-config", &corev1.ConfigMap{}).Data["nats.conf"]), &out); err != nil {
		l.Fatal(err)
	}
	return out
}

// edit changes an object, as a user would.
func (l *lab) edit(object client.Object, how func(client.Object)) {
	l.Helper()
	l.editAs("kubectl-edit", object, how)
}

// editAs is edit by a tool of that name.
func (l *lab) editAs(tool string, object client.Object, how func(client.Object)) {
	l.Helper()
	before := object.DeepCopyObject().(client.Object)
	how(object)
	if err := l.client.Patch(l.Context(), object, client.MergeFrom(before), client.FieldOwner(tool)); err != nil {
		l.Fatal(err)
	}
}

// varz reads a server's monitoring port, as the test may.
func (l *lab) varz(server string) monitorapi.Varz {
	l.Helper()
	varz, err := monitorapi.Client{}.Varz(l.Context(), "http://"+l.kubelet.Addr(server+"-0")+":8222")
	if err != nil {
		l.Fatal(err)
	}
	return varz
}

// TestReloads brings changes to running servers that none of them notices as a restart.
func TestReloads(t *testing.T) {
	t.Parallel()
	l, _ := startTrusting(t)
	processes := l.processes()
	for _, change := range []struct {
		what string
		how  func(*v1beta1.NatsClusterSpec)
	}{
		{"tags", func(s *v1beta1.NatsClusterSpec) { s.ServerTags = map[string]string{"disk": "fast"} }},
		{"no tags", func(s *v1beta1.NatsClusterSpec) { s.ServerTags = nil }},
		{"a larger store", func(s *v1beta1.NatsClusterSpec) {
			s.JetStream.Limits.MaxFileStore = new(resource.MustParse("30Gi"))
		}},
	} {
		l.change("demo", change.how)
		cluster := l.untilAtRest("demo")
		if got := l.processes(); !cmp.Equal(processes, got) {
			t.Fatalf("%s: %v before, %v after; want the same processes", change.what, processes, got)
		}
		if cluster.Status.Config.AppliedBy != v1beta1.ApplyReload || cluster.Status.Rollout != nil {
			t.Errorf("%s: %+v, rollout %+v", change.what, cluster.Status.Config, cluster.Status.Rollout)
		}
		for _, server := range []string{"demo-0", "demo-1", "demo-2"} {
			if got := l.varz(server).Metadata["config_revision"]; got != cluster.Status.Config.Revision {
				t.Errorf("%s: %s runs %s, want %s", change.what, server, got, cluster.Status.Config.Revision)
			}
		}
	}
	if steps := l.steps("demo"); len(steps) != 0 {
		t.Errorf("steps %v", steps)
	}

	// What a reload cannot bring comes with a restart, also where servers have reloaded before.
	from := l.mark()
	l.change("demo", func(s *v1beta1.NatsClusterSpec) { s.JetStream.Limits.MaxFileStore = new(resource.MustParse("20Gi")) })
	cluster := l.untilAtRest("demo")
	l.oneAtATime(from)
	l.allNew(processes)
	if got := cluster.Status.Config; got.AppliedBy != v1beta1.ApplyRestart || got.RestartReason != "jetstream.max_file_store is restart-only" {
		t.Errorf("%+v", got)
	}
}

// TestScaleUpByReload adds a server, and the others learn the route to it without a restart.
func TestScaleUpByReload(t *testing.T) {
	t.Parallel()
	l, _ := startTrusting(t)
	before := l.processes()
	l.change("demo", func(s *v1beta1.NatsClusterSpec) { s.Replicas = 4 })
	l.untilAtRest("demo")
	after := l.processes()
	for server, process := range before {
		if after[server] != process {
			t.Errorf("%s was restarted", server)
		}
	}
	if len(after) != 4 {
		t.Errorf("processes %v", after)
	}
}

// TestTrustChanges: what only starting servers read restarts nothing, and what they must start with restarts all.
func TestTrustChanges(t *testing.T) {
	t.Parallel()
	l, operator := startTrusting(t)
	before := l.processes()
	account := operator.Account("orders", minted.WithJetStream())
	system, err := nats.Connect(l.clientURL("demo-0"), nats.UserCredentialBytes(operator.System.User("test")))
	if err != nil {
		t.Fatal(err)
	}
	defer system.Close()
	if err := minted.Push(t.Context(), system, 3, account); err != nil {
		t.Fatal(err)
	}

	// A new JWT of the system account.
	operator.System = operator.Resign(operator.System, nil)
	l.edit(get(l, "main", &natsv1beta1.NatsOperatorTrust{}), func(o client.Object) {
		o.(*natsv1beta1.NatsOperatorTrust).Spec.SystemAccountJWT = operator.System.JWT
	})
	l.Eventually(func() any {
		return l.config("demo-2")["resolver_preload"].(map[string]any)[operator.System.Key]
	}).Should(gomega.Equal(operator.System.JWT))
	l.untilAtRest("demo")
	if got := l.processes(); !cmp.Equal(before, got) {
		t.Fatalf("a new JWT of the system account restarted servers: %v before, %v after", before, got)
	}

	// Another signing key of the operator.
	from := l.mark()
	operator.Sign("main", minted.NewOperator("signer").Key)
	l.edit(get(l, "main", &natsv1beta1.NatsOperatorTrust{}), func(o client.Object) {
		o.(*natsv1beta1.NatsOperatorTrust).Spec.OperatorJWT = operator.JWT
	})
	l.Eventually(func() any { return l.config("demo-0")["operator"] }).Should(gomega.Equal(operator.JWT))
	cluster := l.untilAtRest("demo")
	l.oneAtATime(from)
	l.allNew(before)
	if got := cluster.Status.Config.RestartReason; got != "operator is restart-only" {
		t.Errorf("restartReason %q", got)
	}
	// The accounts that were pushed are still known.
	user, err := nats.Connect(l.clientURL("demo-0", "demo-1", "demo-2"), nats.UserCredentialBytes(account.User("test")))
	if err != nil {
		t.Fatal("a user of an account that was pushed before the restarts:", err)
	}
	user.Close()
	if _, err := nats.Connect(l.clientURL("demo-0")); err == nil || !strings.Contains(strings.ToLower(err.Error()), "authorization") {
		t.Errorf("a stranger: %v", err)
	}
}

// TestTrustHolds: while there is no whole trust that admits the NatsCluster, nothing is written for it.
func TestTrustHolds(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.startKubelet()
	elsewhere := l.env.Namespace(t)
	l.startController(controllerOptions{also: elsewhere, monitor: closed{}})
	operator, other := minted.NewOperator("main"), minted.NewOperator("other")

	cluster := trusting(withJetStream("demo", 3))
	cluster.Spec.Auth.TrustRef.Namespace = elsewhere
	l.create(credentials(operator), cluster)
	held := func(why string) {
		t.Helper()
		l.until("demo", why, reason(v1beta1.ConditionProgressing, why))
		var configs corev1.ConfigMapList
		if err := l.client.List(t.Context(), &configs, client.InNamespace(l.namespace), client.MatchingLabels{v1beta1.LabelCluster: "demo"}); err != nil {
			t.Fatal(err)
		}
		if len(configs.Items) != 0 {
			t.Errorf("%s: %d ConfigMaps were written", why, len(configs.Items))
		}
	}
	put := func(object client.Object) {
		t.Helper()
		object.SetNamespace(elsewhere)
		if err := l.client.Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}
	held(v1beta1.ReasonNoGrant)
	grant := &natsv1beta1.NatsReferenceGrant{ObjectMeta: metav1.ObjectMeta{Name: "apps"}, Spec: natsv1beta1.NatsReferenceGrantSpec{
		From: []natsv1beta1.ReferenceGrantFrom{{Group: v1beta1.GroupVersion.Group, Kind: v1beta1.KindNatsCluster, Namespace: l.namespace}},
		To:   []natsv1beta1.ReferenceGrantTo{{Group: natsv1beta1.GroupVersion.Group, Kind: natsv1beta1.KindNatsOperatorTrust, Name: "main"}},
	}}
	put(grant.DeepCopy())
	held(v1beta1.ReasonTrustNotFound)
	mixed := trust(operator)
	mixed.Spec.SystemAccountJWT = other.System.JWT
	put(mixed)
	held(v1beta1.ReasonTrustInvalid)
	reference := mixed
	l.edit(reference, func(o client.Object) {
		o.(*natsv1beta1.NatsOperatorTrust).Spec = natsv1beta1.NatsOperatorTrustSpec{OperatorRef: natsv1beta1.ObjectReference{Name: "main"}}
	})
	held(v1beta1.ReasonTrustNotReady)
	l.edit(reference, func(o client.Object) {
		o.(*natsv1beta1.NatsOperatorTrust).Spec = trust(operator).Spec
	})
	l.untilAtRest("demo")

	// A grant that is withdrawn, and another system account, hold the NatsCluster at what it runs.
	before := l.processes()
	l.edit(reference, func(o client.Object) { o.(*natsv1beta1.NatsOperatorTrust).Spec = trust(other).Spec })
	l.until("demo", "held", reason(v1beta1.ConditionProgressing, v1beta1.ReasonUnsupportedSpec))
	grant.Namespace = elsewhere
	l.delete(grant)
	l.until("demo", "held", reason(v1beta1.ConditionProgressing, v1beta1.ReasonNoGrant))
	l.change("demo", moreMemory)
	l.until("demo", "held", reason(v1beta1.ConditionProgressing, v1beta1.ReasonNoGrant))
	if got := l.processes(); !cmp.Equal(before, got) {
		t.Errorf("servers were restarted: %v before, %v after", before, got)
	}
	if got := l.config("demo-0")["system_account"]; got != operator.System.Key {
		t.Errorf("system account %v, want the first", got)
	}
}

// TestSystemUserIsGone: whoever cannot be asked is unknown, and unknown blocks.
func TestSystemUserIsGone(t *testing.T) {
	t.Parallel()
	l, operator := startTrusting(t)
	before := l.processes()
	l.delete(get(l, "system", &corev1.Secret{}))
	l.change("demo", moreMemory)
	l.until("demo", "unknown", func(c *v1beta1.NatsCluster) bool {
		return condition(c, v1beta1.ConditionSettled).Status == metav1.ConditionUnknown && c.Status.Rollout != nil && c.Status.Rollout.Gate != nil
	})
	if message := condition(l.cluster("demo"), v1beta1.ConditionSettled).Message; !strings.Contains(message, "Secret system does not exist") {
		t.Errorf("message %q", message)
	}
	if got := l.processes(); !cmp.Equal(before, got) {
		t.Fatalf("servers were restarted: %v before, %v after", before, got)
	}
	from := l.mark()
	l.create(credentials(operator))
	l.untilAtRest("demo")
	l.oneAtATime(from)
	l.allNew(before)
}
