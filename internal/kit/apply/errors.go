package apply

import (
	"errors"
	"fmt"
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
