package render

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	kjson "sigs.k8s.io/json"
)

const pathPodSpec = "spec.podTemplate.spec"

// mergePod lays podTemplate.spec over the rendered Pod as kubectl's strategic merge does. It is strict: a field
// that Kubernetes does not know is refused rather than lost, and so is what would take from the server something
// it cannot run safely without.
func mergePod(base corev1.PodSpec, patch *runtime.RawExtension) (corev1.PodSpec, error) {
	raw, fields, err := patchOf(patch)
	if err != nil || len(fields) == 0 {
		return base, err
	}
	// Affinities would be joined; the rendered one is only a default.
	if _, ok := fields["affinity"]; ok {
		base.Affinity = nil
	}
	merged, err := strategicMerge(base, raw)
	if err != nil {
		return corev1.PodSpec{}, &UnsupportedError{Path: pathPodSpec, Message: fmt.Sprintf("cannot be merged: %v", err)}
	}
	// The merge puts new containers first, but kubectl logs and exec take the first one.
	slices.SortStableFunc(merged.Containers, func(a, b corev1.Container) int { return rank(a) - rank(b) })
	if err := checkMerged(base, merged); err != nil {
		return corev1.PodSpec{}, err
	}
	return merged, nil
}

// rank orders the containers: the rendered ones, then the others as they come.
func rank(container corev1.Container) int {
	switch container.Name {
	case containerNATS:
		return 0
	case containerExporter:
		return 1
	}
	return 2
}

// patchOf reads the patch strictly and returns it, as JSON and as its top-level fields. No patch has no fields.
func patchOf(patch *runtime.RawExtension) ([]byte, map[string]any, error) {
	if patch == nil {
		return nil, nil, nil
	}
	raw, err := patch.MarshalJSON()
	if err != nil {
		return nil, nil, &UnsupportedError{Path: pathPodSpec, Message: fmt.Sprintf("is no JSON object: %v", err)}
	}
	var fields map[string]any
	if err := strictly(raw, &fields); err != nil {
		return nil, nil, &UnsupportedError{Path: pathPodSpec, Message: fmt.Sprintf("is no JSON object: %v", err)}
	}
	plain, err := json.Marshal(withoutDirectives(fields))
	if err != nil {
		return nil, nil, &UnsupportedError{Path: pathPodSpec, Message: fmt.Sprintf("cannot be read: %v", err)}
	}
	if err := strictly(plain, &corev1.PodSpec{}); err != nil {
		return nil, nil, &UnsupportedError{Path: pathPodSpec, Message: fmt.Sprintf("is no partial Pod spec: %v", err)}
	}
	return raw, fields, nil
}

// strictly reads JSON into v and refuses fields that are there twice or that v does not have, by their path.
func strictly(data []byte, v any) error {
	strict, err := kjson.UnmarshalStrict(data, v)
	if err == nil && len(strict) > 0 {
		return strict[0]
	}
	return err
}

// withoutDirectives drops the keys that only steer the merge ($patch, $setElementOrder/… and so on), which no Pod
// has.
func withoutDirectives(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, value := range v {
			if !strings.HasPrefix(key, "$") {
				out[key] = withoutDirectives(value)
			}
		}
		return out
	case []any:
		out := make([]any, 0, len(v))
		for _, value := range v {
			out = append(out, withoutDirectives(value))
		}
		return out
	}
	return v
}

func strategicMerge(base corev1.PodSpec, patch []byte) (corev1.PodSpec, error) {
	original, err := json.Marshal(base)
	if err != nil {
		return corev1.PodSpec{}, err
	}
	data, err := strategicpatch.StrategicMergePatch(original, patch, corev1.PodSpec{})
	if err != nil {
		return corev1.PodSpec{}, err
	}
	var merged corev1.PodSpec
	return merged, strictly(data, &merged)
}
