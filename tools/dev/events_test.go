package main

import (
	"bytes"
	"slices"
	"strings"
	"testing"
)

// line is what `go test -json` prints for one event.
func line(action, test, more string) string {
	return `{"Action":"` + action + `","Package":"p","Test":"` + test + `"` + more + "}\n"
}

func TestTally(t *testing.T) {
	cases := map[string]struct {
		stream                  string
		passed, failed, skipped []string
	}{
		"a test with subtests is counted by its subtests": {
			stream: line("run", "T", "") + line("run", "T/a", "") + line("run", "T/b", "") +
				line("pass", "T/a", "") + line("pass", "T/b", "") + line("pass", "T", "") + line("pass", "", ""),
			passed: []string{"p T/a", "p T/b"},
		},
		"run twice, counted twice": {
			stream: strings.Repeat(line("run", "T", "")+line("run", "T/a", "")+line("pass", "T/a", "")+line("pass", "T", ""), 2),
			passed: []string{"p T/a", "p T/a"},
		},
		"a failed subtest is one failure": {
			stream: line("run", "T", "") + line("run", "T/a", "") + line("fail", "T/a", "") + line("fail", "T", "") + line("fail", "", ""),
			failed: []string{"p T/a"},
		},
		"a test that fails beside its subtests": {
			stream: line("run", "T", "") + line("run", "T/a", "") + line("pass", "T/a", "") + line("fail", "T", "") + line("fail", "", ""),
			passed: []string{"p T/a"},
			failed: []string{"p T"},
		},
		"a package that does not build": {
			stream: `{"Action":"build-output","ImportPath":"p","Output":"undefined: x\n"}` + "\n" + line("fail", "", `,"FailedBuild":"p"`),
			failed: []string{"p"},
		},
		"a skipped test": {
			stream:  line("run", "T", "") + line("skip", "T", "") + line("pass", "", ""),
			skipped: []string{"p T"},
		},
		"a package without tests is not a skipped test": {stream: line("skip", "", "")},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			r := newReader(&bytes.Buffer{}, false)
			if err := r.read(strings.NewReader(c.stream)); err != nil {
				t.Fatal(err)
			}
			for kind, pair := range map[string][2][]string{
				"passed": {names(r.tally.passed), c.passed}, "failed": {names(r.tally.failed), c.failed}, "skipped": {names(r.tally.skipped), c.skipped},
			} {
				if !slices.Equal(pair[0], pair[1]) {
					t.Errorf("%s: got %q, want %q", kind, pair[0], pair[1])
				}
			}
		})
	}
}

func names(ids []testID) []string {
	var all []string
	for _, id := range ids {
		all = append(all, id.String())
	}
	return all
}

func TestOutputOfWhatFailedOnly(t *testing.T) {
	var out bytes.Buffer
	stream := line("output", "Good", `,"Output":"chatter\n"`) + line("pass", "Good", "") +
		line("output", "Bad", `,"Output":"want 1\n"`) + line("fail", "Bad", "") +
		`{"Action":"build-output","ImportPath":"q","Output":"undefined: x\n"}` + "\n" + `{"Action":"fail","Package":"q","FailedBuild":"q"}` + "\n" +
		"not an event\n"
	if err := newReader(&out, false).read(strings.NewReader(stream)); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"want 1", "undefined: x", "not an event"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("output lacks %q:\n%s", want, &out)
		}
	}
	if strings.Contains(out.String(), "chatter") {
		t.Errorf("output of a test that passed:\n%s", &out)
	}
}
