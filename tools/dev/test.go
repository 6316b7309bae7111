package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"
)

// result is one level that was run.
type result struct {
	level level
	tally tally
	took  time.Duration
}

// testVerb runs levels of the ladder in order and counts. A test that fails, or that is skipped, fails the run;
// nothing is tried twice.
func testVerb(ctx context.Context, r *repo, args []string) error {
	set := flag.NewFlagSet("test", flag.ContinueOnError)
	names := set.String("level", "", "levels to run, separated by commas; all when empty")
	count := set.Int("count", 1, "how many times in a row the stories are run")
	pattern := set.String("run", "", "only tests that match this pattern, as `go test -run`")
	system := set.String("system", "", "only stories of this system: nats or garage")
	show := set.String("show", "", "pass on the lines of the tests' own output that match this pattern")
	if err := parse(set, args); err != nil {
		return err
	}
	wanted, err := pick(*names)
	if err != nil {
		return err
	}
	lines, err := linesToShow(*show)
	if err != nil {
		return err
	}
	all, err := r.testPackages()
	if err != nil {
		return err
	}
	var results []result
	for _, l := range wanted {
		l.flags, l.show, l.system = append(slices.Clone(l.flags), l.more(*count, *pattern)...), lines, *system
		res, err := r.runLevel(ctx, l, slices.DeleteFunc(slices.Clone(all), func(p testPackage) bool { return p.level() != l.name }))
		if err != nil {
			return fmt.Errorf("%s: %w", l.name, err)
		}
		results = append(results, res)
	}
	return r.report(results, *pattern != "" || *system != "")
}

func linesToShow(pattern string) (*regexp.Regexp, error) {
	if pattern == "" {
		return nil, nil
	}
	lines, err := regexp.Compile(pattern)
	if err != nil {
		return nil, fmt.Errorf("-show: %w", err)
	}
	return lines, nil
}

// pick returns the levels of the given names.
func pick(names string) ([]level, error) {
	if names == "" {
		return levels(), nil
	}
	var wanted []level
	for name := range strings.SplitSeq(names, ",") {
		i := slices.IndexFunc(levels(), func(l level) bool { return l.name == name })
		if i < 0 {
			return nil, fmt.Errorf("no level is called %q", name)
		}
		wanted = append(wanted, levels()[i])
	}
	return wanted, nil
}

// more are the flags that the command line adds to a level's own.
func (l level) more(count int, pattern string) []string {
	timeout := l.timeout
	var flags []string
	if l.name == "L5" {
		timeout *= time.Duration(count)
		flags = append(flags, fmt.Sprintf("-count=%d", count))
	}
	if pattern != "" {
		flags = append(flags, "-run", pattern)
	}
	return append(flags, "-timeout", timeout.String())
}

func (r *repo) runLevel(ctx context.Context, l level, packages []testPackage) (result, error) {
	r.say("== %s: %s", l.name, l.what)
	env := []string{systemVariable + "=" + l.system}
	if l.servers {
		servers, err := r.serversEnv(ctx)
		if err != nil {
			return result{}, err
		}
		env = append(env, servers...)
	}
	if l.kube {
		kube, err := r.kubeEnv(ctx)
		if err != nil {
			return result{}, err
		}
		env = append(env, kube...)
	}
	res := result{level: l}
	start := time.Now()
	for i := 0; i < len(packages); {
		module := packages[i].module
		var paths []string
		for ; i < len(packages) && packages[i].module == module; i++ {
			paths = append(paths, packages[i].path)
		}
		found, err := r.goTest(ctx, l, module, paths, env)
		if err != nil {
			return res, err
		}
		res.tally.add(found)
	}
	res.took = time.Since(start)
	return res, nil
}

// goCommand is the go command that runs tests or benchmarks.
func goCommand(ctx context.Context, dir string, env []string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), env...)
	cmd.Stderr = os.Stderr
	// An interrupt has to reach the tests, not only the go command that started them.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGINT) }
	cmd.WaitDelay = 2 * time.Minute
	return cmd
}

// goTest runs packages of one module. Its error is about the run itself; a failed test is in the tally.
func (r *repo) goTest(ctx context.Context, l level, module string, packages, env []string) (tally, error) {
	// `make verify` vets; here it would only cost time.
	args := append([]string{"test", "-json", "-vet=off"}, l.flags...)
	args = append(args, packages...)
	cmd := goCommand(ctx, r.path(module), env, args...)
	stream, err := cmd.StdoutPipe()
	if err != nil {
		return tally{}, err
	}
	if err := cmd.Start(); err != nil {
		return tally{}, err
	}
	events := newReader(r.out, l.each)
	events.show = l.show
	readErr := events.read(stream)
	err = cmd.Wait()
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return events.tally, ctx.Err()
	case readErr != nil:
		return events.tally, readErr
	case errors.As(err, &exit) && len(events.tally.failed) > 0:
		return events.tally, nil
	case err != nil:
		return events.tally, fmt.Errorf("go %s in %s: %w", strings.Join(args, " "), module, err)
	}
	return events.tally, nil
}

// report prints the counts, leaves them in out/test-counts for scripts, and says whether the run is good.
func (r *repo) report(results []result, partial bool) error {
	var all tally
	var problems []error
	r.say("\n%-6s %7s %7s %8s  %s", "level", "passed", "failed", "took", "what")
	for _, res := range results {
		t := res.tally
		r.say("%-6s %7d %7d %8s  %s", res.level.name, len(t.passed), len(t.failed), res.took.Round(time.Second), res.level.what)
		if len(t.passed)+len(t.failed) == 0 && !partial {
			problems = append(problems, fmt.Errorf("%s has no tests", res.level.name))
		}
		if res.level.name == "L5" {
			problems = append(problems, r.reportStories(t, partial)...)
		}
		all.add(t)
	}
	for _, id := range all.skipped {
		problems = append(problems, fmt.Errorf("skipped, which no test may be: %s", id))
	}
	for _, id := range all.failed {
		problems = append(problems, fmt.Errorf("failed: %s", id))
	}
	r.say("%d passed, %d failed", len(all.passed), len(all.failed)+len(all.skipped))
	counts := fmt.Sprintf("%d %d\n", len(all.passed), len(all.failed)+len(all.skipped))
	if err := os.MkdirAll(r.path("out"), 0o755); err != nil {
		return err
	}
	problems = append(problems, os.WriteFile(r.path("out", "test-counts"), []byte(counts), 0o644))
	return errors.Join(problems...)
}

// reportStories names every story folder that was run. A folder that no passed test is named after was not.
func (r *repo) reportStories(t tally, partial bool) []error {
	files, err := filepath.Glob(r.path(stories, "*", "README.md"))
	if err != nil {
		return []error{err}
	}
	var run []string
	var problems []error
	for _, file := range files {
		name := filepath.Base(filepath.Dir(file))
		switch {
		case slices.ContainsFunc(t.passed, func(id testID) bool { return id.tells(name) }):
			run = append(run, name)
		case !partial:
			problems = append(problems, fmt.Errorf("story %s: no test of that name passed", name))
		}
	}
	r.say("stories: %s", strings.Join(run, ", "))
	return problems
}

// tells says whether the test is, or is part of, the story of that folder: a test or subtest of its name, or a
// test in that folder.
func (id testID) tells(story string) bool {
	return slices.Contains(strings.Split(id.test, "/"), story) || filepath.Base(id.pkg) == story
}
