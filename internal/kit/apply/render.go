package apply

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
)

// rendered is a desired object made ready to be written.
type rendered struct {
	// object has the owner reference and the digest, and is what a creation sends.
	object client.Object
	// fields is the same as JSON, and is what an apply sends.
	fields map[string]any
	digest string
	kind   string
}

// render copies desired and adds the controller reference and the digest of all the rest.
func (a *Applier) render(owner, desired client.Object) (*rendered, error) {
	scheme := a.Client.Scheme()
	gvk, err := apiutil.GVKForObject(desired, scheme)
	if err != nil {
		return nil, fmt.Errorf("rendered object: %w", err)
	}
	object, ok := desired.DeepCopyObject().(client.Object)
	if !ok {
		return nil, fmt.Errorf("rendered %s: its copy is no object", gvk.Kind)
	}
	object.GetObjectKind().SetGroupVersionKind(gvk)
	if err := controllerutil.SetControllerReference(owner, object, scheme); err != nil {
		return nil, fmt.Errorf("rendered %s %s: %w", gvk.Kind, object.GetName(), err)
	}
	fields, err := toFields(object)
	if err != nil {
		return nil, fmt.Errorf("rendered %s %s: %w", gvk.Kind, object.GetName(), err)
	}
	// Go writes the keys of a map in order, so equal objects have equal digests.
	raw, err := json.Marshal(fields)
	if err != nil {
		return nil, fmt.Errorf("rendered %s %s: %w", gvk.Kind, object.GetName(), err)
	}
	sum := sha256.Sum256(raw)
	r := &rendered{object: object, digest: hex.EncodeToString(sum[:8]), kind: gvk.Kind}

	annotations := object.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[a.DigestAnnotation] = r.digest
	object.SetAnnotations(annotations)
	r.fields, err = toFields(object)
	return r, err
}

// toFields turns a typed object into the fields that are applied. The status belongs to others.
func toFields(object client.Object) (map[string]any, error) {
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	delete(fields, "status")
	return fields, err
}

// tracked are the fields of which the API server records the owner: all but those that identify the object.
func (r *rendered) tracked() map[string]any {
	tracked := maps.Clone(r.fields)
	delete(tracked, "apiVersion")
	delete(tracked, "kind")
	metadata := maps.Clone(r.metadata())
	delete(metadata, "name")
	delete(metadata, "namespace")
	tracked["metadata"] = metadata
	return tracked
}

// at returns the body of an apply with its preconditions.
func (r *rendered) at(uid types.UID, resourceVersion string) map[string]any {
	metadata := maps.Clone(r.metadata())
	metadata["uid"], metadata["resourceVersion"] = string(uid), resourceVersion
	body := maps.Clone(r.fields)
	body["metadata"] = metadata
	return body
}

func (r *rendered) metadata() map[string]any {
	metadata, _ := r.fields["metadata"].(map[string]any)
	return metadata
}
