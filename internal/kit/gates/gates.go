// Package gates evaluates named predicates that hold a step back. All that hold are reported, not only the
// first, so that a person can clear them together (holdfast architecture, Gates).
package gates

// A Gate is one reason that holds a step back now.
type Gate struct {
	// Name is the gate's constant name: a metric label, and the word by which a person finds it in the docs.
	Name string
	// Why says in one clause what it waits for. It does not change while the facts do not.
	Why string
}

// A Check is the predicate behind a gate. Its author makes an unknown fact hold.
type Check[W any] struct {
	// Name becomes the Gate's name.
	Name string
	// Holds says whether the world holds the step back, and why.
	Holds func(W) (why string, holds bool)
}

// Closed returns every gate that holds in the world, in the order of the checks.
func Closed[W any](world W, checks []Check[W]) []Gate {
	var closed []Gate
	for _, check := range checks {
		if why, holds := check.Holds(world); holds {
			closed = append(closed, Gate{Name: check.Name, Why: why})
		}
	}
	return closed
}
