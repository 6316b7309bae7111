// Package deletion is the story of a NatsCluster that is deleted and made again on its old disks.
package deletion

import (
	"context"
	"embed"
	"fmt"
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
	cluster := s.Create(files)
	book := s.Load(cluster)

	s.Must(s.Client.Delete(ctx, cluster))
	s.Must(lab.Until(ctx, time.Minute, "the streams to hold it", func(ctxt context.Context) (bool, string) {
		held, err := s.Get(ctxt, s.Namespace, "demo")
		if err != nil {
			return false, err.Error()
		}
		deleting := meta.FindStatusCondition(held.Status.Conditions, v1beta1.ConditionDeleting)
		if deleting == nil {
			return false, "it is not held"
		}
		return deleting.Reason == v1beta1.ReasonJetStreamDataRemains, deleting.Reason + ": " + deleting.Message
	}))
	held, err := s.Get(ctx, s.Namespace, "demo")
	s.Must(err)
	before := held.DeepCopy()
	metav1.SetMetaDataAnnotation(&held.ObjectMeta, v1beta1.AnnotationForceDelete, "")
	s.Must(s.Client.Patch(ctx, held, client.MergeFrom(before)))
	s.Must(lab.Until(ctx, 5*time.Minute, "everything rendered to be gone", func(ctxt context.Context) (bool, string) {
		pods, err := s.Pods(ctxt, s.Namespace, "demo")
		if err != nil {
			return false, err.Error()
		}
		sets, err := s.Servers(ctxt, s.Namespace, "demo")
		return err == nil && len(pods)+len(sets) == 0, fmt.Sprintf("%d Pods, %d StatefulSets, %v", len(pods), len(sets), err)
	}))
	var claims corev1.PersistentVolumeClaimList
	s.Must(s.Client.List(ctx, &claims, client.InNamespace(s.Namespace), client.MatchingLabels{v1beta1.LabelCluster: "demo"}))
	if len(claims.Items) != 3 {
		s.Fatalf("%d claims are left, want 3", len(claims.Items))
	}

	s.Create(files)
	s.Conclude(book)
}
