package apply_test

import (
	"context"
	"net/http"
	"sync/atomic"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-dev/holdfast/internal/kit/apply"
	"github.com/holdfast-dev/holdfast/internal/kit/manager"
	"github.com/holdfast-dev/holdfast/test/envtest/env"
)

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(request *http.Request) (*http.Response, error) { return f(request) }

// throughManager gives the bench the client of a real manager, with its narrowed cache that waits for our own
// writes, and returns the count of its requests about objects of the bench's namespace.
func (b *bench) throughManager() *atomic.Int64 {
	b.Helper()
	e := env.Start(b)
	var requests atomic.Int64
	cluster := rest.CopyConfig(e.Config)
	cluster.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTrip(func(request *http.Request) (*http.Response, error) {
			if request.URL.Query().Get("watch") == "" {
				requests.Add(1)
			}
			return next.RoundTrip(request)
		})
	})
	app, err := labels.NewRequirement("test.holdfast.dev/app", selection.Exists, nil)
	b.must(err)
	narrow := cache.ByObject{Label: labels.NewSelector().Add(*app)}
	m, err := manager.New(cluster, manager.Options{
		Scheme: env.NewScheme(), FieldOwner: fieldOwner, MetricsAddress: "0",
		Cached: map[client.Object]cache.ByObject{
			&corev1.ConfigMap{}: narrow, &corev1.Service{}: narrow, &appsv1.StatefulSet{}: narrow,
			&networkingv1.NetworkPolicy{}: narrow, &policyv1.PodDisruptionBudget{}: narrow,
		},
	})
	b.must(err)
	ctx, cancel := context.WithCancel(b.Context())
	ended := make(chan error, 1)
	go func() { ended <- m.Start(ctx) }()
	b.Cleanup(func() { cancel(); b.must(<-ended) })
	b.Applier = apply.Applier{Client: m.GetClient(), Reader: m.GetAPIReader(), Owner: fieldOwner, DigestAnnotation: digest}
	if !m.GetCache().WaitForCacheSync(ctx) {
		b.Fatal("the caches were not filled")
	}
	return &requests
}

// Right after a write, the cache already shows it, and nothing is asked or written.
func TestApplyThroughACacheRestsAtOnce(t *testing.T) {
	b := newBench(t)
	requests := b.throughManager()
	for kind, desired := range b.kinds() {
		b.apply(desired, true)
		b.apply(desired, false)
		desired.SetAnnotations(map[string]string{"more": "x"})
		b.apply(desired, true)

		requests.Store(0)
		b.apply(desired, false)
		want := int64(0)
		if kind == "Secret" {
			want = 1
		}
		if got := requests.Load(); got != want {
			t.Errorf("%s: %d requests at rest, want %d", kind, got, want)
		}
	}
	b.must(b.Delete(t.Context(), b.secret(), at(live(b, b.secret()))))
	b.must(b.Delete(t.Context(), b.configMap(), at(live(b, b.configMap()))))
	b.apply(b.configMap(), true)
}
