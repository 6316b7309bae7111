package env

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	sigsyaml "sigs.k8s.io/yaml"
)

// Namespace makes a namespace of the test's own, with the default ServiceAccount that a cluster's controllers
// would put there. It enforces the restricted Pod security profile.
func (e *Env) Namespace(tb testing.TB) string {
	tb.Helper()
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		GenerateName: "t-", Labels: map[string]string{"pod-security.kubernetes.io/enforce": "restricted"},
	}}
	if err := e.Client.Create(tb.Context(), ns); err != nil {
		tb.Fatal("creating a namespace:", err)
	}
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: ns.Name, Name: "default"}}
	if err := e.Client.Create(tb.Context(), account); err != nil {
		tb.Fatal("creating the namespace's ServiceAccount:", err)
	}
	return ns.Name
}

var users atomic.Int64

// UserWithRole is the way in of a new user who has exactly what the given Roles and ClusterRoles allow. Copies
// of them are created for that user; a Role is bound in its own namespace, a ClusterRole everywhere.
func (e *Env) UserWithRole(tb testing.TB, roles ...client.Object) *rest.Config {
	tb.Helper()
	user := fmt.Sprintf("user-%d", users.Add(1))
	subject := []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}}
	for i, role := range roles {
		gvk, err := e.Client.GroupVersionKindFor(role)
		if err != nil {
			tb.Fatal("a role is needed:", err)
		}
		own := role.DeepCopyObject().(client.Object)
		own.SetName(fmt.Sprintf("%s-%d", user, i))
		meta := metav1.ObjectMeta{Namespace: own.GetNamespace(), Name: own.GetName()}
		ref := rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: gvk.Kind, Name: own.GetName()}
		var binding client.Object = &rbacv1.ClusterRoleBinding{ObjectMeta: meta, Subjects: subject, RoleRef: ref}
		if gvk.Kind == "Role" {
			binding = &rbacv1.RoleBinding{ObjectMeta: meta, Subjects: subject, RoleRef: ref}
		}
		for _, object := range []client.Object{own, binding} {
			if err := e.Client.Create(tb.Context(), object); err != nil {
				tb.Fatalf("giving %s the %s %s: %v", user, gvk.Kind, role.GetName(), err)
			}
		}
	}
	added, err := e.plane.AddUser(envtest.User{Name: user}, &rest.Config{QPS: e.Config.QPS, Burst: e.Config.Burst})
	if err != nil {
		tb.Fatal("making a user:", err)
	}
	return added.Config()
}

// ShippedRules are what the chart of that name lets its controller do in the namespaces that it looks after, and what it may
// everywhere.
func ShippedRules(tb testing.TB, chart string) (there, everywhere []rbacv1.PolicyRule) {
	tb.Helper()
	root, err := repository()
	if err != nil {
		tb.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(root, "charts", chart, "files", "rules", "*.yaml"))
	if err != nil || len(files) == 0 {
		tb.Fatalf("%s has no rules: %v", chart, err)
	}
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			tb.Fatal(err)
		}
		var rules []rbacv1.PolicyRule
		if err := sigsyaml.UnmarshalStrict(content, &rules); err != nil {
			tb.Fatalf("%s: %v", file, err)
		}
		if strings.HasSuffix(file, "-everywhere.yaml") {
			everywhere = append(everywhere, rules...)
		} else {
			there = append(there, rules...)
		}
	}
	return there, everywhere
}

// Samples are the objects of each file in config/samples, by the file's name.
func Samples(tb testing.TB) map[string][]*unstructured.Unstructured {
	tb.Helper()
	root, err := repository()
	if err != nil {
		tb.Fatal(err)
	}
	paths, err := filepath.Glob(filepath.Join(root, "config", "samples", "*.yaml"))
	if err != nil || len(paths) == 0 {
		tb.Fatal("config/samples has no manifests", err)
	}
	samples := map[string][]*unstructured.Unstructured{}
	for _, path := range paths {
		content, err := os.ReadFile(path)
		if err != nil {
			tb.Fatal(err)
		}
		samples[filepath.Base(path)] = Decode(tb, content)
	}
	return samples
}

// Decode reads a YAML stream of Kubernetes objects.
func Decode(tb testing.TB, manifests []byte) []*unstructured.Unstructured {
	tb.Helper()
	var objects []*unstructured.Unstructured
	decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(manifests), 4096)
	for {
		object := &unstructured.Unstructured{}
		err := decoder.Decode(&object.Object)
		if errors.Is(err, io.EOF) {
			return objects
		}
		if err != nil {
			tb.Fatalf("not a Kubernetes object: %v in\n%s", err, strings.TrimSpace(string(manifests)))
		}
		if len(object.Object) > 0 {
			objects = append(objects, object)
		}
	}
}

// CRDs are the names of the files in config/crd.
func CRDs(tb testing.TB) []string {
	tb.Helper()
	root, err := repository()
	if err != nil {
		tb.Fatal(err)
	}
	paths, err := filepath.Glob(filepath.Join(root, "config", "crd", "*.yaml"))
	if err != nil || len(paths) == 0 {
		tb.Fatal("config/crd has no files", err)
	}
	names := make([]string, 0, len(paths))
	for _, path := range paths {
		names = append(names, filepath.Base(path))
	}
	return names
}

// CRD is the file in config/crd of that name, decoded, and its size in bytes.
func CRD(tb testing.TB, file string) (crd *unstructured.Unstructured, size int) {
	tb.Helper()
	root, err := repository()
	if err != nil {
		tb.Fatal(err)
	}
	content, err := os.ReadFile(filepath.Join(root, "config", "crd", file))
	if err != nil {
		tb.Fatal(err)
	}
	return Decode(tb, content)[0], len(content)
}
