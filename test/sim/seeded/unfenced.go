package seeded

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-dev/holdfast/api/nats/cluster/v1beta1"
)

// Unfenced takes the preconditions off all writes, and has the look before a step find the NatsCluster that was journalled. It
// is for a controller that looks after one NatsCluster.
func Unfenced(to client.Client, live client.Reader) (client.Client, client.Reader) {
	u := &unfenced{Client: to, live: live}
	return u, unfencedReader{live, u}
}

type unfenced struct {
	client.Client
	live client.Reader

	mu      sync.Mutex
	version string // of the NatsCluster, as the controller knows it
}

// keep remembers the NatsCluster that the controller has been given.
func (u *unfenced) keep(object client.Object) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if cluster, is := object.(*v1beta1.NatsCluster); is {
		u.version = cluster.ResourceVersion
	}
}

func (u *unfenced) known() string {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.version
}

// Get implements client.Reader.
func (u *unfenced) Get(ctx context.Context, key client.ObjectKey, into client.Object, options ...client.GetOption) error {
	err := u.Client.Get(ctx, key, into, options...)
	u.keep(into)
	return err
}

// Patch implements client.Writer.
func (u *unfenced) Patch(ctx context.Context, object client.Object, patch client.Patch, options ...client.PatchOption) error {
	data, err := patch.Data(object)
	if err != nil {
		return err
	}
	bare, err := strip(patch.Type(), data)
	if err != nil {
		return err
	}
	err = u.Client.Patch(ctx, object, client.RawPatch(patch.Type(), bare), options...)
	u.keep(object)
	return err
}

// strip takes resourceVersion and UID off a patch.
func strip(kind types.PatchType, data []byte) ([]byte, error) {
	if kind == types.JSONPatchType {
		var operations, kept []map[string]any
		if err := json.Unmarshal(data, &operations); err != nil {
			return nil, fmt.Errorf("a JSON patch: %w", err)
		}
		for _, operation := range operations {
			if operation["path"] != "/metadata/resourceVersion" {
				kept = append(kept, operation)
			}
		}
		return json.Marshal(kept)
	}
	var body map[string]any
	if err := json.Unmarshal(data, &body); err != nil {
		return nil, fmt.Errorf("a patch: %w", err)
	}
	if metadata, has := body["metadata"].(map[string]any); has {
		delete(metadata, "resourceVersion")
		delete(metadata, "uid")
	}
	return json.Marshal(body)
}

// Delete implements client.Writer.
func (u *unfenced) Delete(ctx context.Context, object client.Object, _ ...client.DeleteOption) error {
	return u.Client.Delete(ctx, object)
}

// Status implements client.Client.
func (u *unfenced) Status() client.SubResourceWriter { return unfencedStatus{u.Client.Status(), u} }

type unfencedStatus struct {
	client.SubResourceWriter
	u *unfenced
}

// Update writes over whatever is there: of a NatsCluster an API server takes no update without a version.
func (s unfencedStatus) Update(ctx context.Context, object client.Object, options ...client.SubResourceUpdateOption) error {
	version := object.GetResourceVersion()
	var present v1beta1.NatsCluster
	if err := s.u.live.Get(ctx, client.ObjectKeyFromObject(object), &present); err != nil {
		return err
	}
	object.SetResourceVersion(present.ResourceVersion)
	err := s.SubResourceWriter.Update(ctx, object, options...)
	if err != nil {
		object.SetResourceVersion(version)
	}
	s.u.keep(object)
	return err
}

type unfencedReader struct {
	client.Reader
	u *unfenced
}

// Get implements client.Reader.
func (r unfencedReader) Get(ctx context.Context, key client.ObjectKey, into client.Object, options ...client.GetOption) error {
	err := r.Reader.Get(ctx, key, into, options...)
	if cluster, is := into.(*v1beta1.NatsCluster); is && err == nil {
		cluster.ResourceVersion = r.u.known()
	}
	return err
}
