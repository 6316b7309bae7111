package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/tools/toolbox"
)

func TestLevelOfAPackage(t *testing.T) {
	cases := map[string]struct {
		path    string
		imports []string
		want    string
	}{
		"a decision":                      {path: "internal/nats/settled", imports: []string{"testing"}, want: "L0"},
		"what starts an API server":       {path: "internal/kit/apply", imports: []string{"testing", rootModule + "/test/envtest/env"}, want: "L4"},
		"a CRD, which starts one too":     {path: "test/envtest/crd", imports: []string{rootModule + "/test/envtest/env"}, want: "L3"},
		"a controller":                    {path: "test/envtest/natscluster", want: "L4"},
		"the local Kubernetes":            {path: "test/cluster", want: "L4"},
		"a part of it":                    {path: "test/cluster/images", want: "L4"},
		"a story":                         {path: "test/stories", want: "L5"},
		"a kubelet with processes":        {path: "test/sim/kubelet", want: "L4"},
		"a model of an API server":        {path: "test/sim/apimodel", want: "L0"},
		"the fault harness":               {path: "test/sim/fault", want: "L0"},
		"a property over a model":         {path: "test/sim/natsmodel", want: "L0"},
		"a folder that nobody thought of": {path: "test/clusters", want: "L0"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			p := testPackage{path: rootModule + "/" + c.path, imports: c.imports}
			if got := p.level(); got != c.want {
				t.Errorf("%s is %s, want %s", c.path, got, c.want)
			}
		})
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
