// Package podtemplate is the story of a podTemplate, and of one that cannot be merged.
package podtemplate

import (
	"embed"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-dev/holdfast/api/nats/cluster/v1beta1"
	"github.com/holdfast-dev/holdfast/test/stories/lab"
)

//go:embed *.yaml
var files embed.FS

// Run tells the story.
func Run(s *lab.Story) {
	ctx := s.Context()
	s.Create(files)
	pods, err := s.Pods(ctx, s.Namespace, "demo")
	s.Must(err)
	for _, pod := range pods {
		if pod.Labels["team"] != "messaging" || *pod.Spec.TerminationGracePeriodSeconds != 240 || !hasEnv(pod, "TZ") {
			s.Errorf("%s: labels %v, grace %d, env %v", pod.Name, pod.Labels, *pod.Spec.TerminationGracePeriodSeconds, pod.Spec.Containers[0].Env)
		}
	}
	processes := s.Running()

	s.Must(s.Apply(ctx, s.Namespace, files, "wrong.yaml"))
	held, err := s.UntilCluster(ctx, time.Minute, s.Namespace, "demo", "held", lab.HasCondition(v1beta1.ConditionProgressing, metav1.ConditionFalse, v1beta1.ReasonUnsupportedSpec))
	s.Must(err)
	if message := meta.FindStatusCondition(held.Status.Conditions, v1beta1.ConditionProgressing).Message; !strings.Contains(message, "terminationGracePeriod") {
		s.Errorf("the message does not name the field: %s", message)
	}
	s.AtRest()

	s.Create(files)
	s.Restarted(processes)
}

func hasEnv(pod corev1.Pod, name string) bool {
	for _, env := range pod.Spec.Containers[0].Env {
		if env.Name == name {
			return true
		}
	}
	return false
}
