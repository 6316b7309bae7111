// Package fault runs controllers under a scheduler that decides, at each of their external calls, what comes of it. It is the
// one fault harness of the property tests: it knows no service.
//
// An Instance is one process of a controller. It runs in goroutines of its own, and every call to the outside, of the API
// server or of a service, goes through Do: the call waits there until the scheduler resumes it with a Fate. So histories
// have
//
//   - a crash before a call takes effect, after it, or while it is still on its way (CrashBefore, CrashAfter, CrashSending);
//   - a lost reply: it took effect, and the instance hears of a time-out (LoseReply), or it takes effect later than that
//     (Delay);
//   - a refusal: a conflict, an error of the server (Refuse);
//   - a second leader: two instances run, each is resumed whenever the scheduler likes, and one that stalls at a call for as
//     long as it likes goes on from there with what it knew;
//   - a stale cache: the cached client shows each kind as it was, never going back, as far behind as the scheduler says.
//
// All runs in a testing/synctest bubble: Settle returns when every goroutine waits, so the set of waiting calls, and with it
// the whole history, follows from the scheduler's choices, also where an instance asks several servers at a time. Time is
// the bubble's, and passes only when the scheduler lets it.
//
// A crashed instance's goroutines end at the call at which they are, or at the next one they make. What it sent before may
// still arrive: see Scheduler.Late.
package fault
