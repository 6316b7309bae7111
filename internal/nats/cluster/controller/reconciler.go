// Package controller reconciles NatsClusters: it reads the facts, calls the concerns in order and reports
// (nats-operator v1 design, 4 Cluster controller). What each concern promises, and why that holds after a
// crash, is in the concern's own package.
package controller

import (
	"context"
	"time"

	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/holdfast-dev/holdfast/api/nats/cluster/v1beta1"
	"github.com/holdfast-dev/holdfast/internal/kit/apply"
	"github.com/holdfast-dev/holdfast/internal/kit/events"
	"github.com/holdfast-dev/holdfast/internal/kit/metrics"
	"github.com/holdfast-dev/holdfast/internal/kit/outcome"
	"github.com/holdfast-dev/holdfast/internal/nats/cluster/reload"
	"github.com/holdfast-dev/holdfast/internal/nats/cluster/render"
	"github.com/holdfast-dev/holdfast/internal/nats/settled"
	"github.com/holdfast-dev/holdfast/internal/nats/sysapi"
)

// Owner is the controller's field owner and user agent.
const Owner = "nats-cluster-controller"

// How soon a NatsCluster is looked at again when nothing wakes it: the servers' own state raises no event in
// Kubernetes, and a named certificate is not watched.
const (
	whenSettled   = time.Minute
	whenUnsettled = 10 * time.Second
	whenBusy      = 2 * time.Second
)

// A System asks the servers of one NATS cluster over its system account: sysapi.Client, or a fake of it.
type System interface {
	settled.MonitorAPI
	reload.Reloader
	// Denied is what a server last said that the user may not do, empty when none has.
	Denied() string
}

// SystemAccounts gives the connection that is kept under a key, or a new one. trust is the text behind the TLS of the options.
type SystemAccounts func(ctx context.Context, key string, options sysapi.Options, trust []byte) (System, error)

// Pooled are the connections of a pool.
func Pooled(pool *sysapi.Pool) SystemAccounts {
	return func(ctx context.Context, key string, options sysapi.Options, trust []byte) (System, error) {
		client, err := pool.Get(ctx, key, options, trust)
		if err != nil {
			return nil, err
		}
		return client, nil
	}
}

// A Reconciler reconciles NatsClusters.
type Reconciler struct {
	// Client reads from the cache and writes.
	Client client.Client
	// Live reads from the API server: Secrets, which are not cached, and whatever a step is decided on.
	Live client.Reader
	// Monitor reads the servers' monitoring ports, where a NatsCluster names no system user.
	Monitor settled.MonitorAPI
	// System connects to the system accounts of the others.
	System SystemAccounts
	// Events and Metrics tell of transitions and conditions.
	Events  events.Recorder
	Metrics *metrics.Recorder
	// Clock is the time.
	Clock clock.PassiveClock
	// Namespace is where the controller runs, empty outside a Pod: the NetworkPolicy admits it.
	Namespace string
	// Exporter is the exporter's image where a NatsCluster names none.
	Exporter render.ExporterDefaults
}

// Reconcile brings one NatsCluster a step nearer to its spec.
func (r *Reconciler) Reconcile(ctx context.Context, cluster *v1beta1.NatsCluster) (reconcile.Result, error) {
	p := &pass{Reconciler: r, cluster: cluster}
	p.report.Cluster = cluster
	concerns := []func(context.Context) outcome.Outcome{
		p.guard,            // what has to be so before there is a server
		p.readServers,      // what the API server and the servers say
		p.readTrust,        // whom the servers are to trust
		p.refuse,           // what cannot be carried out
		p.keepCertificates, // certificates: ours are kept valid, named ones are read
		p.render,           // the objects that the spec asks for
		p.bringIntoBeing,   // refusals, shared objects, missing servers
		p.reload,           // what running servers take over
		p.roll,             // at most one step of a rollout
	}
	if !cluster.DeletionTimestamp.IsZero() {
		concerns = []func(context.Context) outcome.Outcome{p.readNamed, p.guard}
	}
	out := outcome.Continue()
	for _, concern := range concerns {
		if out = concern(ctx); out.Stops() {
			break
		}
	}
	if order := p.dropOrder(ctx, out); order.Stops() {
		return outcome.Result(order)
	}
	if p.released {
		r.Metrics.Forget(v1beta1.KindNatsCluster, client.ObjectKeyFromObject(cluster))
		return reconcile.Result{}, nil // owned objects go with it, claims stay
	}
	if out.Kind() == outcome.KindFailed && p.report.Failure == "" {
		return outcome.Result(out) // the pass broke off: what it did not come to know is not to be told
	}
	if err := p.writeStatus(ctx); err != nil {
		return outcome.Result(outcome.Failed(err))
	}
	if !out.Stops() {
		out = outcome.Retry(p.wake(), "resync")
	}
	return outcome.Result(out)
}

func (r *Reconciler) applier() *apply.Applier {
	return &apply.Applier{Client: r.Client, Reader: r.Live, Owner: Owner, DigestAnnotation: v1beta1.AnnotationSpecDigest}
}
