package controller

import (
	"context"
	"net/http"
	"time"

	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/holdfast-dev/holdfast/api/garage/v1beta2"
	"github.com/holdfast-dev/holdfast/internal/garage/whole"
	"github.com/holdfast-dev/holdfast/internal/kit/apply"
	"github.com/holdfast-dev/holdfast/internal/kit/events"
	"github.com/holdfast-dev/holdfast/internal/kit/metrics"
	"github.com/holdfast-dev/holdfast/internal/kit/outcome"
)

// Owner is the controller's field owner and user agent.
const Owner = "garage-operator"

// How soon a GarageCluster is looked at again when nothing wakes it: what the processes say raises no event in Kubernetes, and a
// named Secret is not watched.
const (
	whenSettled   = time.Minute
	whenUnsettled = 10 * time.Second
	whenBusy      = 2 * time.Second
)

// A Reconciler reconciles GarageClusters.
type Reconciler struct {
	// Client reads from the cache and writes.
	Client client.Client
	// Live reads from the API server: Secrets, which are not cached, and whatever a step is decided on.
	Live client.Reader
	// Transport carries the requests to the Admin APIs; nil for the package's own.
	Transport http.RoundTripper
	// Events and Metrics tell of transitions and conditions.
	Events  events.Recorder
	Metrics *metrics.Recorder
	// Clock is the time.
	Clock clock.PassiveClock
	// Whole remembers since when stores are whole.
	Whole whole.Memory
	// DefaultImage is Garage's image where a GarageCluster names none.
	DefaultImage string
}

// Reconcile brings one GarageCluster a step nearer to its spec.
func (r *Reconciler) Reconcile(ctx context.Context, cluster *v1beta2.GarageCluster) (reconcile.Result, error) {
	if !cluster.DeletionTimestamp.IsZero() {
		return r.tearDown(ctx, cluster)
	}
	p := newPass(r, cluster)
	out := outcome.Continue()
	for _, concern := range []func(context.Context) outcome.Outcome{
		p.readObjects,     // what the API server says
		p.suspend,         // nothing is done on a person's order
		p.keepCredentials, // the RPC secret, and the tokens
		p.render,          // the objects that the spec asks for
		p.ask,             // what the processes say
		p.identify,        // who each node is
		p.growClaims,      // disks to the size that they are to have
		p.compareLayout,   // what the layout lacks
		p.letGo,           // nodes that are to go, or are held
		p.bringIntoBeing,  // shared objects, missing nodes, and what runs them
		p.connect,         // members that do not see each other
		p.followOrders,    // what people ask for by annotation
		p.changeLayout,    // at most one version of the layout
		p.chooseWhoServes, // which Pods get requests
		p.roll,            // at most one Pod is replaced
		p.forget,          // configurations that nothing runs
	} {
		if out = concern(ctx); out.Stops() {
			break
		}
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
	return &apply.Applier{Client: r.Client, Reader: r.Live, Owner: Owner, DigestAnnotation: v1beta2.AnnotationSpecDigest}
}
