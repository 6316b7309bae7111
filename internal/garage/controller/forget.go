package controller

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-dev/holdfast/api/garage/v1beta2"
	"github.com/holdfast-dev/holdfast/internal/garage/revisions"
	"github.com/holdfast-dev/holdfast/internal/kit/outcome"
)

// forget lets go of configurations that nothing runs.
func (p *pass) forget(ctx context.Context) outcome.Outcome {
	var (
		configs corev1.ConfigMapList
		sets    appsv1.StatefulSetList
		pods    corev1.PodList
	)
	for _, list := range []client.ObjectList{&configs, &sets, &pods} {
		if err := p.Client.List(ctx, list, client.InNamespace(p.cluster.Namespace), client.MatchingLabels{v1beta2.LabelCluster: p.cluster.Name}); err != nil {
			return outcome.Failed(err)
		}
	}
	rolling := p.report.Rollout
	w := revisions.World{
		StatefulSets: sets.Items, Pods: pods.Items, Rendered: map[string]bool{},
		Rolling: rolling == nil || rolling.Journal != nil || len(rolling.Behind) > 0,
	}
	for _, rendered := range p.objects.Rendered {
		w.Rendered[rendered.ConfigMap.Name] = true
	}
	for _, config := range configs.Items {
		if config.Annotations[v1beta2.AnnotationConfigHash] != "" && p.controls(&config) {
			w.Configs = append(w.Configs, config)
		}
	}
	if err := revisions.Act(ctx, p.applier(), revisions.Decide(w)); err != nil {
		return outcome.Failed(err)
	}
	return outcome.Continue()
}

// controls says that the object belongs to the GarageCluster or to one of its nodes.
func (p *pass) controls(object client.Object) bool {
	if metav1.IsControlledBy(object, p.cluster) {
		return true
	}
	for _, node := range p.nodes {
		if metav1.IsControlledBy(object, node.GarageNode) {
			return true
		}
	}
	return false
}
