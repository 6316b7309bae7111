package main

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/holdfast-dev/holdfast/tools/toolbox"
)

// repo is the checkout that a verb works on.
type repo struct {
	box *toolbox.Box
	out io.Writer
}

func (r *repo) path(elements ...string) string {
	return filepath.Join(append([]string{r.box.Root}, elements...)...)
}

// modules are the folders, relative to the root, of the modules with code of ours, the root module first. A
// module that only pins a tool has none; the programs of a few lines among those (a main.go that gathers the
// packages of a tool) are checked by their build, since to load them is to load all of Kubernetes.
func (r *repo) modules() ([]string, error) {
	found := []string{"."}
	for _, pattern := range []string{"tools/*/go.mod", "test/*/go.mod"} {
		files, err := filepath.Glob(r.path(pattern))
		if err != nil {
			return nil, err
		}
		for _, file := range files {
			dir, err := filepath.Rel(r.box.Root, filepath.Dir(file))
			if err != nil {
				return nil, err
			}
			if !isPin(dir) {
				found = append(found, dir)
			}
		}
	}
	return found, nil
}

// isPin says whether the module of that folder pins a tool that the toolbox builds.
func isPin(dir string) bool {
	return slices.ContainsFunc(toolbox.Tools(), func(t toolbox.Tool) bool { return filepath.Join("tools", t.Name) == dir })
}

// goFiles calls visit with every Go file of the repository that a person wrote or generated here, by its path
// relative to the root.
func (r *repo) goFiles(visit func(path string) error) error {
	return filepath.WalkDir(r.box.Root, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(r.box.Root, path)
		switch {
		case err != nil:
			return err
		case e.IsDir() && (rel == ".git" || rel == "out" || e.Name() == "testdata"):
			return filepath.SkipDir
		case e.IsDir() || !strings.HasSuffix(rel, ".go"):
			return nil
		}
		return visit(rel)
	})
}

// run runs a program in a folder of the repository and passes on what it prints.
func (r *repo) run(ctx context.Context, dir, program string, args ...string) error {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir = r.path(dir)
	cmd.Stdout, cmd.Stderr = r.out, os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s %s in %s: %w", filepath.Base(program), strings.Join(args, " "), dir, err)
	}
	return nil
}

func (r *repo) say(format string, args ...any) { fmt.Fprintf(r.out, format+"\n", args...) }
