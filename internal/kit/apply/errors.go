package apply

import (
	"context"
	"errors"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// A ForeignError says that an object of a rendered name exists and is not controlled by the object that it
// was rendered for. It has not been written.
type ForeignError struct{ Kind, Namespace, Name string }

func (e *ForeignError) Error() string {
	return fmt.Sprintf("%s %s/%s exists and belongs to somebody else: rename or delete it", e.Kind, e.Namespace, e.Name)
}

// Foreign returns every ForeignError in err, through wrapped and joined errors, in their order.
func Foreign(err error) []*ForeignError {
	var joined interface{ Unwrap() []error }
	if errors.As(err, &joined) {
		var found []*ForeignError
		for _, one := range joined.Unwrap() {
			found = append(found, Foreign(one)...)
		}
		return found
	}
	if foreign, is := errors.AsType[*ForeignError](err); is {
		return []*ForeignError{foreign}
	}
	return nil
}

// Problem is what a person has to know of an error of a pass over an object of that kind: every foreign object by name and
// what to do, with foreign true, or the error itself. It is empty for what goes away by itself, an object that moved or an
// API server that is busy: such a pass is only repeated.
func Problem(err error, kind string) (message string, foreign bool) {
	objects := Foreign(err)
	if len(objects) == 0 {
		if passing(err) {
			return "", false
		}
		return err.Error(), false
	}
	names := make([]string, 0, len(objects))
	for _, object := range objects {
		names = append(names, object.Kind+" "+object.Name)
	}
	return fmt.Sprintf("%s: of a name that this %s needs, and not controlled by it; nothing of that name was written: delete or rename each, or rename the %s",
		strings.Join(names, ", "), kind, kind), true
}

func passing(err error) bool {
	for _, is := range []func(error) bool{
		apierrors.IsConflict, apierrors.IsAlreadyExists, apierrors.IsTimeout, apierrors.IsServerTimeout,
		apierrors.IsTooManyRequests, apierrors.IsServiceUnavailable, apierrors.IsInternalError,
	} {
		if is(err) {
			return true
		}
	}
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)
}
