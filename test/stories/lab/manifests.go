package lab

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// FieldOwner is who the stories' user is to the API server.
const FieldOwner = "a-person"

// Apply applies a manifest as a person would with kubectl apply --server-side: in that namespace, all of its
// documents. replace are pairs of old and new text, as for strings.NewReplacer.
func (l *Lab) Apply(ctx context.Context, namespace string, files fs.FS, file string, replace ...string) error {
	content, err := fs.ReadFile(files, file)
	if err != nil {
		return err
	}
	objects, err := decode([]byte(strings.NewReplacer(replace...).Replace(string(content))))
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	for _, object := range objects {
		object.SetNamespace(namespace)
		if err := l.Client.Apply(ctx, client.ApplyConfigurationFromUnstructured(object), client.FieldOwner(FieldOwner), client.ForceOwnership); err != nil {
			return fmt.Errorf("%s: applying %s %s: %w", file, object.GetKind(), object.GetName(), err)
		}
	}
	return nil
}

func decode(content []byte) ([]*unstructured.Unstructured, error) {
	var objects []*unstructured.Unstructured
	decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(content), 4096)
	for {
		object := &unstructured.Unstructured{}
		err := decoder.Decode(object)
		if errors.Is(err, io.EOF) {
			return objects, nil
		}
		if err != nil {
			return nil, err
		}
		if len(object.Object) > 0 {
			objects = append(objects, object)
		}
	}
}
