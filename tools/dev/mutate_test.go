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
