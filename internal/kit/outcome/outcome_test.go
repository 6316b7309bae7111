package outcome_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/holdfast-dev/holdfast/internal/kit/outcome"
)

func TestOutcome(t *testing.T) {
	resource := schema.GroupResource{Group: "apps", Resource: "statefulsets"}
	conflict := fmt.Errorf("writing: %w", apierrors.NewConflict(resource, "a", errors.New("moved")))
	exists := apierrors.NewAlreadyExists(resource, "b")
	refused := apierrors.NewForbidden(resource, "c", errors.New("no"))
	mixed := fmt.Errorf("two writes: %w", errors.Join(conflict, refused))

	for name, c := range map[string]struct {
		outcome outcome.Outcome
		kind    outcome.Kind
		stops   bool
		result  reconcile.Result
		err     error
		text    string
	}{
		"zero value":      {outcome.Outcome{}, outcome.KindContinue, false, reconcile.Result{}, nil, "done"},
		"continue":        {outcome.Continue(), outcome.KindContinue, false, reconcile.Result{}, nil, "done"},
		"wait":            {outcome.Wait("server a-2"), outcome.KindWait, true, reconcile.Result{}, nil, "waits for server a-2"},
		"retry":           {outcome.Retry(time.Minute, "not settled"), outcome.KindRetry, true, reconcile.Result{RequeueAfter: time.Minute}, nil, "looks again in 1m0s: not settled"},
		"retry long due":  {outcome.Retry(-time.Minute, "late"), outcome.KindRetry, true, reconcile.Result{RequeueAfter: 250 * time.Millisecond}, nil, "looks again in -1m0s: late"},
		"stalled":         {outcome.Stalled("UnsupportedSpec", "no"), outcome.KindStalled, true, reconcile.Result{}, nil, "stalled, UnsupportedSpec: no"},
		"failed":          {outcome.Failed(refused), outcome.KindFailed, true, reconcile.Result{}, refused, "failed: " + refused.Error()},
		"conflict":        {outcome.Failed(conflict), outcome.KindFailed, true, reconcile.Result{RequeueAfter: time.Second}, nil, "failed: " + conflict.Error()},
		"already exists":  {outcome.Failed(exists), outcome.KindFailed, true, reconcile.Result{RequeueAfter: time.Second}, nil, "failed: " + exists.Error()},
		"two conflicts":   {outcome.Failed(errors.Join(conflict, exists)), outcome.KindFailed, true, reconcile.Result{RequeueAfter: time.Second}, nil, "failed: " + errors.Join(conflict, exists).Error()},
		"conflict hidden": {outcome.Failed(mixed), outcome.KindFailed, true, reconcile.Result{}, mixed, "failed: " + mixed.Error()},
	} {
		t.Run(name, func(t *testing.T) {
			result, err := outcome.Result(c.outcome)
			if c.outcome.Kind() != c.kind || c.outcome.Stops() != c.stops || result != c.result || !errors.Is(err, c.err) || c.outcome.String() != c.text {
				t.Errorf("kind %d, stops %t, result %v, error %v, text %q", c.outcome.Kind(), c.outcome.Stops(), result, err, c.outcome)
			}
		})
	}
}
