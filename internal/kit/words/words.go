// Package words puts lists and what others say into messages and fields, which have a bound.
package words

import (
	"fmt"
	"strings"
)

const (
	mostNames   = 5
	mostReasons = 3
)

// Names joins at most five names, and counts the rest: "a, b and 2 more".
func Names(names []string) string { return some(names, mostNames, ", ", " ") }

// Reasons joins at most three reasons, each a sentence without a full stop, and counts the rest: "a; b; and 2 more".
func Reasons(reasons []string) string { return some(reasons, mostReasons, "; ", "; ") }

// Clauses joins at most five clauses, which may have commas of their own, and counts the rest: "a; b; and 2 more".
func Clauses(clauses []string) string { return some(clauses, mostNames, "; ", "; ") }

func some(list []string, most int, separator, last string) string {
	if more := len(list) - most; more > 0 {
		return fmt.Sprintf("%s%sand %d more", strings.Join(list[:most], separator), last, more)
	}
	return strings.Join(list, separator)
}

// UpTo cuts what comes from somewhere else to so many bytes, at a rune's edge: a field that is too long for its schema would
// have the whole object refused.
func UpTo(text string, bytes int) string {
	return strings.ToValidUTF8(text[:min(len(text), bytes)], "")
}

// Because is what with the reason after a colon, or what alone where there is none.
func Because(what, reason string) string {
	if reason == "" {
		return what
	}
	return what + ": " + reason
}
