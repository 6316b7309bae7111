package manager

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
)

// narrowCache refuses to list and watch a kind that was not asked for. The library starts to do so on any read,
// and even on any write by the client; for Secrets, that would take a right which we do not have, and hang.
type narrowCache struct {
	cache.Cache
	scheme *runtime.Scheme
	kinds  map[schema.GroupVersionKind]bool
}

// GetInformer implements cache.Informers. Reads of a kind without an informer fail by themselves
// (ReaderFailOnMissingInformer).
func (c *narrowCache) GetInformer(ctx context.Context, obj client.Object, options ...cache.InformerGetOption) (cache.Informer, error) {
	gvk, err := apiutil.GVKForObject(obj, c.scheme)
	if err != nil {
		return nil, err
	}
	if _, untyped := obj.(runtime.Unstructured); untyped || !c.kinds[gvk] {
		return nil, fmt.Errorf("%s as %T is not cached: read it through the API reader, and write it without waiting for the cache", gvk.Kind, obj)
	}
	return c.Cache.GetInformer(ctx, obj, options...)
}

func onlyKinds(scheme *runtime.Scheme, cached map[client.Object]cache.ByObject) (cache.NewCacheFunc, error) {
	kinds := map[schema.GroupVersionKind]bool{}
	for obj := range cached {
		gvk, err := apiutil.GVKForObject(obj, scheme)
		if err != nil {
			return nil, fmt.Errorf("a kind to cache: %w", err)
		}
		kinds[gvk] = true
	}
	return func(cluster *rest.Config, options cache.Options) (cache.Cache, error) {
		c, err := cache.New(cluster, options)
		if err != nil {
			return nil, err
		}
		return &narrowCache{Cache: c, scheme: scheme, kinds: kinds}, nil
	}, nil
}
