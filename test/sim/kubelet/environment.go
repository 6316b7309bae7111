package kubelet

import (
	"context"
	"errors"
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// errEnvironment is about a variable that cannot be given its value.
var errEnvironment = errors.New("environment")

// environment is what the container's processes start with.
func (s *sandbox) environment(ctx context.Context) ([]string, error) {
	env := []string{"PATH=/", "HOSTNAME=" + s.pod.Spec.Hostname}
	for _, variable := range s.container.Env {
		value, ok, err := s.value(ctx, variable)
		if err != nil {
			return nil, fmt.Errorf("%w: %s: %w", errEnvironment, variable.Name, err)
		}
		if ok {
			env = append(env, variable.Name+"="+value)
		}
	}
	return env, nil
}

// value is not ok for a variable that the container does without.
func (s *sandbox) value(ctx context.Context, variable corev1.EnvVar) (value string, ok bool, err error) {
	switch from := variable.ValueFrom; {
	case from == nil:
		return variable.Value, true, nil
	case from.SecretKeyRef != nil:
		data, err := s.secret(ctx, from.SecretKeyRef.Name)
		return pick(data, err, from.SecretKeyRef.Key, from.SecretKeyRef.Optional)
	case from.ConfigMapKeyRef != nil:
		data, err := s.configMap(ctx, from.ConfigMapKeyRef.Name)
		return pick(data, err, from.ConfigMapKeyRef.Key, from.ConfigMapKeyRef.Optional)
	case from.FieldRef != nil:
		value, ok = s.field(from.FieldRef.FieldPath)
		if !ok {
			return "", false, errors.New("the field " + from.FieldRef.FieldPath + " is not simulated")
		}
		return value, true, nil
	}
	return "", false, errors.New("this kind of source is not simulated")
}

// pick is a key of what was read. An optional one may be missing, and so may all of it.
func pick(data map[string][]byte, err error, key string, optional *bool) (value string, ok bool, _ error) {
	content, ok := data[key]
	switch {
	case err == nil && ok:
		return string(content), true, nil
	case ptr.Deref(optional, false) && client.IgnoreNotFound(err) == nil:
		return "", false, nil
	case err == nil:
		err = errors.New("the key " + key + " is missing")
	}
	return "", false, err
}

// field is a value of the Pod itself.
func (s *sandbox) field(path string) (value string, ok bool) {
	switch path {
	case "metadata.name":
		return s.pod.Name, true
	case "metadata.namespace":
		return s.pod.Namespace, true
	case "metadata.uid":
		return string(s.pod.UID), true
	case "status.podIP", "status.podIPs":
		return s.ip, true
	case "status.hostIP", "status.hostIPs":
		return nodeAddress, true
	case "spec.nodeName":
		return nodeName, true
	}
	return "", false
}

// secret is a Secret's data.
func (s *sandbox) secret(ctx context.Context, name string) (map[string][]byte, error) {
	var object corev1.Secret
	err := s.k.client.Get(ctx, types.NamespacedName{Namespace: s.pod.Namespace, Name: name}, &object)
	return object.Data, err
}

// configMap is a ConfigMap's data, binary or not.
func (s *sandbox) configMap(ctx context.Context, name string) (map[string][]byte, error) {
	var object corev1.ConfigMap
	err := s.k.client.Get(ctx, types.NamespacedName{Namespace: s.pod.Namespace, Name: name}, &object)
	data := map[string][]byte{}
	maps.Copy(data, object.BinaryData)
	for key, content := range object.Data {
		data[key] = []byte(content)
	}
	return data, err
}
