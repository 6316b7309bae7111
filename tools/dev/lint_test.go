package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/tools/toolbox"
)

func TestCountNolint(t *testing.T) {
	for name, c := range map[string]struct {
		count int
		bad   bool
	}{"as many as are allowed": {maxNolint, false}, "one too many": {maxNolint + 1, true}} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			r := &repo{box: &toolbox.Box{Root: t.TempDir()}, out: &out}
			// In a string it is none.
			write(t, r.path("a/a.go"), "package a\n\nvar s = \"//nolint:x\"\n"+strings.Repeat("var _ = 1 //nolint:funlen // a reason\n", c.count))
			if err := r.countNolint(); (err != nil) != c.bad {
				t.Errorf("error %v, want one: %v", err, c.bad)
			}
			if got := strings.Count(out.String(), "a reason"); got != c.count {
				t.Errorf("%d listed, want %d:\n%s", got, c.count, &out)
			}
		})
	}
}
