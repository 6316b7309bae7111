package natsmodel

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-dev/holdfast/api/nats/cluster/v1beta1"
	"github.com/holdfast-dev/holdfast/internal/nats/monitorapi"
	"github.com/holdfast-dev/holdfast/internal/nats/settled"
	"github.com/holdfast-dev/holdfast/test/sim/fault"
)

// TestTheTests puts faults into the controller, from outside, and wants the property to find each.
func TestTheTests(t *testing.T) {
	for name, wrap := range map[string]func(Clients) Clients{
		"the gate answers from a cache": fromCache,
		"what does not answer is well":  unknownIsOpen,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			histories := rapid.Custom(func(rt *rapid.T) *finding {
				return inBubble(t, func(ctx context.Context) { tell(ctx, rt, counts{}, wrap, func(*teller) {}) })
			})
			const budget = 300
			for seed := range budget {
				if found := histories.Example(seed); found != nil && found.kind == unsafe {
					first, _, _ := strings.Cut(found.err.Error(), "\n")
					t.Logf("found after %d histories: %s", seed+1, first)
					return
				}
			}
			t.Errorf("not found in %d histories", budget)
		})
	}
}

// TestUnfenced: a leader stalls at its write of a StatefulSet until its successor has another server down. The write fails;
// and without preconditions it is found.
func TestUnfenced(t *testing.T) {
	for name, wrap := range map[string]func(Clients) Clients{"as it is": nil, "nothing is fenced": unfenced} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			found := inBubble(t, func(ctx context.Context) { lateWrite(ctx, wrap) })
			if isFound := found != nil && found.kind == unsafe; isFound != (wrap != nil) {
				t.Errorf("found: %+v", found)
			}
		})
	}
}

func lateWrite(ctx context.Context, wrap func(Clients) Clients) {
	history, err := NewHistory(natsCluster(3, true), true, wrap)
	if err != nil {
		panic(err)
	}
	defer history.Stop()
	h := &teller{History: history, counts: counts{}}
	deposed := h.Start(ctx)
	h.rest(60)
	memory := named(Edits, "edit: memory")
	h.World.Disturb(memory, "", 1)
	server := ""
	for range 300 {
		next := h.Scheduler.Next(deposed)
		if next != nil && next.Verb == "apply" && next.Kind == "StatefulSet" && !next.DryRun {
			server = next.Name
			break
		}
		h.Resume(deposed, fault.Fate{Kind: fault.GoOn})
	}
	leader := h.Start(ctx)
	h.World.Disturb(memory, "", 2)
	for range 60 {
		if r := h.World.Cluster().Status.Rollout; r != nil && r.Current != server && h.Checker.down[r.Current] {
			break
		}
		h.pass(leader, 150)
		for i := range 4 {
			h.Step(i)
		}
		h.check()
	}
	h.Resume(deposed, fault.Fate{Kind: fault.GoOn})
	h.check()
}

// unfenced takes the preconditions off all writes, and has the look before a step find the NatsCluster that was journalled.
func unfenced(c Clients) Clients {
	u := &bare{Client: c.Client}
	return Clients{Client: u, Live: bareReader{c.Live, u}, Monitor: c.Monitor}
}

type bare struct {
	client.Client
	cluster *v1beta1.NatsCluster // as this instance knows it
}

func (b *bare) Get(ctx context.Context, key client.ObjectKey, into client.Object, options ...client.GetOption) error {
	err := b.Client.Get(ctx, key, into, options...)
	b.keep(into)
	return err
}

func (b *bare) keep(object client.Object) {
	if cluster, is := object.(*v1beta1.NatsCluster); is {
		b.cluster = cluster.DeepCopy()
	}
}

func (b *bare) Patch(ctx context.Context, object client.Object, patch client.Patch, options ...client.PatchOption) error {
	data, err := patch.Data(object)
	if err != nil {
		return err
	}
	err = b.Client.Patch(ctx, object, client.RawPatch(patch.Type(), strip(patch.Type(), data)), options...)
	b.keep(object)
	return err
}

// strip takes resourceVersion and UID off a patch.
func strip(kind types.PatchType, data []byte) []byte {
	var operations []map[string]any
	var body map[string]any
	var out any
	if kind == types.JSONPatchType {
		_ = json.Unmarshal(data, &operations)
		kept := []map[string]any{}
		for _, operation := range operations {
			if operation["path"] != "/metadata/resourceVersion" {
				kept = append(kept, operation)
			}
		}
		out = kept
	} else {
		_ = json.Unmarshal(data, &body)
		if metadata, has := body["metadata"].(map[string]any); has {
			delete(metadata, "resourceVersion")
			delete(metadata, "uid")
		}
		out = body
	}
	stripped, err := json.Marshal(out)
	if err != nil {
		panic(err)
	}
	return stripped
}

func (b *bare) Delete(ctx context.Context, object client.Object, _ ...client.DeleteOption) error {
	return b.Client.Delete(ctx, object)
}

func (b *bare) Status() client.SubResourceWriter { return bareStatus{b.Client.Status(), b} }

type bareStatus struct {
	client.SubResourceWriter
	b *bare
}

func (s bareStatus) Update(ctx context.Context, object client.Object, options ...client.SubResourceUpdateOption) error {
	version := object.GetResourceVersion()
	object.SetResourceVersion("")
	err := s.SubResourceWriter.Update(ctx, object, options...)
	if err != nil {
		object.SetResourceVersion(version)
	}
	s.b.keep(object)
	return err
}

type bareReader struct {
	client.Reader
	b *bare
}

func (r bareReader) Get(ctx context.Context, key client.ObjectKey, into client.Object, options ...client.GetOption) error {
	err := r.Reader.Get(ctx, key, into, options...)
	if cluster, is := into.(*v1beta1.NatsCluster); is && err == nil && r.b.cluster != nil {
		cluster.ResourceVersion = r.b.cluster.ResourceVersion
	}
	return err
}

// fromCache has every answer of a server stand for a minute.
func fromCache(c Clients) Clients {
	c.Monitor = &remembering{api: c.Monitor, fresh: time.Minute, seen: map[string]remembered{}}
	return c
}

// unknownIsOpen has the last answer of a server stand for as long as it gives none.
func unknownIsOpen(c Clients) Clients {
	c.Monitor = &remembering{api: c.Monitor, seen: map[string]remembered{}}
	return c
}

// remembering asks each time, and hands on what it was told before, for as long as that is fresh, or where the answer is an
// error.
type remembering struct {
	api   settled.MonitorAPI
	fresh time.Duration
	mu    sync.Mutex
	seen  map[string]remembered
}

type remembered struct {
	at     time.Time
	answer any
}

func (r *remembering) Varz(ctx context.Context, at string) (monitorapi.Varz, error) {
	answer, err := r.api.Varz(ctx, at)
	return recall(r, "varz "+at, answer, err)
}

func (r *remembering) Jsz(ctx context.Context, at string, offset, limit int) (monitorapi.Jsz, error) {
	answer, err := r.api.Jsz(ctx, at, offset, limit)
	return recall(r, fmt.Sprintf("jsz %s %d", at, offset), answer, err)
}

func recall[T any](r *remembering, what string, answer T, err error) (T, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	before, has := r.seen[what]
	if old, is := before.answer.(T); has && is && (err != nil || time.Since(before.at) < r.fresh) {
		return old, nil
	}
	if err == nil {
		r.seen[what] = remembered{time.Now(), answer}
	}
	return answer, err
}
