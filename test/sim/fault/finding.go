package fault

import (
	"context"
	"testing"
	"testing/synctest"
)

// A Finding is what ends a history that must not go on: it panics with one.
type Finding struct {
	// Kind tells findings of the same cause.
	Kind string
	Err  error
	// Trace is the history, a line for each thing that happened.
	Trace []string
}

// InBubble runs one history in a bubble of its own, and says what it ended with; nil where all was well. Any other panic goes on.
func InBubble(t *testing.T, run func(context.Context)) *Finding {
	t.Helper()
	var reason any
	synctest.Test(t, func(t *testing.T) {
		defer func() { reason = recover() }()
		run(t.Context())
	})
	found, is := reason.(*Finding)
	if !is && reason != nil {
		panic(reason)
	}
	return found
}
