package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"strings"
)

// maxNolint is how many exceptions from the linters the repository affords.
const maxNolint = 5

// lintVerb runs the linters in every module and lists the exceptions.
func lintVerb(ctx context.Context, r *repo, args []string) error {
	set := flag.NewFlagSet("lint", flag.ContinueOnError)
	fix := set.Bool("fix", false, "mend what the linters can mend")
	only := set.String("module", "", "only this module's folder")
	if err := parse(set, args); err != nil {
		return err
	}
	return r.lint(ctx, *fix, *only)
}

func (r *repo) lint(ctx context.Context, fix bool, only string) error {
	modules, err := r.modules()
	if err != nil {
		return err
	}
	linter, err := r.box.Program(ctx, "golangci-lint", "golangci-lint")
	if err != nil {
		return err
	}
	args := []string{"run", "--config", r.path(".golangci.yml"), "--allow-parallel-runners"}
	if fix {
		args = append(args, "--fix")
	}
	var problems []error
	for _, module := range modules {
		if only == "" || only == module {
			r.say("lint %s", module)
			problems = append(problems, r.run(ctx, module, linter, append(args, "./...")...))
		}
	}
	return errors.Join(append(problems, r.countNolint())...)
}

// format writes every module's files in the one form.
func (r *repo) format(ctx context.Context) error {
	linter, err := r.box.Program(ctx, "golangci-lint", "golangci-lint")
	if err != nil {
		return err
	}
	return r.run(ctx, ".", linter, "fmt", "--config", r.path(".golangci.yml"))
}

// countNolint lists every exception with its reason, and fails when there are too many.
func (r *repo) countNolint() error {
	count := 0
	err := r.goFiles(func(path string) error {
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, r.path(path), nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, comment := range comments(file) {
			if strings.HasPrefix(comment.Text, "//nolint") {
				count++
				r.say("%s:%d: %s", path, set.Position(comment.Pos()).Line, comment.Text)
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	r.say("nolint: %d of at most %d", count, maxNolint)
	if count > maxNolint {
		return fmt.Errorf("%d nolint comments, at most %d are allowed: mend the code instead", count, maxNolint)
	}
	return nil
}

func comments(file *ast.File) []*ast.Comment {
	var all []*ast.Comment
	for _, group := range file.Comments {
		all = append(all, group.List...)
	}
	return all
}
