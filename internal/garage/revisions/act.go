package revisions

import (
	"context"
	"errors"

	corev1 "k8s.io/api/core/v1"

	"github.com/holdfast-dev/holdfast/internal/kit/apply"
)

// Act deletes the ConfigMaps, each in the state that was decided on.
func Act(ctx context.Context, applier *apply.Applier, unused []corev1.ConfigMap) error {
	var errs []error
	for i := range unused {
		errs = append(errs, applier.Delete(ctx, &unused[i], apply.At(&unused[i])))
	}
	return errors.Join(errs...)
}
