package apply

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
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

// toFields turns a typed object into the fields that are applied. The status belongs to others, and a null is
// how Go types write a time that is not set: applied, it would claim the field.
func toFields(object client.Object) (map[string]any, error) {
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		return nil, err
	}
	delete(fields, "status")
	dropNulls(fields)
	return fields, nil
}

func dropNulls(node any) {
	switch node := node.(type) {
	case map[string]any:
		for name, field := range node {
			if field == nil {
				delete(node, name)
			}
			dropNulls(field)
		}
	case []any:
		for _, item := range node {
			dropNulls(item)
		}
	}
}

// tracked are the fields of which the API server records the owner.
func (r *rendered) tracked() map[string]any {
	tracked := map[string]any{}
	for name, field := range r.fields {
		if name != "apiVersion" && name != "kind" && name != "metadata" {
			tracked[name] = field
		}
	}
	metadata := map[string]any{}
	for _, name := range []string{"labels", "annotations", "ownerReferences", "finalizers"} {
		if field, set := r.fields["metadata"].(map[string]any)[name]; set {
			metadata[name] = field
		}
	}
	tracked["metadata"] = metadata
	return tracked
}
