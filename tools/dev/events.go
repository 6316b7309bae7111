package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"strings"
	"time"
)

// event is a line of `go test -json` (cmd/test2json); build events carry ImportPath instead of Package.
type event struct {
	Action      string
	Package     string
	ImportPath  string
	Test        string
	Output      string
	FailedBuild string
	Elapsed     float64 // seconds
}

// testID names a test in its package; an empty test is the package itself.
type testID struct{ pkg, test string }

func (id testID) String() string {
	if id.test == "" {
		return id.pkg
	}
	return id.pkg + " " + id.test
}

// tally is what a level's tests came to. A test with subtests is not counted beside them, unless it failed and
// none of them did; a package that failed without a failing test (it does not build, or it ended early) counts
// as one failure.
type tally struct {
	passed, failed, skipped []testID
}

func (t *tally) add(other tally) {
	t.passed = append(t.passed, other.passed...)
	t.failed = append(t.failed, other.failed...)
	t.skipped = append(t.skipped, other.skipped...)
}

// reader turns events into a tally and into lines for a person: what failed, with its output, and one line per
// package or test.
type reader struct {
	out  io.Writer
	each bool
	show *regexp.Regexp // lines of the tests' own output that are passed on; nil for none

	tally    tally
	output   map[testID]*strings.Builder
	parents  map[testID]bool // has subtests
	broken   map[testID]bool // a subtest, or a test of the package, failed
	inPkg    map[string]int  // leaves that passed
	building map[string]*strings.Builder
}

func newReader(out io.Writer, each bool) *reader {
	return &reader{
		out: out, each: each, output: map[testID]*strings.Builder{}, parents: map[testID]bool{},
		broken: map[testID]bool{}, inPkg: map[string]int{}, building: map[string]*strings.Builder{},
	}
}

// read consumes a stream to its end. A line that is not an event is passed on as it is.
func (r *reader) read(stream io.Reader) error {
	lines := bufio.NewReader(stream)
	for {
		line, err := lines.ReadBytes('\n')
		if len(line) > 0 {
			var e event
			if json.Unmarshal(line, &e) == nil && e.Action != "" {
				r.take(e)
			} else {
				fmt.Fprint(r.out, string(line))
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return fmt.Errorf("reading the tests' events: %w", err)
		}
	}
}

func (r *reader) take(e event) {
	id := testID{e.Package, e.Test}
	switch e.Action {
	case "build-output":
		buffer(r.building, e.ImportPath).WriteString(e.Output)
	case "run":
		if parent, ok := id.parent(); ok {
			r.parents[parent] = true
		}
	case "output":
		buffer(r.output, id).WriteString(e.Output)
		if r.show != nil && r.show.MatchString(e.Output) {
			fmt.Fprint(r.out, e.Output)
		}
	case "pass", "fail", "skip":
		r.end(id, e)
		delete(r.output, id)
	}
}

func (r *reader) end(id testID, e event) {
	if id.test == "" {
		r.endPackage(id, e)
		return
	}
	leaf := !r.parents[id]
	delete(r.parents, id) // with -count the name comes again
	switch {
	case e.Action == "fail":
		r.fail(id)
	case e.Action == "skip":
		r.tally.skipped = append(r.tally.skipped, id)
	case leaf:
		r.tally.passed = append(r.tally.passed, id)
		r.inPkg[id.pkg]++
	}
	if r.each && e.Action != "fail" {
		fmt.Fprintf(r.out, "%-4s %s %s\n", e.Action, id.test, seconds(e.Elapsed))
	}
}

func (r *reader) fail(id testID) {
	if !r.broken[id] {
		r.tally.failed = append(r.tally.failed, id)
	}
	delete(r.broken, id)
	if parent, ok := id.parent(); ok {
		r.broken[parent] = true
	}
	r.broken[testID{pkg: id.pkg}] = true
	fmt.Fprintf(r.out, "FAIL %s\n%s", id, r.text(id))
}

func (r *reader) endPackage(id testID, e event) {
	if e.Action == "skip" { // no test files
		return
	}
	if e.Action == "fail" {
		if build := r.building[e.FailedBuild]; build != nil {
			fmt.Fprint(r.out, build)
		}
		if !r.broken[id] {
			r.tally.failed = append(r.tally.failed, id)
			fmt.Fprint(r.out, r.text(id))
		}
	}
	fmt.Fprintf(r.out, "%-4s %s: %d passed, %s\n", e.Action, id.pkg, r.inPkg[id.pkg], seconds(e.Elapsed))
}

func (r *reader) text(id testID) string { return buffer(r.output, id).String() }

// parent is the test that the test is a subtest of.
func (id testID) parent() (testID, bool) {
	i := strings.LastIndexByte(id.test, '/')
	if i < 0 {
		return testID{}, false
	}
	return testID{id.pkg, id.test[:i]}, true
}

func buffer[K comparable](m map[K]*strings.Builder, key K) *strings.Builder {
	if m[key] == nil {
		m[key] = &strings.Builder{}
	}
	return m[key]
}

func seconds(s float64) string {
	return time.Duration(s * float64(time.Second)).Round(100 * time.Millisecond).String()
}
