package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// A mutant is one changed token of a decide.go that gremlins tried.
type mutant struct {
	file          string // relative to the root
	mutator, fate string
	line, column  int
	source        string // the line's text, without the space around it
}

// key names the mutant in tools/dev/mutants.txt: it holds no line number, so that code above may change.
func (m mutant) key() string { return m.file + " | " + m.mutator + " | " + m.source }

// alive says that no test is known to have noticed.
func (m mutant) alive() bool { return m.fate != "KILLED" && m.fate != "NOT VIABLE" }

// mutateVerb changes every decide.go token by token and wants some test of its own package to notice each
// change. A mutant that changes nothing observable is listed, with the reason, in tools/dev/mutants.txt.
func mutateVerb(ctx context.Context, r *repo, args []string) error {
	set := flag.NewFlagSet("mutate", flag.ContinueOnError)
	only := set.String("package", "", "only the package of this folder")
	if err := parse(set, args); err != nil {
		return err
	}
	reasons, err := readReasons(r.path("tools", "dev", "mutants.txt"))
	if err != nil {
		return err
	}
	folders, err := r.deciders(filepath.Clean(*only))
	if err != nil {
		return err
	}
	env, err := r.serversEnv(ctx)
	if err != nil {
		return err
	}
	var all []mutant
	for _, folder := range folders {
		found, err := r.mutatePackage(ctx, folder, env)
		if err != nil {
			return fmt.Errorf("%s: %w", folder, err)
		}
		all = append(all, found...)
	}
	return r.reportMutants(all, reasons, *only == "")
}

// deciders are the folders with a decide.go; "." stands for all.
func (r *repo) deciders(only string) ([]string, error) {
	var folders []string
	err := r.goFiles(func(path string) error {
		dir := filepath.Dir(path)
		if filepath.Base(path) == "decide.go" && (only == "." || only == dir) {
			folders = append(folders, dir)
		}
		return nil
	})
	if err == nil && len(folders) == 0 {
		err = errors.New("no decide.go there")
	}
	return folders, err
}

// mutatePackage has gremlins change the folder's decide.go only.
func (r *repo) mutatePackage(ctx context.Context, folder string, env []string) ([]mutant, error) {
	gremlins, err := r.box.Program(ctx, "gremlins", "gremlins")
	if err != nil {
		return nil, err
	}
	report, err := os.CreateTemp("", "holdfast-mutants-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.Remove(report.Name()) }()
	if err := report.Close(); err != nil {
		return nil, err
	}
	// Its paths are relative to the folder; those with a slash are packages below it.
	args := []string{"unleash", "--output", report.Name(), "--output-statuses", "l", "--timeout-coefficient", "20", "--exclude-files", "/"}
	for _, name := range mutators {
		args = append(args, "--"+name)
	}
	others, err := filepath.Glob(r.path(folder, "*.go"))
	if err != nil {
		return nil, err
	}
	for _, other := range others {
		if name := filepath.Base(other); name != "decide.go" {
			args = append(args, "--exclude-files", "^"+regexp.QuoteMeta(name)+"$")
		}
	}
	r.say("== %s", folder)
	cmd := exec.CommandContext(ctx, gremlins, append(args, r.path(folder))...)
	// Gremlins takes its time limit from how long the tests take, which a cached result would make nothing.
	cmd.Dir, cmd.Env = r.box.Root, append(os.Environ(), append(env, "GOFLAGS="+os.Getenv("GOFLAGS")+" -count=1")...)
	cmd.Stdout, cmd.Stderr = r.out, os.Stderr
	// It removes its copies of the checkout when it is interrupted.
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	if err := cmd.Run(); err != nil || ctx.Err() != nil {
		return nil, fmt.Errorf("gremlins: %w", cmp.Or(err, ctx.Err()))
	}
	mutants, err := r.readMutants(report.Name(), folder)
	if err != nil {
		return nil, err
	}
	return mutants, r.recheck(ctx, mutants, env)
}

// mutators are the kinds of change beyond those that gremlins makes anyway.
var mutators = []string{"invert-logical", "invert-loopctrl", "invert-assignments", "remove-self-assignments"}

func (r *repo) readMutants(report, folder string) ([]mutant, error) {
	content, err := os.ReadFile(report)
	if err != nil {
		return nil, err
	}
	var parsed struct {
		Files []struct {
			Mutations []struct {
				Type, Status string
				Line, Column int
			}
		}
	}
	if len(content) > 0 { // gremlins writes no report when it found nothing to change
		if err := json.Unmarshal(content, &parsed); err != nil {
			return nil, fmt.Errorf("reading the report of gremlins: %w", err)
		}
	}
	file := filepath.Join(folder, "decide.go")
	source, err := os.ReadFile(r.path(file))
	if err != nil {
		return nil, err
	}
	lines := strings.Split(string(source), "\n")
	var found []mutant
	for _, f := range parsed.Files {
		for _, m := range f.Mutations {
			found = append(found, mutant{
				file: file, mutator: m.Type, fate: m.Status, line: m.Line, column: m.Column,
				source: strings.TrimSpace(lines[m.Line-1]),
			})
		}
	}
	slices.SortFunc(found, func(a, b mutant) int {
		return cmp.Or(a.line-b.line, a.column-b.column, cmp.Compare(a.mutator, b.mutator))
	})
	return found, nil
}

// reportMutants prints the survivors and the total. A reason whose mutant is gone is an error too.
func (r *repo) reportMutants(all []mutant, reasons map[string]string, whole bool) error {
	used := map[string]bool{}
	alive, unexplained := 0, 0
	for _, m := range all {
		if !m.alive() {
			continue
		}
		alive++
		reason, known := reasons[m.key()]
		used[m.key()] = true
		if !known {
			unexplained++
			reason = "no reason in tools/dev/mutants.txt"
		}
		r.say("%s:%d:%d: %s %s: %s\n    %s", m.file, m.line, m.column, m.mutator, m.fate, reason, m.source)
	}
	r.say("%d mutants: %d killed, %d not killed", len(all), len(all)-alive, alive)
	var problems []error
	if unexplained > 0 {
		problems = append(problems, fmt.Errorf("%d mutants live without a reason", unexplained))
	}
	for key := range reasons {
		if whole && !used[key] {
			problems = append(problems, fmt.Errorf("mutants.txt explains a mutant that does not live: %s", key))
		}
	}
	return errors.Join(problems...)
}

// readReasons reads lines of the form `file | mutator | source line | reason`; # starts a comment. The source
// may have bars of its own, so the reason is what follows the last.
func readReasons(path string) (map[string]string, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	reasons := map[string]string{}
	for line := range strings.Lines(string(content)) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		i := strings.LastIndex(line, " | ")
		if i < 0 || strings.Count(line[:i], " | ") < 2 {
			return nil, fmt.Errorf("%s: want `file | mutator | source line | reason`: %s", path, line)
		}
		reasons[line[:i]] = line[i+3:]
	}
	return reasons, nil
}
