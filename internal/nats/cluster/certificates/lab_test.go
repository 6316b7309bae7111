package certificates

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/holdfast-dev/holdfast/api/nats/cluster/v1beta1"
	"github.com/holdfast-dev/holdfast/internal/kit/fact"
	"github.com/holdfast-dev/holdfast/internal/nats/cluster/facts"
	"github.com/holdfast-dev/holdfast/internal/nats/cluster/render"
)

const (
	testUID    = types.UID("7f0c")
	caName     = "demo-routes-ca"
	tlsName    = "demo-routes-tls"
	testDomain = "demo-headless.messaging.svc"
)

var birth = time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)

// fataler is a test or a property.
type fataler interface {
	Helper()
	Fatalf(format string, args ...any)
	Errorf(format string, args ...any)
}

// A lab is three servers and the two Secrets, in memory: what Decide asks for is done at once.
type lab struct {
	fataler
	now     time.Time
	ca, tls *corev1.Secret
	servers []simulated
	unknown string // why the servers are not known
	edited  bool   // somebody else wrote the certificate
}

// simulated is a server's Pod, and what its nats-server has read as it started.
type simulated struct {
	exists, started bool
	mounts          string // the Secret's name
	digest          string // as annotated
	given           string // as its ConfigMap says, where it has one: what a reload tells it to load
	has             shown  // as read
}

func newLab(t fataler) *lab {
	return &lab{fataler: t, now: birth, servers: make([]simulated, 3)}
}

func (l *lab) world() World {
	var servers facts.Servers
	for i, s := range l.servers {
		server := facts.Server{Name: fmt.Sprintf("demo-%d", i), Ordinal: i}
		if s.exists {
			server.Pod = &corev1.Pod{
				ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{v1beta1.AnnotationRouteCertificate: s.digest}},
				Spec: corev1.PodSpec{Volumes: []corev1.Volume{
					{Name: "pid"},
					{Name: "routes-tls", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: s.mounts}}},
				}},
				Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{
					{Name: "exporter", Started: new(true)}, {Name: facts.Container, Started: new(s.started)},
				}},
			}
		}
		if s.given != "" {
			server.ConfigMap = &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
				Annotations: map[string]string{v1beta1.AnnotationRouteCertificate: s.given},
			}}
		}
		servers = append(servers, server)
	}
	known := fact.Known(servers)
	if l.unknown != "" {
		known = fact.Unknown[facts.Servers](l.unknown)
	}
	return World{
		Cluster: "demo", UID: testUID, Replicas: 3, RouteDomain: testDomain,
		Own: &Own{
			CA:      Reference{Name: caName, Secret: fact.Known(l.ca)},
			TLS:     Reference{Name: tlsName, Secret: fact.Known(l.tls)},
			Servers: known, Edited: l.edited,
		},
	}
}

// secret is one that the NatsCluster controls.
func secret(name string, data map[string][]byte) *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: name, OwnerReferences: []metav1.OwnerReference{{UID: testUID, Controller: new(true)}}},
		Data:       data,
	}
}

// step decides once and does what was decided.
func (l *lab) step() Plan {
	l.Helper()
	w := l.world()
	plan := Decide(w, l.now)
	if plan.Action == nil {
		return plan
	}
	name, data, err := w.data(*plan.Action, l.now)
	if err != nil {
		l.Fatalf("%s: %v", plan.Action.Kind, err)
	}
	switch name {
	case caName:
		l.ca = secret(name, data)
	case tlsName:
		l.tls, l.edited = secret(name, data), false
	default:
		l.Fatalf("%s writes %q", plan.Action.Kind, name)
	}
	return plan
}

// settle goes on until nothing is to be done, and returns what was done and what came of it.
func (l *lab) settle() ([]ActionKind, Plan) {
	l.Helper()
	var done []ActionKind
	for range maxSteps {
		plan := l.step()
		if plan.Action == nil {
			return done, plan
		}
		done = append(done, plan.Action.Kind)
	}
	l.Fatalf("not at rest after %v", done)
	return nil, Plan{}
}

// start lets a server begin with what the Secret holds, as a rollout would.
func (l *lab) start(ordinals ...int) {
	l.Helper()
	for _, i := range ordinals {
		l.servers[i] = simulated{
			exists: true, started: true, mounts: tlsName, digest: routesCertificate(l.tls).Digest,
			has: l.world().shownIn(l.tls, l.now),
		}
	}
}

func (l *lab) each(change func(*simulated)) {
	for i := range l.servers {
		change(&l.servers[i])
	}
}

// running is a lab with a settled certificate that all three servers have.
func running(t fataler) *lab {
	l := newLab(t)
	l.settle()
	l.start(0, 1, 2)
	return l
}

// distrust is why some running server would refuse another one; empty when all of them would talk.
func (l *lab) distrust() string {
	type meeting struct{ one, other string }
	seen := map[meeting]bool{} // servers of one digest are alike
	for i, one := range l.servers {
		for j, other := range l.servers {
			if !one.started || !other.started || seen[meeting{one.digest, other.digest}] {
				continue
			}
			seen[meeting{one.digest, other.digest}] = true
			host := fmt.Sprintf("demo-%d-0.%s", i, testDomain)
			if why := one.has.pair.servesRoutes(other.has.roots, []string{host}, l.now); why != "" {
				return fmt.Sprintf("demo-%d refuses demo-%d, which %s", j, i, why)
			}
		}
	}
	return ""
}

// whole says that nothing is lost or on its way: each server has a certificate of the present CA.
func (l *lab) whole() bool {
	w := l.world()
	if l.ca == nil || l.tls == nil || !w.allStartedWith(routesCertificate(l.tls).Digest) {
		return false
	}
	s := w.shownIn(l.tls, l.now)
	return s.usable && s.signedBy(authorityOf(l.ca))
}

// roots is how many CAs ca.crt holds.
func (l *lab) roots() int { return len(rootsOf(l.tls.Data[render.KeyCA])) }

// third is when a third of the certificate's life is left.
func (l *lab) third() time.Time {
	leaf := l.world().shownIn(l.tls, l.now).pair.leaf
	return leaf.NotAfter.Add(-leaf.NotAfter.Sub(leaf.NotBefore) / 3)
}

func kinds(of ...ActionKind) []ActionKind { return of }
