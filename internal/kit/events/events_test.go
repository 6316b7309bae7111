package events_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/holdfast-dev/holdfast/internal/kit/events"
)

func condition(kind string, status metav1.ConditionStatus, reason, message string) metav1.Condition {
	return metav1.Condition{Type: kind, Status: status, Reason: reason, Message: message}
}

func TestTransitions(t *testing.T) {
	rules := events.Rules{Types: []string{"Progressing", "Ready"}, Warnings: []string{"ReconcileFailed"}}
	ready := condition("Ready", metav1.ConditionTrue, "All", "3 of 3")
	rolling := condition("Progressing", metav1.ConditionTrue, "Rolling", "waits for a-2")
	failed := condition("Progressing", metav1.ConditionFalse, "ReconcileFailed", "refused")

	for name, c := range map[string]struct {
		previous, next []metav1.Condition
		want           []events.Event
	}{
		"first, in the order of the rules": {
			nil, []metav1.Condition{ready, rolling},
			[]events.Event{{"Normal", "Rolling", "waits for a-2"}, {"Normal", "All", "3 of 3"}},
		},
		"no change":            {[]metav1.Condition{ready, rolling}, []metav1.Condition{ready, rolling}, nil},
		"only another message": {[]metav1.Condition{ready}, []metav1.Condition{condition("Ready", metav1.ConditionTrue, "All", "5 of 5")}, nil},
		"another reason": {
			[]metav1.Condition{ready}, []metav1.Condition{condition("Ready", metav1.ConditionTrue, "Quorum", "2 of 3")},
			[]events.Event{{"Normal", "Quorum", "2 of 3"}},
		},
		"another status": {
			[]metav1.Condition{ready}, []metav1.Condition{condition("Ready", metav1.ConditionUnknown, "All", "")},
			[]events.Event{{"Normal", "All", ""}},
		},
		"a warning": {
			[]metav1.Condition{rolling}, []metav1.Condition{failed}, []events.Event{{"Warning", "ReconcileFailed", "refused"}},
		},
		"a type without a rule": {nil, []metav1.Condition{condition("Settled", metav1.ConditionTrue, "Current", "")}, nil},
		"a type that has gone":  {[]metav1.Condition{ready}, nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, events.Transitions(c.previous, c.next, rules)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// lines is a recorder that keeps what it is given.
type lines []string

func (l *lines) Eventf(regarding, related runtime.Object, kind, reason, action, note string, args ...any) {
	*l = append(*l, fmt.Sprintf("of=%t with=%t %s %s %s %s", regarding != nil, related != nil, kind, reason, action, fmt.Sprintf(note, args...)))
}

func TestRecorder(t *testing.T) {
	var sent lines
	recorder := events.Recorder{Events: &sent}
	recorder.Report(&corev1.Pod{}, []events.Event{{"Warning", "ReconcileFailed", "at 100%d"}, {"Normal", "All", ""}})
	recorder.Action(&corev1.Pod{}, &corev1.Node{}, "RolloutStep", "Restart", "server a-2 at 50%s")
	want := lines{
		"of=true with=false Warning ReconcileFailed Reconcile at 100%d", "of=true with=false Normal All Reconcile ",
		"of=true with=true Normal RolloutStep Restart server a-2 at 50%s",
	}
	if diff := cmp.Diff(want, sent); diff != "" {
		t.Error(diff)
	}
}

func TestRecorderBoundsNotes(t *testing.T) {
	for name, c := range map[string]struct{ note, want string }{
		"longest that fits":      {strings.Repeat("a", 1024), strings.Repeat("a", 1024)},
		"one too long":           {strings.Repeat("a", 1025), strings.Repeat("a", 1021) + "…"},
		"cut within a character": {strings.Repeat("ü", 600), strings.Repeat("ü", 510) + "…"},
	} {
		t.Run(name, func(t *testing.T) {
			var sent lines
			events.Recorder{Events: &sent}.Action(nil, nil, "R", "A", c.note)
			if got := strings.TrimPrefix(sent[0], "of=false with=false Normal R A "); got != c.want {
				t.Errorf("note of %d bytes, want %d", len(got), len(c.want))
			}
		})
	}
}
