package layout

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/holdfast-dev/holdfast/internal/garage/adminapi"
	"github.com/holdfast-dev/holdfast/internal/kit/outcome"
)

// API is what the writer is told over.
type API interface {
	GetClusterLayout(ctx context.Context) (adminapi.Layout, error)
	UpdateClusterLayout(ctx context.Context, change adminapi.LayoutChange) (adminapi.Layout, error)
	PreviewClusterLayoutChanges(ctx context.Context) (adminapi.Computation, error)
	ApplyClusterLayout(ctx context.Context, version uint64) (adminapi.Computation, error)
	RevertClusterLayout(ctx context.Context) (adminapi.Layout, error)
	ClusterLayoutSkipDeadNodes(ctx context.Context, skip adminapi.SkipDeadNodes) (adminapi.SkippedNodes, error)
}

// An Actor takes actions.
type Actor struct {
	// Reread makes the World afresh: objects from the API server, and new answers of every member. Its Journal is the one that
	// was decided on.
	Reread func(ctx context.Context) World
	// Of is the Admin API of a node.
	Of func(adminapi.NodeID) (API, error)
}

// retry is how soon an action is tried again after the facts moved under it.
const retry = 500 * time.Millisecond

// A RefusedError is a version that Garage will not make of what was staged. What was staged has been withdrawn again.
type RefusedError struct{ Message string }

func (e *RefusedError) Error() string { return "Garage refuses the layout: " + e.Message }

// Act takes the action if the facts, read once more, still allow it. The journal must have been written before. An error
// that is a *RefusedError belongs into the journal.
func (a *Actor) Act(ctx context.Context, action Action) (outcome.Outcome, error) {
	again := Decide(a.Reread(ctx)).Action
	if again == nil || again.Kind != action.Kind || again.Writer != action.Writer || again.Version != action.Version || again.Hash != action.Hash {
		return outcome.Retry(retry, "the facts moved before the layout was written"), nil
	}
	writer, err := a.Of(action.Writer)
	if err != nil {
		return outcome.Continue(), err
	}
	do := map[Kind]func(context.Context, API, Action) error{Apply: apply, Withdraw: withdraw, Skip: skip}[action.Kind]
	err = do(ctx, writer, action)
	if errors.Is(err, errMoved) {
		return outcome.Retry(retry, err.Error()), nil
	}
	return outcome.Continue(), err
}

// errMoved says that the layout is not as it was decided on; nothing was done about that.
var errMoved = errors.New("the layout was written by somebody else")

// apply stages the change unless that was done before, and makes a version of exactly that.
func apply(ctx context.Context, writer API, action Action) error {
	at, err := writer.GetClusterLayout(ctx)
	if err != nil {
		return err
	}
	if empty(stagedIn(at)) && at.Version == action.Version-1 {
		if _, err := writer.UpdateClusterLayout(ctx, action.Change); err != nil {
			return err
		}
		// What Update answers is what it has staged. Read back it is what a later Apply finds.
		if at, err = writer.GetClusterLayout(ctx); err != nil {
			return err
		}
	}
	if at.Version != action.Version-1 || !same(stagedIn(at), action.Change) {
		return errMoved
	}
	preview, err := writer.PreviewClusterLayoutChanges(ctx)
	var answer *adminapi.Error
	if errors.As(err, &answer) && answer.Class == adminapi.Refused {
		return errors.Join(&RefusedError{Message: answer.Message}, withdraw(ctx, writer, Action{Version: action.Version - 1, Hash: action.Hash}))
	}
	if err != nil {
		return err
	}
	if why := unexpected(at, preview.Layout, action); why != "" {
		return fmt.Errorf("what Garage would make of the layout is not what was asked for: %s", why)
	}
	_, err = writer.ApplyClusterLayout(ctx, action.Version)
	return err
}

// unexpected says in what the version that Garage would make differs from the present one with the change.
func unexpected(at, next adminapi.Layout, action Action) string {
	wanted := adminapi.Layout{Redundancy: at.Redundancy}
	if action.Change.Redundancy != nil {
		wanted.Redundancy = *action.Change.Redundancy
	}
	changed := map[adminapi.NodeID]bool{}
	for _, change := range action.Change.Roles {
		role, _ := change.Role()
		changed[change.Node()] = true
		wanted.Roles = append(wanted.Roles, adminapi.NodeRole{ID: change.Node(), Role: role})
	}
	for _, role := range at.Roles {
		if !changed[role.ID] {
			wanted.Roles = append(wanted.Roles, role)
		}
	}
	switch {
	case next.Version != action.Version:
		return fmt.Sprintf("version %d instead of %d", next.Version, action.Version)
	case !SameRoles(wanted, next):
		return "other roles"
	}
	return ""
}

// withdraw drops all staging, once it is seen that all of it is our own.
func withdraw(ctx context.Context, writer API, action Action) error {
	at, err := writer.GetClusterLayout(ctx)
	if err != nil {
		return err
	}
	if at.Version != action.Version || Hash(stagedIn(at)) != action.Hash {
		return errMoved
	}
	_, err = writer.RevertClusterLayout(ctx)
	return err
}

// skip raises the trackers. What it was decided on was looked at a moment ago: the call itself cannot say which nodes it means.
func skip(ctx context.Context, writer API, action Action) error {
	_, err := writer.ClusterLayoutSkipDeadNodes(ctx, adminapi.SkipDeadNodes{Version: action.Version, AllowMissingData: action.AllowMissing})
	return err
}
