// Package apply is the only way in which a controller writes the objects it renders.
//
// It promises:
//
//   - An object that exists and is not controlled by the given owner is never written. An earlier object of
//     the owner's name counts as somebody else: control is by UID.
//   - What is written is what was rendered: fields that are not rendered any more go, fields that others added
//     stay, fields that others changed are set back.
//   - Nothing is written that would change nothing; then the only request is a read from the cache.
//   - Every write of an existing object carries the UID and resourceVersion of the object that was judged.
//
// Why it holds. With a stale cache: "absent" is asked again of the API server; a stale object carries a
// resourceVersion that the API server refuses with a conflict. With a second leader, or a user at the same
// moment: a new object is created, not applied, so that whoever comes second is refused; two applies cannot both
// carry the current resourceVersion. After a crash between creating an object and recording its fields as
// applied: the next visit finds that they are not, and records them (see takeOver).
//
// One change is not set back: where a user has replaced one of several fields that exclude each other (a volume's
// source), the API server refuses ours beside theirs. The error says so, until the user's field is gone.
//
// An object that it manages must reach it with its managedFields: the cache must not strip them, and a fake
// client must be built to return them.
package apply
