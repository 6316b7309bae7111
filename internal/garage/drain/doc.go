// Package drain proves that a storage node may go: that every acknowledged write can be read without it (holdfast design, The
// drain proof: what must be seen, in which order, before a source may go; "Additive node-local pools", Reversible live-node
// drain transaction).
//
// Only the decision is here so far. Nothing carries its plans out yet, and nothing in the controller asks for one.
//
// # What it promises
//
// A drain takes the role of one node away, the source, and says "proved" only when the steps E0 to E9 have been seen in
// that order, and as long as what can be seen still says so. Each step has a file of its name. What holds one is a gate with
// its reason; a read that failed is Unknown, which holds too, keeps every clock, and passes nothing. No time alone passes
// anything: the delays of E5 and E8 only say before when a look is worth nothing.
//
// What was seen is dropped when the facts deny it:
//
//   - another version of the layout, other roles, or an older version that is in use again: everything from E1 on;
//   - a row on the source: everything from E3 on;
//   - another life of the source's process, or a block in its queue: E6, E7 and E9;
//   - another life of a destination's process: E4 and E8 of it, with the ten minutes between them. The design has E4 or E8;
//     with E8 alone, one resync worker that sleeps over its work would make up a proof (test/sim/garagemodel);
//   - a step that does not hold any more before the end: the last listing, which is of the pass in which all the others hold.
//
// Until the source's deletion is taken there is a way back: before the removal is applied our own staging is withdrawn, and
// afterwards the role is given back in a version of its own, once the destinations have copied what they are to have.
//
// # Why that holds
//
// After a crash the journal says what the facts cannot: which staging is ours, since when the source is empty, which worker is
// of our repair. It is written with the resourceVersion that was decided on, before the action that it speaks of: of two
// leaders one fails there. An action that was cut off is in the journal and not in the facts, and so is taken again: a
// removal is applied once since its version has a number; a repair launched twice is one more repair, and only a worker
// that came after the journal counts; a listing has a token.
//
// A decision rests on one reading of everything; whoever acts reads again and decides again, and takes the action only if
// it is the same. That all was seen is an action, not a line of the journal: it is written on what was read after the
// journal was.
//
// What others do is seen or is harmless. A repair launched by somebody else after ours looks at the same blocks. A version of
// the layout that somebody else makes begins the proof anew.
//
// What it does not show: that the bytes of a block are right, and that a host without fsync which loses its power keeps what it
// was given in the last minute.
package drain
