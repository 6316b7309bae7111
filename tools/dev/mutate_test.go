package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/tools/toolbox"
)

func TestMutantReasons(t *testing.T) {
	lived := mutant{file: "a/decide.go", mutator: "INVERT_LOGICAL", fate: "LIVED", line: 7, source: "if x || y { // a | b"}
	missed := mutant{file: "a/decide.go", mutator: "ARITHMETIC_BASE", fate: "NOT COVERED", line: 9, source: "return a + b"}
	killed := mutant{file: "a/decide.go", mutator: "INVERT_LOGICAL", fate: "KILLED", line: 8, source: "if p && q {"}
	const explained = "# comment\n\na/decide.go | INVERT_LOGICAL | if x || y { // a | b | x implies y\n"
	cases := map[string]struct {
		mutants []mutant
		reasons string
		partial bool
		want    string // in the error; empty for none
	}{
		"all killed":                      {mutants: []mutant{killed}},
		"one lives":                       {mutants: []mutant{killed, lived}, want: "1 mutants live"},
		"one without a fate":              {mutants: []mutant{{file: "a/decide.go", fate: "TIMED OUT"}}, want: "1 mutants live"},
		"one is not covered":              {mutants: []mutant{missed}, want: "1 mutants live"},
		"one lives, and is explained":     {mutants: []mutant{lived}, reasons: explained},
		"explained, and killed":           {mutants: []mutant{killed}, reasons: explained, want: "explains a mutant that does not live: a/decide.go"},
		"explained, in another package":   {mutants: []mutant{killed}, reasons: explained, partial: true},
		"an explanation without a reason": {reasons: "a/decide.go | INVERT_LOGICAL | x\n", want: "want `file | mutator"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			r := &repo{box: &toolbox.Box{Root: t.TempDir()}, out: &bytes.Buffer{}}
			write(t, r.path("mutants.txt"), c.reasons)
			reasons, err := readReasons(r.path("mutants.txt"))
			if err == nil {
				err = r.reportMutants(c.mutants, reasons, !c.partial)
			}
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("error %v, want %q", err, c.want)
			}
		})
	}
}

func TestReadMutants(t *testing.T) {
	r := &repo{box: &toolbox.Box{Root: t.TempDir()}}
	write(t, r.path("a/decide.go"), "package a\n\n\tif x {\n")
	write(t, r.path("report.json"), `{"files":[{"file_name":"decide.go","mutations":[
		{"type":"CONDITIONALS_NEGATION","status":"LIVED","line":3,"column":9},{"type":"INVERT_LOGICAL","status":"KILLED","line":1,"column":2}]}]}`)
	got, err := r.readMutants(r.path("report.json"), "a")
	if err != nil {
		t.Fatal(err)
	}
	want := []mutant{
		{file: "a/decide.go", mutator: "INVERT_LOGICAL", fate: "KILLED", line: 1, column: 2, source: "package a"},
		{file: "a/decide.go", mutator: "CONDITIONALS_NEGATION", fate: "LIVED", line: 3, column: 9, source: "if x {"},
	}
	if len(got) != 2 || got[0] != want[0] || got[1] != want[1] {
		t.Errorf("got %+v", got)
	}
}

func TestApplyMutant(t *testing.T) {
	const source = "first\n\tcase a <= b && -c == 1:\n"
	cases := map[string]struct {
		mutator string
		column  int
		want    string // of the second line; empty for none
	}{
		"the longer token counts": {"CONDITIONALS_BOUNDARY", 9, "\tcase a < b && -c == 1:\n"},
		"negated":                 {"CONDITIONALS_NEGATION", 9, "\tcase a > b && -c == 1:\n"},
		"logical":                 {"INVERT_LOGICAL", 14, "\tcase a <= b || -c == 1:\n"},
		"at the line's end":       {"CONDITIONALS_NEGATION", 20, "\tcase a <= b && -c != 1:\n"},
		"no such token there":     {"INVERT_LOGICAL", 9, ""},
		"a kind without a swap":   {"INVERT_BITWISE", 9, ""},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got, ok := mutant{mutator: c.mutator, line: 2, column: c.column}.apply(source)
			if ok != (c.want != "") || ok && got != "first\n"+c.want {
				t.Errorf("got %q, %v", got, ok)
			}
		})
	}
}

func TestTryMutant(t *testing.T) {
	r := &repo{box: &toolbox.Box{Root: t.TempDir()}}
	write(t, r.path("go.mod"), "module example.com/x\n\ngo 1.26.0\n")
	write(t, r.path("a/decide.go"), "package a\n\nfunc Decide(n int) bool { return n > 1 }\n")
	write(t, r.path("a/decide_test.go"), "package a\n\nimport \"testing\"\n\nfunc TestDecide(t *testing.T) {\n\tif !Decide(3) {\n\t\tt.Fatal()\n\t}\n}\n")
	for text, want := range map[string]string{
		"package a\n\nfunc Decide(n int) bool { return n >= 1 }\n": "LIVED",
		"package a\n\nfunc Decide(n int) bool { return n <= 1 }\n": "KILLED",
	} {
		if got, err := r.tryMutant(t.Context(), "a/decide.go", text, []string{"GOFLAGS=-mod=mod", "GOWORK=off"}); got != want || err != nil {
			t.Errorf("%q: got %s, %v, want %s", text, got, err, want)
		}
	}
}
