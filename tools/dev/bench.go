package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// goals are the most that a figure may be, by benchmark and unit. docs/figures.md says what each is about.
var goals = map[string]float64{
	"Verdict verdict/decoding":               1.5,
	"UnderLoad/restart whole/servers":        1.2,
	"UnderLoad/restart gap-p99-ms-worst":     1000,
	"UnderLoad/restart gap-longest-ms-worst": 2000,
	"UnderLoad/kill gap-longest-ms-worst":    15_000,
	"AtRest/1 writes/min":                    0,
	"AtRest/50 writes/min":                   0,
	"AtRest/500 writes/min":                  0,
	"AtRest/500 peak-MiB":                    256, // the chart's limit
	"AtRest/restarted peak-MiB":              256,
	"UnderLoad/freeze gap-longest-ms-worst":  15_000,
}

// benchVerb runs the benchmarks and prints their figures, one a line. A figure beyond its goal fails nothing: how long
// something takes is as much the machine's doing.
func benchVerb(ctx context.Context, r *repo, args []string) error {
	set := flag.NewFlagSet("bench", flag.ContinueOnError)
	pattern := set.String("run", ".", "only benchmarks that match this pattern")
	if err := parse(set, args); err != nil {
		return err
	}
	packages, err := r.benchPackages()
	if err != nil {
		return err
	}
	env, err := r.serversEnv(ctx)
	if err != nil {
		return err
	}
	kube, err := r.kubeEnv(ctx)
	if err != nil {
		return err
	}
	begin, left := time.Now(), maps.Clone(goals)
	for _, at := range packages {
		if err := r.bench(ctx, at, *pattern, append(env, kube...), left); err != nil {
			return fmt.Errorf("%s: %w", at, err)
		}
	}
	r.say("took %s", time.Since(begin).Round(time.Second))
	if missing := slices.Sorted(maps.Keys(left)); *pattern == "." && len(missing) > 0 {
		return fmt.Errorf("goals without a figure: %s", strings.Join(missing, ", "))
	}
	return nil
}

var declaresBenchmark = regexp.MustCompile(`(?m)^func Benchmark`)

// benchPackages are the folders with benchmarks.
func (r *repo) benchPackages() ([]string, error) {
	var found []string
	err := r.goFiles(func(path string) error {
		if !strings.HasSuffix(path, "_test.go") || slices.Contains(found, filepath.Dir(path)) {
			return nil
		}
		content, err := os.ReadFile(r.path(path))
		if declaresBenchmark.Match(content) {
			found = append(found, filepath.Dir(path))
		}
		return err
	})
	return found, err
}

// bench runs the benchmarks of one folder, each once: each repeats by itself what it measures. It takes the figures that it
// found off the goals that are left.
func (r *repo) bench(ctx context.Context, folder, pattern string, env []string, left map[string]float64) error {
	cmd := goCommand(ctx, r.path(folder), env, "test", "-run=^$", "-bench="+pattern, "-benchtime=1x", "-vet=off", "-timeout=30m", ".")
	stream, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	rest, readErr := r.figures(stream, left)
	err = cmd.Wait()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		fmt.Fprint(r.out, rest)
	}
	return errors.Join(readErr, err)
}

// figures prints the figures among the lines of a benchmark as they come, and returns the other lines.
func (r *repo) figures(stream io.Reader, left map[string]float64) (rest string, err error) {
	var others bytes.Buffer
	lines := bufio.NewScanner(stream)
	for lines.Scan() {
		found := parseFigures(lines.Text())
		if len(found) == 0 {
			fmt.Fprintln(&others, lines.Text())
		}
		for _, f := range found {
			r.say("%s", f)
			delete(left, f.name())
		}
	}
	return others.String(), lines.Err()
}

// A figure is one number that a benchmark reports.
type figure struct {
	benchmark, unit string
	value           float64
}

func (f figure) name() string { return f.benchmark + " " + f.unit }

// String is the line for a person.
func (f figure) String() string {
	line := fmt.Sprintf("%-20s %-28s %10.4g", f.benchmark, f.unit, f.value)
	goal, has := goals[f.name()]
	switch {
	case !has:
		return line
	case f.value > goal:
		return fmt.Sprintf("%s   goal %g, NOT MET", line, goal)
	}
	return fmt.Sprintf("%s   goal %g, met", line, goal)
}

var processors = regexp.MustCompile(`-\d+$`)

// parseFigures reads a line such as "BenchmarkX/y-2 1 12 ns/op 3 apples". How long the benchmark itself took is none of
// its figures.
func parseFigures(line string) []figure {
	words := strings.Fields(line)
	if len(words) < 4 || !strings.HasPrefix(words[0], "Benchmark") {
		return nil
	}
	name := strings.TrimPrefix(processors.ReplaceAllString(words[0], ""), "Benchmark")
	var found []figure
	for pair := range slices.Chunk(words[2:], 2) {
		value, err := strconv.ParseFloat(pair[0], 64)
		if err == nil && len(pair) == 2 && pair[1] != "ns/op" {
			found = append(found, figure{benchmark: name, unit: pair[1], value: value})
		}
	}
	return found
}
