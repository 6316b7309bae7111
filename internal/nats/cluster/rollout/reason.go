package rollout

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/holdfast-dev/holdfast/internal/nats/cluster/facts"
	"github.com/holdfast-dev/holdfast/internal/nats/cluster/render"
)

// Reason says what asks for the restart of a server, for status.config.restartReason: the version, the
// StatefulSet, the paths of its configuration that differ, or, where nothing of these does, a certificate.
func Reason(server facts.Server, wanted render.Server) string {
	if server.ConfigMap == nil {
		return fmt.Sprintf("ConfigMap %s does not exist", wanted.ConfigMap.Name)
	}
	if server.StatefulSet == nil {
		return ""
	}
	running, next := server.StatefulSet.Spec.Template.Spec, wanted.StatefulSet.Spec.Template.Spec
	if from, to := tagOf(running), tagOf(next); from != to {
		return fmt.Sprintf("version %s -> %s is restart-only", from, to)
	}
	if !says(running, next) {
		return "the StatefulSet spec is restart-only"
	}
	paths := changedPaths(server.ConfigMap.Data[render.ConfigKey], wanted.ConfigMap.Data[render.ConfigKey])
	switch len(paths) {
	case 0:
		return "a certificate is restart-only"
	case 1:
		return paths[0] + " is restart-only"
	}
	return strings.Join(paths, ", ") + " are restart-only"
}

// says whether the running spec says all that next says. What the API server has filled in does not count, numbers
// included, which is why equality.Semantic.DeepDerivative is of no use.
func says(running, next corev1.PodSpec) bool {
	a, errA := runtime.DefaultUnstructuredConverter.ToUnstructured(&running)
	b, errB := runtime.DefaultUnstructuredConverter.ToUnstructured(&next)
	return errA == nil && errB == nil && contains(a, b)
}

// contains compares field by field what next has; lists must be as long.
func contains(running, next any) bool {
	switch next := next.(type) {
	case map[string]any:
		fields, ok := running.(map[string]any)
		for name, field := range next {
			ok = ok && contains(fields[name], field)
		}
		return ok
	case []any:
		items, ok := running.([]any)
		ok = ok && len(items) == len(next)
		for i := range next {
			ok = ok && contains(items[i], next[i])
		}
		return ok
	}
	return equality.Semantic.DeepEqual(running, next)
}

// tagOf is the tag of the image that runs nats-server.
func tagOf(spec corev1.PodSpec) string {
	for _, container := range spec.Containers {
		if container.Name == facts.Container {
			image, _, _ := strings.Cut(container.Image, "@")
			return image[strings.LastIndex(image, ":")+1:]
		}
	}
	return ""
}

// changedPaths compares two configurations key by key, down to the second level. server_metadata carries the
// revision, which changes with everything.
func changedPaths(running, next string) []string {
	var a, b map[string]any
	if json.Unmarshal([]byte(running), &a) != nil || json.Unmarshal([]byte(next), &b) != nil {
		return []string{"the configuration file"}
	}
	delete(a, "server_metadata")
	delete(b, "server_metadata")
	var paths []string
	for _, key := range keysOf(a, b) {
		inner, isMap := a[key].(map[string]any)
		other, alsoMap := b[key].(map[string]any)
		if !isMap || !alsoMap {
			if !equality.Semantic.DeepEqual(a[key], b[key]) {
				paths = append(paths, key)
			}
			continue
		}
		for _, deeper := range keysOf(inner, other) {
			if !equality.Semantic.DeepEqual(inner[deeper], other[deeper]) {
				paths = append(paths, key+"."+deeper)
			}
		}
	}
	return paths
}

func keysOf(a, b map[string]any) []string {
	keys := slices.Sorted(maps.Keys(a))
	for key := range b {
		if !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}
