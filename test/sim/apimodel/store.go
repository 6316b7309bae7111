package apimodel

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
)

// A Key names an object.
type Key struct {
	Kind            schema.GroupVersionKind
	Namespace, Name string
}

// String is kind and name, for messages.
func (k Key) String() string { return k.Kind.Kind + " " + k.Name }

// A Write is one that has changed something.
type Write struct {
	// Verb is create, apply, patch, update or delete.
	Verb string
	// By is the user of the client.
	By  string
	Key Key
	// Before is nil for a creation, After for an object that is gone. Neither is to be changed.
	Before, After client.Object
}

// version is an object from one resourceVersion on; nil since it is gone.
type version struct {
	from   int64
	object client.Object
}

// A Server is the API server.
type Server struct {
	scheme *runtime.Scheme
	fields *fieldManagers

	mu       sync.Mutex
	revision int64
	uids     int
	objects  map[Key][]version
	onWrite  func(Write)
	told     []Write // writes of which onWrite has not been told yet
}

// New makes an empty API server. The managed kinds are those whose managedFields are kept.
func New(scheme *runtime.Scheme, managed ...client.Object) (*Server, error) {
	s := &Server{scheme: scheme, objects: map[Key][]version{}, onWrite: func(Write) {}}
	var err error
	s.fields, err = newFieldManagers(scheme, managed)
	return s, err
}

// OnWrite has a function called with every write that changes something, after it. It must not write.
func (s *Server) OnWrite(call func(Write)) { s.onWrite = call }

// Revision is the newest resourceVersion.
func (s *Server) Revision() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.revision
}

// KeyOf is the key of an object of that type and name.
func (s *Server) KeyOf(object client.Object) (Key, error) {
	gvk, err := apiutil.GVKForObject(object, s.scheme)
	return Key{gvk, object.GetNamespace(), object.GetName()}, err
}

// Newest asks for the present version.
const Newest = int64(-1)

// Get is the object as it was at that revision, as a copy; nil where there was none.
func (s *Server) Get(key Key, at int64) client.Object {
	s.mu.Lock()
	defer s.mu.Unlock()
	return clone(s.get(key, at))
}

// Peek is the present object itself, which must not be changed; nil where there is none.
func (s *Server) Peek(key Key) client.Object {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.get(key, Newest)
}

// List are the objects of a kind as they were at that revision, by name, as copies.
func (s *Server) List(kind schema.GroupVersionKind, namespace string, selector labels.Selector, at int64) []client.Object {
	s.mu.Lock()
	defer s.mu.Unlock()
	var found []client.Object
	for key := range s.objects {
		if key.Kind != kind || namespace != "" && key.Namespace != namespace {
			continue
		}
		if object := s.get(key, at); object != nil && (selector == nil || selector.Matches(labels.Set(object.GetLabels()))) {
			found = append(found, clone(object))
		}
	}
	slices.SortFunc(found, func(a, b client.Object) int { return cmp.Compare(a.GetName(), b.GetName()) })
	return found
}

func (s *Server) get(key Key, at int64) client.Object {
	for _, v := range slices.Backward(s.objects[key]) {
		if at == Newest || v.from <= at {
			return v.object
		}
	}
	return nil
}

func clone(object client.Object) client.Object {
	if object == nil {
		return nil
	}
	copied, ok := object.DeepCopyObject().(client.Object)
	if !ok {
		panic(fmt.Sprintf("the copy of %T is no object", object))
	}
	return copied
}

// unlock ends a write: the function of OnWrite may read.
func (s *Server) unlock() {
	told := s.told
	s.told = nil
	s.mu.Unlock()
	for _, write := range told {
		s.onWrite(write)
	}
}

// commit makes after the newest version of the object, unless nothing would change. It returns what is there then.
func (s *Server) commit(write Write) client.Object {
	before, after := write.Before, write.After
	switch {
	case before == nil:
		s.uids++
		after.SetUID(types.UID(fmt.Sprintf("uid-%d", s.uids)))
		after.SetCreationTimestamp(metav1.NewTime(time.Unix(0, 0)))
		after.SetGeneration(1)
	case same(before, after):
		return before
	case !equality.Semantic.DeepEqual(part(before, "Spec"), part(after, "Spec")):
		after.SetGeneration(before.GetGeneration() + 1)
	default:
		after.SetGeneration(before.GetGeneration())
	}
	s.revision++
	after.SetResourceVersion(strconv.FormatInt(s.revision, 10))
	if after.GetDeletionTimestamp() != nil && len(after.GetFinalizers()) == 0 && !graceful(after) {
		write.After = nil
	}
	s.objects[write.Key] = append(s.objects[write.Key], version{s.revision, write.After})
	s.told = append(s.told, write)
	return after
}

// remove takes an object away at once.
func (s *Server) remove(write Write) {
	s.revision++
	write.After = nil
	s.objects[write.Key] = append(s.objects[write.Key], version{s.revision, nil})
	s.told = append(s.told, write)
}

// graceful says that objects of the kind wait for somebody to end what they stand for.
func graceful(object client.Object) bool {
	return object.GetObjectKind().GroupVersionKind().Kind == "Pod"
}

// same says that a write changed nothing but what the API server itself writes.
func same(before, after client.Object) bool {
	a, b := clone(before), clone(after)
	for _, object := range []client.Object{a, b} {
		object.SetResourceVersion("")
		object.SetGeneration(0)
		entries := object.GetManagedFields()
		for i := range entries {
			entries[i].Time = nil
		}
		object.SetManagedFields(entries)
	}
	return equality.Semantic.DeepEqual(a, b)
}

// part is a field of an object's struct, nil where the kind has none.
func part(object client.Object, field string) any {
	value := reflect.ValueOf(object).Elem().FieldByName(field)
	if !value.IsValid() {
		return nil
	}
	return value.Interface()
}

// check compares preconditions with the live object; empty ones ask for nothing.
func check(key Key, live client.Object, uid types.UID, resourceVersion string) error {
	conflict := func(format string, args ...any) error {
		return apierrors.NewConflict(resource(key), key.Name, fmt.Errorf(format, args...))
	}
	switch {
	case live == nil && uid == "" && resourceVersion == "":
		return nil
	case live == nil:
		return conflict("uid mismatch: there is no such object")
	case uid != "" && uid != live.GetUID():
		return conflict("the UID in the precondition (%s) is not that of the object (%s)", uid, live.GetUID())
	case resourceVersion != "" && resourceVersion != live.GetResourceVersion():
		return conflict("the object has been modified; it is at %s, not at %s", live.GetResourceVersion(), resourceVersion)
	}
	return nil
}

func resource(key Key) schema.GroupResource {
	return schema.GroupResource{Group: key.Kind.Group, Resource: key.Kind.Kind}
}
