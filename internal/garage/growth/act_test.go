package growth

import (
	"context"
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/holdfast-dev/holdfast/internal/kit/fact"
)

func TestAct(t *testing.T) {
	grows := func(b *bench, size string) {
		b.change(func(c *corev1.PersistentVolumeClaim) { c.Spec.Resources.Requests = storage(size) })
	}
	for name, c := range map[string]struct {
		// before is done after the decision, and meanwhile after the last look.
		before, meanwhile func(*bench)
		asks              string
		fails             func(error) bool
	}{
		"asks for the size":                       {asks: "2Gi"},
		"not of another claim of the name":        {before: func(b *bench) { b.replace() }, asks: "1Gi", fails: moved},
		"not when it has been asked for some":     {before: func(b *bench) { grows(b, "1536Mi") }, asks: "1536Mi", fails: moved},
		"not when it has been asked for all":      {before: func(b *bench) { grows(b, "2Gi") }, asks: "2Gi", fails: moved},
		"not when it is somebody else's now":      {before: func(b *bench) { b.change(owned("Database")) }, asks: "1Gi", fails: moved},
		"not when it is gone":                     {before: func(b *bench) { b.remove() }, fails: apierrors.IsNotFound},
		"not when somebody writes at that moment": {meanwhile: func(b *bench) { grows(b, "3Gi") }, asks: "3Gi", fails: apierrors.IsConflict},
	} {
		t.Run(name, func(t *testing.T) {
			live := claim("data-a", "1Gi", "1Gi")
			b := &bench{T: t, store: fake.NewClientBuilder().WithObjects(&live).Build()}
			b.change(func(*corev1.PersistentVolumeClaim) {}) // the store gives versions
			w := World{Nodes: []Node{node("0"), node("a", b.claim())}, Classes: map[string]fact.Fact[bool]{"fast": fact.Known(true)}}
			plan := Decide(w)
			if c.before != nil {
				c.before(b)
			}
			actor := Actor{Live: b.store, Client: interceptor.NewClient(b.store, interceptor.Funcs{
				Patch: func(ctx context.Context, under client.WithWatch, obj client.Object, patch client.Patch, options ...client.PatchOption) error {
					if c.meanwhile != nil {
						c.meanwhile(b)
					}
					return under.Patch(ctx, obj, patch, options...)
				},
			})}
			got, err := actor.Act(t.Context(), w, plan.Grow[0], "ns")
			if c.fails != nil && (err == nil || !c.fails(err)) || c.fails == nil && (err != nil || got.Name != "data-a") {
				t.Errorf("%v", err)
			}
			if after := b.claim(); c.asks != "" && after.Spec.Resources.Requests.Storage().Cmp(resource.MustParse(c.asks)) != 0 {
				t.Errorf("it asks for %s, want %s", after.Spec.Resources.Requests.Storage(), c.asks)
			}
		})
	}
}

func moved(err error) bool { return errors.Is(err, errMoved) }

// bench is an API server with one claim.
type bench struct {
	*testing.T
	store client.WithWatch
}

func (b *bench) claim() corev1.PersistentVolumeClaim {
	var live corev1.PersistentVolumeClaim
	if err := b.store.Get(b.Context(), client.ObjectKey{Namespace: "ns", Name: "data-a"}, &live); client.IgnoreNotFound(err) != nil {
		b.Fatal(err)
	}
	return live
}

func (b *bench) change(do func(*corev1.PersistentVolumeClaim)) {
	live := b.claim()
	do(&live)
	if err := b.store.Update(b.Context(), &live); err != nil {
		b.Fatal(err)
	}
}

func (b *bench) remove() {
	live := b.claim()
	if err := b.store.Delete(b.Context(), &live); err != nil {
		b.Fatal(err)
	}
}

// replace has another claim of the same name and content.
func (b *bench) replace() {
	live := b.claim()
	b.remove()
	live.UID, live.ResourceVersion = "another", ""
	if err := b.store.Create(b.Context(), &live); err != nil {
		b.Fatal(err)
	}
}
