package conditions_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-dev/holdfast/internal/kit/conditions"
)

var (
	before = time.Date(2026, 11, 29, 8, 0, 0, 0, time.UTC)
	now    = before.Add(time.Hour)
)

func condition(kind string, status metav1.ConditionStatus, reason string, generation int64, at time.Time) metav1.Condition {
	return metav1.Condition{
		Type: kind, Status: status, Reason: reason, Message: "as " + reason,
		ObservedGeneration: generation, LastTransitionTime: metav1.NewTime(at),
	}
}

// want is a condition as a concern asks for it: without times and generation.
func want(kind string, status metav1.ConditionStatus, reason string) metav1.Condition {
	return metav1.Condition{Type: kind, Status: status, Reason: reason, Message: "as " + reason}
}

func TestSet(t *testing.T) {
	previous := []metav1.Condition{
		condition("Ready", metav1.ConditionTrue, "All", 1, before),
		condition("Settled", metav1.ConditionTrue, "Current", 1, before.Add(time.Minute)),
	}
	for name, c := range map[string]struct {
		previous   []metav1.Condition
		generation int64
		now        time.Time
		wanted     []metav1.Condition
		want       []metav1.Condition
	}{
		"first": {
			generation: 1, now: now.Add(900 * time.Millisecond),
			wanted: []metav1.Condition{want("Ready", metav1.ConditionUnknown, "New")},
			want:   []metav1.Condition{condition("Ready", metav1.ConditionUnknown, "New", 1, now)},
		},
		"no news": {
			previous: previous, generation: 1, now: now,
			wanted: []metav1.Condition{want("Ready", metav1.ConditionTrue, "All"), want("Settled", metav1.ConditionTrue, "Current")},
			want:   previous,
		},
		"status changes": {
			previous: previous, generation: 1, now: now,
			wanted: []metav1.Condition{want("Ready", metav1.ConditionFalse, "Few"), want("Settled", metav1.ConditionUnknown, "Silent")},
			want: []metav1.Condition{
				condition("Ready", metav1.ConditionFalse, "Few", 1, now), condition("Settled", metav1.ConditionUnknown, "Silent", 1, now),
			},
		},
		"only reason, message and generation change": {
			previous: previous, generation: 2, now: now,
			wanted: []metav1.Condition{want("Ready", metav1.ConditionTrue, "Quorum"), want("Settled", metav1.ConditionTrue, "Current")},
			want: []metav1.Condition{
				condition("Ready", metav1.ConditionTrue, "Quorum", 2, before),
				condition("Settled", metav1.ConditionTrue, "Current", 2, before.Add(time.Minute)),
			},
		},
		"the wanted order counts, and what is not wanted goes": {
			previous: previous, generation: 1, now: now,
			wanted: []metav1.Condition{want("Settled", metav1.ConditionTrue, "Current"), want("Progressing", metav1.ConditionFalse, "UpToDate")},
			want: []metav1.Condition{
				condition("Settled", metav1.ConditionTrue, "Current", 1, before.Add(time.Minute)),
				condition("Progressing", metav1.ConditionFalse, "UpToDate", 1, now),
			},
		},
		"nothing wanted": {previous: previous, generation: 1, now: now},
	} {
		t.Run(name, func(t *testing.T) {
			got := conditions.Set(c.previous, c.generation, c.now, c.wanted...)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestSetBoundsMessages(t *testing.T) {
	for name, c := range map[string]struct{ message, want string }{
		"longest that fits": {strings.Repeat("ü", 1024), strings.Repeat("ü", 1024)},
		"one too long":      {strings.Repeat("ü", 1025), strings.Repeat("ü", 1023) + "…"},
	} {
		t.Run(name, func(t *testing.T) {
			got := conditions.Set(nil, 1, now, metav1.Condition{Type: "Ready", Message: c.message})
			if got[0].Message != c.want {
				t.Errorf("message of %d runes, want %d", len([]rune(got[0].Message)), len([]rune(c.want)))
			}
		})
	}
}
