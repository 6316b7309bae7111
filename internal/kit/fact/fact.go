// Package fact holds values that may be unknown. A World is made of facts, so that a read that failed can
// never be taken for an empty answer (holdfast architecture, A concern).
package fact

// A Fact is a value that was read, or the reason why it was not. The zero Fact is unknown.
type Fact[T any] struct {
	value T
	known bool
	why   string
}

// Known is the fact that v was read.
func Known[T any](v T) Fact[T] { return Fact[T]{value: v, known: true} }

// Unknown is the fact that nothing could be read, and why: a clause without a full stop that a condition's
// message can carry.
func Unknown[T any](why string) Fact[T] { return Fact[T]{why: why} }

// Get returns the value, and false with the zero value when it is unknown.
func (f Fact[T]) Get() (T, bool) { return f.value, f.known }

// Why says why the value is unknown. It is empty for a known value.
func (f Fact[T]) Why() string {
	if !f.known && f.why == "" {
		return "not read"
	}
	return f.why
}
