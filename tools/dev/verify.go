package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os/exec"
)

// verifyVerb brings everything that can be derived up to date, checks everything that can be checked without
// running, and then wants nothing to have changed. It tells all that is wrong, not only the first.
func verifyVerb(ctx context.Context, r *repo, args []string) error {
	if err := parse(flag.NewFlagSet("verify", flag.ContinueOnError), args); err != nil {
		return err
	}
	steps := []struct {
		name string
		run  func(context.Context) error
	}{
		{"generate", func(ctx context.Context) error { return generateVerb(ctx, r, nil) }},
		{"format", r.format},
		{"lint", func(ctx context.Context) error { return r.lint(ctx, false, "") }},
		{"vet", r.vet},
		{"tidy", r.tidy},
		{"tree", r.cleanTree},
	}
	var problems []error
	for _, step := range steps {
		r.say("== %s", step.name)
		if err := step.run(ctx); err != nil {
			problems = append(problems, fmt.Errorf("%s: %w", step.name, err))
		}
		if ctx.Err() != nil {
			break
		}
	}
	if err := errors.Join(problems...); err != nil {
		return err
	}
	r.say("verified")
	return nil
}

func (r *repo) vet(ctx context.Context) error { return r.inModules(ctx, "vet", "./...") }

// tidy wants every go.mod and go.sum to be what the code asks for.
func (r *repo) tidy(ctx context.Context) error { return r.inModules(ctx, "mod", "tidy", "-diff") }

func (r *repo) inModules(ctx context.Context, args ...string) error {
	modules, err := r.modules()
	if err != nil {
		return err
	}
	var problems []error
	for _, module := range modules {
		problems = append(problems, r.run(ctx, module, "go", args...))
	}
	return errors.Join(problems...)
}

// cleanTree wants what is committed and what lies in the folders to be the same.
func (r *repo) cleanTree(ctx context.Context) error {
	status, err := r.git(ctx, "status", "--porcelain", "--untracked-files=all")
	if err != nil || len(status) == 0 {
		return err
	}
	diff, err := r.git(ctx, "diff", "HEAD", "--")
	if err != nil {
		return err
	}
	r.say("%s%s", status, diff)
	return errors.New("the tree differs from what is committed, as shown above: commit it, or mend what made it differ")
}

func (r *repo) git(ctx context.Context, args ...string) ([]byte, error) {
	// A checkout may belong to another user than the one who verifies it, as in a container.
	cmd := exec.CommandContext(ctx, "git", append([]string{"-c", "safe.directory=*", "-C", r.box.Root}, args...)...)
	var errOut bytes.Buffer
	cmd.Stderr = &errOut
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("git %v: %w\n%s", args, err, errOut.Bytes())
	}
	return out, nil
}
