package apimodel

import (
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/client-go/applyconfigurations"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
)

// converter knows the merge rules of the built-in kinds. To read them takes a moment, so it is done once.
var converter = sync.OnceValue(func() managedfields.TypeConverter {
	return applyconfigurations.NewTypeConverter(scheme.Scheme)
})

// fieldManagers record who has set which field, as the API server does.
type fieldManagers struct {
	scheme *runtime.Scheme
	byKind map[schema.GroupVersionKind]*managedfields.FieldManager
}

func newFieldManagers(scheme *runtime.Scheme, managed []client.Object) (*fieldManagers, error) {
	f := &fieldManagers{scheme: scheme, byKind: map[schema.GroupVersionKind]*managedfields.FieldManager{}}
	for _, object := range managed {
		gvk, err := apiutil.GVKForObject(object, scheme)
		if err != nil {
			return nil, fmt.Errorf("a managed kind: %w", err)
		}
		f.byKind[gvk], err = managedfields.NewDefaultFieldManager(converter(), scheme, noDefaults{}, scheme, gvk, gvk.GroupVersion(), "", nil)
		if err != nil {
			return nil, fmt.Errorf("field manager of %s: %w", gvk.Kind, err)
		}
	}
	return f, nil
}

// noDefaults is a defaulter that adds nothing.
type noDefaults struct{}

// Default implements runtime.ObjectDefaulter.
func (noDefaults) Default(runtime.Object) {}

// update is next with managedFields that say what manager has changed since live; live is nil for a creation.
func (f *fieldManagers) update(key Key, live, next client.Object, manager string) (client.Object, error) {
	fields := f.byKind[key.Kind]
	if fields == nil {
		return next, nil
	}
	from, err := f.orEmpty(key, live)
	if err != nil {
		return nil, err
	}
	next.GetObjectKind().SetGroupVersionKind(key.Kind)
	out, err := fields.Update(from, next, manager)
	if err != nil {
		return nil, fmt.Errorf("field management of %s: %w", key, err)
	}
	return f.typed(key, out)
}

// apply merges a configuration into live.
func (f *fieldManagers) apply(key Key, live client.Object, body *unstructured.Unstructured, manager string, force bool) (client.Object, error) {
	fields := f.byKind[key.Kind]
	if fields == nil {
		return nil, fmt.Errorf("%s: its kind is not managed, and cannot be applied", key)
	}
	from, err := f.orEmpty(key, live)
	if err != nil {
		return nil, err
	}
	out, err := fields.Apply(from, body, manager, force)
	if err != nil {
		return nil, fmt.Errorf("applying %s: %w", key, err)
	}
	return f.typed(key, out)
}

func (f *fieldManagers) orEmpty(key Key, live client.Object) (runtime.Object, error) {
	if live != nil {
		return clone(live), nil
	}
	made, err := f.scheme.New(key.Kind)
	if err != nil {
		return nil, err
	}
	made.GetObjectKind().SetGroupVersionKind(key.Kind)
	return made, nil
}

// typed is the object as a value of its Go type.
func (f *fieldManagers) typed(key Key, object runtime.Object) (client.Object, error) {
	if free, is := object.(*unstructured.Unstructured); is {
		made, err := f.scheme.New(key.Kind)
		if err != nil {
			return nil, err
		}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(free.Object, made); err != nil {
			return nil, err
		}
		object = made
	}
	object.GetObjectKind().SetGroupVersionKind(key.Kind)
	out, ok := object.(client.Object)
	if !ok {
		return nil, fmt.Errorf("%s: %T is no object", key, object)
	}
	return out, nil
}
