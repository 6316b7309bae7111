package apimodel

import (
	"fmt"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

func server(t *testing.T) *Server {
	t.Helper()
	s, err := New(scheme.Scheme, &corev1.ConfigMap{}, &appsv1.StatefulSet{})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func config() *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "one"}, Data: map[string]string{"a": "1"}}
}

func created(t *testing.T, s *Server, object client.Object) (client.Object, Key) {
	t.Helper()
	made, err := s.Create("me", "owner", object)
	if err != nil {
		t.Fatal(err)
	}
	key, err := s.KeyOf(object)
	if err != nil {
		t.Fatal(err)
	}
	return made, key
}

// TestPreconditions: a write for another state than the present one is a conflict, whatever kind of write it is.
func TestPreconditions(t *testing.T) {
	for name, write := range map[string]func(*Server, Key, client.Object, types.UID, string) error{
		"an apply": func(s *Server, key Key, _ client.Object, uid types.UID, version string) error {
			body := fmt.Sprintf(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"one","namespace":"default","uid":%q,"resourceVersion":%q},"data":{"a":"2"}}`, uid, version)
			_, err := s.Patch("me", key, Patch{Type: types.ApplyPatchType, Body: []byte(body), Manager: "owner", Force: true})
			return err
		},
		"a merge patch": func(s *Server, key Key, _ client.Object, uid types.UID, version string) error {
			body := fmt.Sprintf(`{"metadata":{"uid":%q,"resourceVersion":%q},"data":{"a":"2"}}`, uid, version)
			_, err := s.Patch("me", key, Patch{Type: types.MergePatchType, Body: []byte(body), Manager: "owner"})
			return err
		},
		"a delete": func(s *Server, key Key, _ client.Object, uid types.UID, version string) error {
			return s.Delete("me", key, &metav1.Preconditions{UID: &uid, ResourceVersion: &version}, time.Time{})
		},
		"an update": func(s *Server, _ Key, made client.Object, uid types.UID, version string) error {
			next := clone(made)
			next.SetUID(uid)
			next.SetResourceVersion(version)
			next.SetLabels(map[string]string{"a": "2"})
			_, err := s.Update("me", next)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := server(t)
			made, key := created(t, s, config())
			if err := write(s, key, made, "another", made.GetResourceVersion()); !apierrors.IsConflict(err) {
				t.Errorf("with another UID: %v", err)
			}
			if err := write(s, key, made, made.GetUID(), "77"); !apierrors.IsConflict(err) {
				t.Errorf("with another resourceVersion: %v", err)
			}
			if err := write(s, key, made, made.GetUID(), made.GetResourceVersion()); err != nil {
				t.Errorf("of the present state: %v", err)
			}
			if s.Revision() != 2 {
				t.Errorf("%d writes, want the creation and one more", s.Revision())
			}
		})
	}
}

// TestNothingChanges: an apply of what is there writes nothing, and another manager's field is kept.
func TestNothingChanges(t *testing.T) {
	s := server(t)
	_, key := created(t, s, config())
	apply := func(manager, data string) client.Object {
		t.Helper()
		body := fmt.Sprintf(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"one","namespace":"default"},"data":%s}`, data)
		out, err := s.Patch("me", key, Patch{Type: types.ApplyPatchType, Body: []byte(body), Manager: manager, Force: true})
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	apply("other", `{"b":"1"}`)
	at := s.Revision()
	if apply("other", `{"b":"1"}`); s.Revision() != at {
		t.Error("an apply that changes nothing was a write")
	}
	out, is := apply("other", `{"c":"1"}`).(*corev1.ConfigMap)
	if !is || out.Data["a"] != "1" || out.Data["c"] != "1" || out.Data["b"] != "" {
		t.Errorf("after an apply of another field: %v", out.Data)
	}
}

// TestVersions: a reader of an old version sees that one, and generation counts changes of the spec alone.
func TestVersions(t *testing.T) {
	s := server(t)
	set := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "one"}, Spec: appsv1.StatefulSetSpec{Replicas: new(int32(1))}}
	made, key := created(t, s, set)
	set, _ = made.(*appsv1.StatefulSet)
	set.Status.Replicas = 1
	reported, err := s.UpdateStatus("controller", set)
	if err != nil || reported.GetGeneration() != 1 {
		t.Fatalf("after the status: generation %d, %v", reported.GetGeneration(), err)
	}
	set, _ = reported.(*appsv1.StatefulSet)
	set.Spec.Replicas, set.Status.Replicas = new(int32(0)), 5
	edited, err := s.Update("user", set)
	if err != nil || edited.GetGeneration() != 2 {
		t.Fatalf("after the spec: generation %d, %v", edited.GetGeneration(), err)
	}
	if live, _ := edited.(*appsv1.StatefulSet); live.Status.Replicas != 1 {
		t.Error("an update has written the status")
	}
	if old, _ := s.Get(key, 1).(*appsv1.StatefulSet); *old.Spec.Replicas != 1 || old.Status.Replicas != 0 {
		t.Errorf("the first version is %v", old)
	}
	if err := s.Delete("user", key, nil, time.Time{}); err != nil {
		t.Fatal(err)
	}
	if s.Get(key, Newest) != nil || s.Get(key, 3) == nil {
		t.Error("a deleted object is there, or its last version is not")
	}
}
