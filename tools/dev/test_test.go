package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/tools/toolbox"
)

// TestEveryModuleHasALevel keeps a new module's tests from never being run.
func TestEveryModuleHasALevel(t *testing.T) {
	box, err := toolbox.New(".", os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	modules, err := (&repo{box: box}).modules()
	if err != nil {
		t.Fatal(err)
	}
	runs := map[string]bool{}
	for _, l := range levels() {
		for _, target := range l.targets {
			runs[target.module] = true
		}
	}
	for _, module := range modules {
		if !runs[module] {
			t.Errorf("no level runs the tests of %s", module)
		}
	}
}

func TestReport(t *testing.T) {
	ran := func(level string, passed ...testID) result {
		return result{level: levelNamed(t, level), tally: tally{passed: passed}}
	}
	cases := map[string]struct {
		results []result
		partial bool
		want    []string // in the output or the error
		bad     bool
	}{
		"all passed": {
			results: []result{ran("L0", testID{"p", "A"}, testID{"p", "B"}), ran("L5", testID{"s", "TestStories/quick"})},
			want:    []string{"3 passed, 0 failed", "stories: quick"},
		},
		"a level without tests":  {results: []result{ran("L3")}, want: []string{"L3 has no tests"}, bad: true},
		"none matches a pattern": {results: []result{ran("L3")}, partial: true, want: []string{"0 passed, 0 failed"}},
		"a story that did not run": {
			results: []result{ran("L5", testID{"s", "TestStories/other"})},
			want:    []string{"story quick: no test of that name passed"}, bad: true,
		},
		"a skipped test is a failure": {
			results: []result{{level: levelNamed(t, "L0"), tally: tally{passed: []testID{{"p", "A"}}, skipped: []testID{{"p", "B"}}}}},
			want:    []string{"1 passed, 1 failed", "skipped, which no test may be: p B"}, bad: true,
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			r := &repo{box: &toolbox.Box{Root: t.TempDir()}, out: &out}
			write(t, r.path(stories, "quick", "README.md"), "")
			err := r.report(c.results, c.partial)
			if (err != nil) != c.bad {
				t.Errorf("error: %v, want one: %v", err, c.bad)
			}
			said := out.String()
			if err != nil {
				said += err.Error()
			}
			for _, want := range c.want {
				if !strings.Contains(said, want) {
					t.Errorf("lacks %q:\n%s", want, said)
				}
			}
		})
	}
}

func levelNamed(t *testing.T, name string) level {
	t.Helper()
	found, err := pick(name)
	if err != nil {
		t.Fatal(err)
	}
	return found[0]
}

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}
