package revisions

import corev1 "k8s.io/api/core/v1"

// Decide names the ConfigMaps to delete.
func Decide(w World) []corev1.ConfigMap {
	if w.Rolling {
		return nil
	}
	used := map[string]bool{}
	for _, set := range w.StatefulSets {
		note(used, set.Spec.Template.Spec)
	}
	for _, pod := range w.Pods {
		note(used, pod.Spec)
	}
	var unused []corev1.ConfigMap
	for _, config := range w.Configs {
		if !used[config.Name] && !w.Rendered[config.Name] && config.DeletionTimestamp == nil {
			unused = append(unused, config)
		}
	}
	return unused
}

func note(used map[string]bool, spec corev1.PodSpec) {
	for _, volume := range spec.Volumes {
		if volume.ConfigMap != nil {
			used[volume.ConfigMap.Name] = true
		}
	}
}
