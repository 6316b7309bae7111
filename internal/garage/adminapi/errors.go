package adminapi

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Class is what is known after a call that failed.
type Class string

const (
	// Refused means: Garage understood the request and said no. Nothing was done, and asking again changes nothing.
	Refused Class = "refused"
	// AccessDenied means: the token is not this member's. Nothing was done.
	AccessDenied Class = "access denied"
	// Unavailable means: no answer, and nothing was done: the member was not reached, or what failed only reads.
	Unavailable Class = "unavailable"
	// Ambiguous means: the request was sent, and what became of it is not known: time ran out, the connection broke, or the
	// member spoke of a fault of its own. Read what the call would have changed before doing anything else.
	Ambiguous Class = "ambiguous"
	// NotUnderstood means: something answered, and not as Garage 2.0 to 2.4 would.
	NotUnderstood Class = "not understood"
)

// An Error is why a call failed. It never contains the token.
type Error struct {
	Class Class
	// Call is the name of the endpoint, and Base the address that was asked.
	Call, Base string
	// Message says more, mostly in the member's own words: one line of at most 500 bytes.
	Message string

	effect bool
	cause  error
}

// Error says which member was asked for what, and what came of it.
func (e *Error) Error() string {
	return fmt.Sprintf("ask Garage at %s for %s: %s: %s", e.Base, e.Call, e.Class, e.Message)
}

// Unwrap is context.DeadlineExceeded or context.Canceled when that ended the call, else nil. It is nothing else, since the
// errors of net/http repeat what was sent.
func (e *Error) Unwrap() error { return e.cause }

// MayHaveHappened says whether the call may have changed something although it failed. It is false for calls that only
// read, and whenever it is certain that the call was refused or never arrived.
func (e *Error) MayHaveHappened() bool {
	return e.effect && (e.Class == Ambiguous || e.Class == NotUnderstood)
}

// maxMessage bounds what is repeated of a member's own words, in bytes.
const maxMessage = 500

// fail makes the error of a call. This is the only place that does, so that the token is taken out of every message.
func (c *Client) fail(of call, class Class, message string) *Error {
	message = strings.ReplaceAll(message, c.token(), "[token]")
	message = strings.Join(strings.Fields(strings.ToValidUTF8(message, "?")), " ")
	if len(message) > maxMessage {
		message = strings.ToValidUTF8(message[:maxMessage-len("…")], "") + "…"
	}
	return &Error{Class: class, Call: of.endpoint, Base: c.base, Message: cmp.Or(message, "without a word"), effect: of.effect}
}

// lost is the error of a request that got no whole answer.
func (c *Client) lost(of call, err error) *Error {
	class := Unavailable
	var network *net.OpError
	if of.effect && (!errors.As(err, &network) || network.Op != "dial") {
		class = Ambiguous
	}
	e := c.fail(of, class, err.Error())
	for _, cause := range []error{context.DeadlineExceeded, context.Canceled} {
		if errors.Is(err, cause) {
			e.cause = cause
		}
	}
	return e
}

// status is the error of a reply with a status other than 200.
func (c *Client) status(of call, status int, body []byte) *Error {
	if status == 403 {
		return c.fail(of, AccessDenied, "check that the token is the admin_token of this member")
	}
	var said struct{ Code, Message string }
	if err := decode(body, func(o *object) {
		said.Code = need[string](o, "code")
		said.Message = need[string](o, "message")
	}); err != nil {
		if status >= 500 {
			return c.fail(of, of.unsure(), fmt.Sprintf("status %d", status))
		}
		return c.fail(of, NotUnderstood, fmt.Sprintf("status %d without an error of Garage", status))
	}
	return c.said(of, status, said.Code, said.Message)
}

// remote is what a node says in the list of errors of a reply, for instance "InvalidRequest (400): Bad request: …". What
// has another form is a fault of the transport between nodes.
var remote = regexp.MustCompile(`^([A-Za-z]+) \(([0-9]{3})\): (?s:(.*))$`)

// listed is the error of a reply with status 200 that lists an error instead of a success.
func (c *Client) listed(of call, text string) *Error {
	parts := remote.FindStringSubmatch(text)
	if parts == nil {
		return c.fail(of, of.unsure(), text)
	}
	status, _ := strconv.Atoi(parts[2]) // three digits
	return c.said(of, status, parts[1], parts[3])
}

// said is the error that Garage itself names.
func (c *Client) said(of call, status int, code, message string) *Error {
	switch {
	case code == "AccessDenied":
		return c.fail(of, AccessDenied, message)
	case status < 400:
		return c.fail(of, NotUnderstood, fmt.Sprintf("status %d with the error %s: %s", status, code, message))
	case status < 500 || refusal(code, message):
		return c.fail(of, Refused, message)
	}
	return c.fail(of, of.unsure(), message)
}

// refusals are how the texts begin with which Garage refuses something although it reports a fault of its own. All of
// them are said before anything is changed (Garage server facts, 2.2 Errors and 3.2 What Apply rejects). What is missing
// here reads as Ambiguous, which is the safe mistake.
var refusals = []string{
	// ApplyClusterLayout.
	"Invalid new layout version",
	"The number of nodes with positive capacity ",
	"The number of zones with non-gateway nodes ",
	"There are more than 256 non-gateway nodes ",
	"The storage capacity of the cluster is too small",
	"Layout check returned an error: ",
	// CreateMetadataSnapshot.
	"Cannot acquire lock, another snapshot might be in progress",
	// LaunchRepairOperation of a scrub where disable_scrub is set.
	"scrub worker is not running",
	// GetWorkerVariable and SetWorkerVariable.
	"variable does not exist",
	"Cannot set value of ",
	"invalid value: ",
	"Invalid number of resync workers",
}

func refusal(code, message string) bool {
	message = strings.Join(strings.Fields(strings.TrimPrefix(message, "Internal error: ")), " ")
	return code == "InternalError" && slices.ContainsFunc(refusals, func(begins string) bool {
		return strings.HasPrefix(message, begins)
	})
}
