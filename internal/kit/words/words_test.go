package words

import (
	"strings"
	"testing"
)

func TestLists(t *testing.T) {
	for name, tc := range map[string]struct {
		join func([]string) string
		list string
		want string
	}{
		"no name":       {Names, "", ""},
		"one name":      {Names, "a", "a"},
		"five names":    {Names, "abcde", "a, b, c, d, e"},
		"seven names":   {Names, "abcdefg", "a, b, c, d, e and 2 more"},
		"three whys":    {Reasons, "abc", "a; b; c"},
		"four whys":     {Reasons, "abcd", "a; b; c; and 1 more"},
		"no why at all": {Reasons, "", ""},
		"five clauses":  {Clauses, "abcde", "a; b; c; d; e"},
		"six clauses":   {Clauses, "abcdef", "a; b; c; d; e; and 1 more"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := tc.join(strings.Split(tc.list, "")); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

func TestUpTo(t *testing.T) {
	for text, want := range map[string]string{"": "", "abc": "abc", "abcd": "abc", "abé": "ab", "a\xffc": "ac"} {
		if got := UpTo(text, 3); got != want {
			t.Errorf("%q to 3 bytes is %q, want %q", text, got, want)
		}
	}
}
