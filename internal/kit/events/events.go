// Package events reports transitions of conditions and irreversible actions through events.k8s.io.
package events

import (
	"slices"
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
)

// maxNote is the longest note in bytes that the API takes.
const maxNote = 1024

// An Event is one thing to report about an object.
type Event struct {
	// Type is Normal or Warning.
	Type string
	// Reason is the condition's reason.
	Reason string
	// Note is the condition's message.
	Note string
}

// Rules say which condition changes are reported, and how.
type Rules struct {
	// Types are the condition types whose changes are reported, in the order of the report.
	Types []string
	// Warnings are the reasons that are reported as Warning; all others are Normal.
	Warnings []string
}

// Transitions returns what is to be reported when an object's conditions go from previous to next: each
// condition of the rules' types that is new, or whose status or reason changed. A changed message is no
// transition.
func Transitions(previous, next []metav1.Condition, rules Rules) []Event {
	var found []Event
	for _, conditionType := range rules.Types {
		after := meta.FindStatusCondition(next, conditionType)
		if after == nil {
			continue
		}
		before := meta.FindStatusCondition(previous, conditionType)
		if before != nil && before.Status == after.Status && before.Reason == after.Reason {
			continue
		}
		event := Event{Type: corev1.EventTypeNormal, Reason: after.Reason, Note: after.Message}
		if slices.Contains(rules.Warnings, after.Reason) {
			event.Type = corev1.EventTypeWarning
		}
		found = append(found, event)
	}
	return found
}

// A Recorder sends events. It never fails and never blocks: an event that cannot be sent is lost.
type Recorder struct {
	// Events is the manager's recorder, by the controller's name.
	Events events.EventRecorder
}

// Report sends the events of obj that Transitions found.
func (r Recorder) Report(obj runtime.Object, found []Event) {
	for _, event := range found {
		r.Events.Eventf(obj, nil, event.Type, event.Reason, "Reconcile", "%s", bound(event.Note))
	}
}

// Action reports a step that cannot be taken back: obj is whose step it is, related the object that it was done
// to, action a verb in CamelCase.
func (r Recorder) Action(obj, related runtime.Object, reason, action, note string) {
	r.Events.Eventf(obj, related, corev1.EventTypeNormal, reason, action, "%s", bound(note))
}

// bound cuts a note at a rune's edge, so that it fits with the mark of the cut.
func bound(note string) string {
	if len(note) <= maxNote {
		return note
	}
	const mark = "…"
	end := maxNote - len(mark)
	for !utf8.RuneStart(note[end]) {
		end--
	}
	return note[:end] + mark
}
