package serving

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-dev/holdfast/api/garage/v1beta2"
)

// Act writes the label of one Pod, or takes it away. The Pod is the one that was decided on: another one is a conflict.
func Act(ctx context.Context, c client.Client, pod *corev1.Pod, serves bool) error {
	written := pod.DeepCopy()
	if serves {
		written.Labels[v1beta2.LabelS3Member] = "true"
	} else {
		delete(written.Labels, v1beta2.LabelS3Member)
	}
	patch := client.MergeFromWithOptions(pod, client.MergeFromWithOptimisticLock{})
	if err := c.Patch(ctx, written, patch); err != nil {
		return fmt.Errorf("labelling Pod %s for the S3 Service: %w", pod.Name, err)
	}
	return nil
}
