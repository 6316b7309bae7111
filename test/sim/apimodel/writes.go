package apimodel

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/json" // which keeps whole numbers whole
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Create makes the object and returns it as it is then.
func (s *Server) Create(by, manager string, object client.Object) (client.Object, error) {
	key, err := s.KeyOf(object)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.unlock()
	if s.get(key, Newest) != nil {
		return nil, apierrors.NewAlreadyExists(resource(key), key.Name)
	}
	next := clone(object)
	next.GetObjectKind().SetGroupVersionKind(key.Kind)
	if next, err = s.fields.update(key, nil, next, manager); err != nil {
		return nil, err
	}
	return clone(s.commit(Write{Verb: "create", By: by, Key: key, After: next})), nil
}

// UpdateStatus replaces the object's status, at its resourceVersion where it has one.
func (s *Server) UpdateStatus(by string, object client.Object) (client.Object, error) {
	return s.replace(by, "", object, true)
}

// Update replaces all of an object but its status. It is recorded for nobody: it is how the world writes, not a controller.
func (s *Server) Update(by string, object client.Object) (client.Object, error) {
	return s.replace(by, "", object, false)
}

// UpdateFor is an Update that is recorded for a field owner, where the kind is managed.
func (s *Server) UpdateFor(by, manager string, object client.Object) (client.Object, error) {
	return s.replace(by, manager, object, false)
}

func (s *Server) replace(by, manager string, object client.Object, status bool) (client.Object, error) {
	key, err := s.KeyOf(object)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.unlock()
	live := s.get(key, Newest)
	if live == nil {
		return nil, apierrors.NewNotFound(resource(key), key.Name)
	}
	if err := check(key, live, object.GetUID(), object.GetResourceVersion()); err != nil {
		return nil, err
	}
	to, from := clone(live), clone(object)
	if !status {
		to, from = from, to
		to.GetObjectKind().SetGroupVersionKind(key.Kind)
	}
	if target := reflect.ValueOf(to).Elem().FieldByName("Status"); target.IsValid() {
		target.Set(reflect.ValueOf(from).Elem().FieldByName("Status"))
	}
	if manager != "" {
		if to, err = s.fields.update(key, live, to, manager); err != nil {
			return nil, err
		}
	}
	return clone(s.commit(Write{Verb: "update", By: by, Key: key, Before: live, After: to})), nil
}

// A Patch is a merge patch, a JSON patch or an apply.
type Patch struct {
	Type          types.PatchType
	Body          []byte
	Manager       string
	Force, DryRun bool
}

// Patch changes the object and returns it as it is then.
func (s *Server) Patch(by string, key Key, patch Patch) (client.Object, error) {
	s.mu.Lock()
	defer s.unlock()
	live := s.get(key, Newest)
	if patch.Type == types.ApplyPatchType {
		return s.apply(by, key, live, patch)
	}
	if live == nil {
		return nil, apierrors.NewNotFound(resource(key), key.Name)
	}
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(clone(live))
	if err != nil {
		return nil, err
	}
	switch patch.Type {
	case types.MergePatchType:
		var body map[string]any
		if err := json.Unmarshal(patch.Body, &body); err != nil {
			return nil, err
		}
		fields = merge(fields, body)
	case types.JSONPatchType:
		if err := replaceIn(fields, patch.Body); err != nil {
			return nil, err
		}
	default:
		return nil, fmt.Errorf("patches of type %s are not modelled", patch.Type)
	}
	next, err := s.fields.typed(key, &unstructured.Unstructured{Object: fields})
	if err != nil {
		return nil, err
	}
	if err := check(key, live, next.GetUID(), next.GetResourceVersion()); err != nil || patch.DryRun {
		return clone(live), err
	}
	if next, err = s.fields.update(key, live, next, patch.Manager); err != nil {
		return nil, err
	}
	return clone(s.commit(Write{Verb: "patch", By: by, Key: key, Before: live, After: next})), nil
}

func (s *Server) apply(by string, key Key, live client.Object, patch Patch) (client.Object, error) {
	body := &unstructured.Unstructured{}
	if err := json.Unmarshal(patch.Body, &body.Object); err != nil {
		return nil, err
	}
	if err := check(key, live, body.GetUID(), body.GetResourceVersion()); err != nil {
		return nil, err
	}
	if patch.DryRun {
		if live == nil { // the answer to a dry run of a creation
			return s.fields.typed(key, body)
		}
		return clone(live), nil
	}
	next, err := s.fields.apply(key, live, body, patch.Manager, patch.Force)
	if err != nil {
		return nil, err
	}
	return clone(s.commit(Write{Verb: "apply", By: by, Key: key, Before: live, After: next})), nil
}

// Delete marks a Pod or an object with finalizers, and takes any other away.
func (s *Server) Delete(by string, key Key, preconditions *metav1.Preconditions, now time.Time) error {
	s.mu.Lock()
	defer s.unlock()
	live := s.get(key, Newest)
	if live == nil {
		return apierrors.NewNotFound(resource(key), key.Name)
	}
	if preconditions != nil {
		var uid types.UID
		var resourceVersion string
		if preconditions.UID != nil {
			uid = *preconditions.UID
		}
		if preconditions.ResourceVersion != nil {
			resourceVersion = *preconditions.ResourceVersion
		}
		if err := check(key, live, uid, resourceVersion); err != nil {
			return err
		}
	}
	write := Write{Verb: "delete", By: by, Key: key, Before: live}
	if !graceful(live) && len(live.GetFinalizers()) == 0 {
		s.remove(write)
		return nil
	}
	if live.GetDeletionTimestamp() == nil {
		write.After = clone(live)
		stamp := metav1.NewTime(now)
		write.After.SetDeletionTimestamp(&stamp)
		s.commit(write)
	}
	return nil
}

// Remove takes an object away whatever holds it: a Pod whose processes have ended.
func (s *Server) Remove(by string, key Key) {
	s.mu.Lock()
	defer s.unlock()
	if live := s.get(key, Newest); live != nil {
		s.remove(Write{Verb: "delete", By: by, Key: key, Before: live})
	}
}

// merge is a JSON merge patch, RFC 7386.
func merge(into, patch map[string]any) map[string]any {
	out := maps.Clone(into)
	if out == nil {
		out = map[string]any{}
	}
	for name, value := range patch {
		deeper, isMap := value.(map[string]any)
		switch {
		case value == nil:
			delete(out, name)
		case isMap:
			below, _ := out[name].(map[string]any)
			out[name] = merge(below, deeper)
		default:
			out[name] = value
		}
	}
	return out
}

// replaceIn is a JSON patch of nothing but replacements of members of objects.
func replaceIn(fields map[string]any, patch []byte) error {
	var operations []struct {
		Op    string `json:"op"`
		Path  string `json:"path"`
		Value any    `json:"value"`
	}
	if err := json.Unmarshal(patch, &operations); err != nil {
		return err
	}
	for _, operation := range operations {
		path := strings.Split(strings.TrimPrefix(operation.Path, "/"), "/")
		at := fields
		for _, name := range path[:len(path)-1] {
			at, _ = at[name].(map[string]any)
		}
		if operation.Op != "replace" || at == nil {
			return errors.New("of JSON patches only the replacement of a member is modelled")
		}
		at[path[len(path)-1]] = operation.Value
	}
	return nil
}
