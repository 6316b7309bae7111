// Package conditions builds the condition list of a status.
package conditions

import (
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// maxMessage is the longest message in runes. A message that lists what it found can grow with the cluster;
// a status must not.
const maxMessage = 1024

// Set returns the whole new list: the wanted conditions, in their order, of which only Type, Status, Reason
// and Message are read. Conditions of previous that are not wanted any more are left out.
//
// The time of the last transition is carried over while the status stays the same, so that a status without
// news equals the previous one and need not be written: the API server keeps no transition times itself.
// A new time is cut to whole seconds, which is all that the API stores. Every condition observes generation;
// a message beyond 1024 runes is cut and ends in "…".
func Set(previous []metav1.Condition, generation int64, now time.Time, wanted ...metav1.Condition) []metav1.Condition {
	var next []metav1.Condition
	for _, want := range wanted {
		condition := metav1.Condition{
			Type: want.Type, Status: want.Status, Reason: want.Reason, Message: bound(want.Message),
			ObservedGeneration: generation, LastTransitionTime: metav1.NewTime(now.Truncate(time.Second)),
		}
		if before := meta.FindStatusCondition(previous, want.Type); before != nil && before.Status == want.Status {
			condition.LastTransitionTime = before.LastTransitionTime
		}
		next = append(next, condition)
	}
	return next
}

func bound(message string) string {
	if runes := []rune(message); len(runes) > maxMessage {
		return string(runes[:maxMessage-1]) + "…"
	}
	return message
}
