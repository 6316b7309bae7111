package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/tools/toolbox"
)

func TestFigures(t *testing.T) {
	const printed = `goos: linux
BenchmarkVerdict-2   	       1	22050999203 ns/op	         1.016 decoding-s	         1.071 verdict/decoding
BenchmarkVerdict-2   	       1	22050999203 ns/op	         1.571 verdict/decoding
BenchmarkAtRest/500-16  	       1	   5 ns/op	     120.5 heap-MiB
--- FAIL: BenchmarkOther
PASS
`
	var out bytes.Buffer
	left := map[string]float64{"Verdict verdict/decoding": 1.5, "Other x": 1}
	rest, err := (&repo{out: &out}).figures(strings.NewReader(printed), left)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for line := range strings.Lines(out.String()) {
		got = append(got, strings.Join(strings.Fields(line), " "))
	}
	want := []string{
		"Verdict decoding-s 1.016", "Verdict verdict/decoding 1.071 goal 1.5, met", "Verdict verdict/decoding 1.571 goal 1.5, NOT MET",
		"AtRest/500 heap-MiB 120.5",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("printed\n%s", out.String())
	}
	if rest != "goos: linux\n--- FAIL: BenchmarkOther\nPASS\n" {
		t.Errorf("the rest is %q", rest)
	}
	if len(left) != 1 || left["Other x"] != 1 {
		t.Errorf("without a figure: %v", left)
	}
}

func TestBenchPackages(t *testing.T) {
	r := &repo{box: &toolbox.Box{Root: t.TempDir()}}
	for path, content := range map[string]string{
		"a/a_test.go":       "package a\n\nfunc BenchmarkX(b *testing.B) {}\n",
		"a/more_test.go":    "package a\n\nfunc BenchmarkY(b *testing.B) {}\n",
		"b/b_test.go":       "package b\n\nfunc TestX(t *testing.T) {}\n",
		"c/c.go":            "package c\n\nfunc BenchmarkNone() {}\n",
		"m/inner/x_test.go": "package inner\n\nfunc BenchmarkZ(b *testing.B) {}\n",
	} {
		write(t, r.path(path), content)
	}
	found, err := r.benchPackages()
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(found, " "); got != "a m/inner" {
		t.Errorf("found %s", got)
	}
}
