// Package foreignobject is the story of objects that belong to somebody else.
package foreignobject

import (
	"embed"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-dev/holdfast/api/nats/cluster/v1beta1"
	"github.com/holdfast-dev/holdfast/test/stories/lab"
)

//go:embed *.yaml
var files embed.FS

// Run tells the story.
func Run(s *lab.Story) {
	ctx := s.Context()
	s.Must(s.Apply(ctx, s.Namespace, files, "in-the-way.yaml"))
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: "demo"}}
	config := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: "demo-1-config"}}
	before := versions(s, service, config)

	s.Must(s.Apply(ctx, s.Namespace, files, "cluster.yaml"))
	cluster, err := s.UntilCluster(ctx, time.Minute, s.Namespace, "demo", "refused", lab.HasCondition(v1beta1.ConditionReady, metav1.ConditionFalse, v1beta1.ReasonReconcileFailed))
	s.Must(err)
	for _, kind := range []string{v1beta1.ConditionReady, v1beta1.ConditionProgressing} {
		message := meta.FindStatusCondition(cluster.Status.Conditions, kind).Message
		if !strings.Contains(message, "Service demo") || !strings.Contains(message, "ConfigMap demo-1-config") {
			s.Errorf("%s does not name both objects: %s", kind, message)
		}
	}
	if after := versions(s, service, config); after != before {
		s.Errorf("the foreign objects were written: %s, then %s", before, after)
	}

	s.Must(s.Client.Delete(ctx, service))
	s.Must(s.Client.Delete(ctx, config))
	s.UpToDate(3 * time.Minute)
}

func versions(s *lab.Story, objects ...client.Object) string {
	s.Helper()
	var text strings.Builder
	for _, object := range objects {
		s.Must(s.Client.Get(s.Context(), client.ObjectKeyFromObject(object), object))
		text.WriteString(object.GetResourceVersion() + " ")
	}
	return text.String()
}
