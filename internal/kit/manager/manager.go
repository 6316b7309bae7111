// Package manager starts a controller's process: flags, caches, leader election, probes, metrics, back-off.
package manager

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics/filters"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

const (
	// A replica that dies without notice is followed after at most leaseDuration and one retryPeriod; one that
	// stops in order gives the Lease back and is followed after one retryPeriod.
	leaseDuration = 10 * time.Second
	renewDeadline = 7 * time.Second
	retryPeriod   = 2 * time.Second

	// reconcileTimeout ends a visit that hangs on somebody who does not answer.
	reconcileTimeout = time.Minute

	firstRetry = 250 * time.Millisecond
	lastRetry  = time.Minute
)

// RateLimiter is the back-off for each object: 250 ms, doubled with each failure up to 60 s. The library's own
// goes from 5 ms to 1000 s: too fast for a service that is down, too slow for one that is up again.
func RateLimiter() workqueue.TypedRateLimiter[reconcile.Request] {
	return workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](firstRetry, lastRetry)
}

// New prepares a manager. The process must end as soon as its Start returns: the Lease may be somebody else's
// by then.
func New(cluster *rest.Config, o Options) (manager.Manager, error) {
	if err := o.checkCertificate(); err != nil {
		return nil, err
	}
	cluster = rest.CopyConfig(cluster)
	cluster.UserAgent = o.FieldOwner
	settings, err := o.settings(cluster)
	if err != nil {
		return nil, err
	}
	m, err := manager.New(cluster, settings)
	if err != nil {
		return nil, fmt.Errorf("preparing the manager: %w", err)
	}
	synced := &syncedCaches{cache: m.GetCache(), kinds: o.Cached, done: make(chan struct{})}
	return m, errors.Join(
		m.Add(synced),
		m.AddHealthzCheck("alive", healthz.Ping),
		m.AddReadyzCheck("caches", synced.check),
	)
}

func (o *Options) settings(cluster *rest.Config) (manager.Options, error) {
	newCache, err := onlyKinds(o.Scheme, o.Cached)
	if err != nil {
		return manager.Options{}, err
	}
	namespaces := map[string]cache.Config{}
	for _, namespace := range o.WatchNamespaces {
		namespaces[namespace] = cache.Config{}
	}
	// Renewing the Lease must not queue behind the controller's own requests.
	lease := rest.CopyConfig(cluster)
	lease.RateLimiter = nil
	return manager.Options{
		Scheme: o.Scheme,
		Cache: cache.Options{
			ByObject: o.Cached, DefaultNamespaces: namespaces, ReaderFailOnMissingInformer: true,
		},
		NewCache: newCache,
		Client: client.Options{
			FieldOwner: o.FieldOwner,
			// A visit sees what the visit before it wrote. The library cannot keep count over several
			// namespaces; there, a stale read ends in a conflict and is decided again.
			Cache: &client.CacheOptions{EnableReadYourWritesConsistency: new(len(o.WatchNamespaces) <= 1)},
		},
		Metrics: server.Options{
			BindAddress: o.MetricsAddress, CertDir: o.MetricsCertDir,
			SecureServing: true, FilterProvider: filters.WithAuthenticationAndAuthorization,
		},
		HealthProbeBindAddress:        o.ProbeAddress,
		LeaderElection:                o.LeaderElection,
		LeaderElectionID:              o.LeaderElectionID,
		LeaderElectionNamespace:       o.LeaderElectionNamespace,
		LeaderElectionConfig:          lease,
		LeaderElectionReleaseOnCancel: true,
		LeaseDuration:                 new(leaseDuration),
		RenewDeadline:                 new(renewDeadline),
		RetryPeriod:                   new(retryPeriod),
		Controller: config.Controller{
			RecoverPanic:          new(true),
			EnableWarmup:          new(true),
			ReconciliationTimeout: reconcileTimeout,
		},
	}, nil
}

// checkCertificate says at once what the metrics server would pass over: without the files, it would sign a
// certificate by itself.
func (o *Options) checkCertificate() error {
	if o.MetricsCertDir == "" {
		return nil
	}
	for _, name := range []string{"tls.crt", "tls.key"} {
		if _, err := os.Stat(filepath.Join(o.MetricsCertDir, name)); err != nil {
			return fmt.Errorf("the metrics' certificate: %w", err)
		}
	}
	return nil
}

// syncedCaches fills the cache of every kind on every replica, so that a replica which is not elected says
// truthfully that it is ready, and needs no time to read when it is.
type syncedCaches struct {
	cache cache.Cache
	kinds map[client.Object]cache.ByObject
	done  chan struct{}
}

// Start returns once all caches are filled, or it is told to stop.
func (s *syncedCaches) Start(ctx context.Context) error {
	for kind := range s.kinds {
		if _, err := s.cache.GetInformer(ctx, kind); err != nil && ctx.Err() == nil {
			return fmt.Errorf("caching %T: %w", kind, err)
		}
	}
	if ctx.Err() == nil {
		close(s.done)
	}
	return nil
}

// NeedLeaderElection lets it run on every replica.
func (s *syncedCaches) NeedLeaderElection() bool { return false }

func (s *syncedCaches) check(*http.Request) error {
	select {
	case <-s.done:
		return nil
	default:
		return errors.New("the caches are not filled yet")
	}
}
