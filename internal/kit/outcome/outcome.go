// Package outcome is the one vocabulary in which a concern tells its reconciler how it went
// (holdfast architecture, A concern). Only Result translates it for controller-runtime.
package outcome

import (
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// Kind tells outcomes apart.
type Kind int

// The kinds of an Outcome.
const (
	// KindContinue: nothing is in the way, the next concern runs.
	KindContinue Kind = iota
	// KindWait: something else has to happen first; a watch or the periodic visit wakes the reconciler.
	KindWait
	// KindRetry: look again after a time.
	KindRetry
	// KindStalled: nothing will change until a person acts.
	KindStalled
	// KindFailed: an error, tried again with back-off.
	KindFailed
)

// An Outcome is what became of one concern. The zero Outcome is Continue.
type Outcome struct {
	kind  Kind
	text  string
	after time.Duration
	err   error
}

// Continue lets the next concern run.
func Continue() Outcome { return Outcome{} }

// Wait stops the list until a watch or the periodic visit wakes the reconciler. on names what is waited for.
func Wait(on string) Outcome { return Outcome{kind: KindWait, text: "waits for " + on} }

// Retry stops the list and looks again after a time. why is a clause for the log.
func Retry(after time.Duration, why string) Outcome {
	return Outcome{kind: KindRetry, text: fmt.Sprintf("looks again in %s: %s", after, why), after: after}
}

// Stalled stops the list until a person changes something. reason is a condition reason.
func Stalled(reason, message string) Outcome {
	return Outcome{kind: KindStalled, text: fmt.Sprintf("stalled, %s: %s", reason, message)}
}

// Failed stops the list and tries again with back-off. err must not be nil.
func Failed(err error) Outcome {
	return Outcome{kind: KindFailed, text: "failed: " + err.Error(), err: err}
}

// Kind returns which of the five it is.
func (o Outcome) Kind() Kind { return o.kind }

// Stops says whether the concerns after this one have to wait: everything but Continue stops the list.
func (o Outcome) Stops() bool { return o.kind != KindContinue }

// String is the line for the log.
func (o Outcome) String() string {
	if o.kind == KindContinue {
		return "done"
	}
	return o.text
}

const (
	// soonest keeps a Retry whose time has passed from being read as "never": to controller-runtime, zero
	// means no further visit.
	soonest = 250 * time.Millisecond
	// afterConflict gives the cache time to show what the write collided with.
	afterConflict = time.Second
)

// Result translates an outcome for controller-runtime. A conflict, or an object that somebody else created
// first, is no error: what was decided on had moved, and the next visit decides again a second later.
func Result(o Outcome) (reconcile.Result, error) {
	switch o.kind {
	case KindRetry:
		return reconcile.Result{RequeueAfter: max(o.after, soonest)}, nil
	case KindFailed:
		if moved(o.err) {
			return reconcile.Result{RequeueAfter: afterConflict}, nil
		}
		return reconcile.Result{}, o.err
	default:
		return reconcile.Result{}, nil
	}
}

// moved says whether err is nothing but conflicts. A refusal that was joined to a conflict must still be
// reported, so every joined error has to be one.
func moved(err error) bool {
	var joined interface{ Unwrap() []error }
	if !errors.As(err, &joined) {
		return apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err)
	}
	for _, one := range joined.Unwrap() {
		if !moved(one) {
			return false
		}
	}
	return true
}
