// Package reaper ends a real controller at each call that it makes: before the call takes effect, after it, when nobody hears of
// that, or while it is on its way. What the controller has asked for afterwards never happens, as in a process that is gone.
// Another controller goes on from there. It knows no service: what a call is about is told by paths and by whoever makes it.
package reaper
