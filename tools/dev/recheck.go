package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// swaps are the changes of gremlins, by its name for each kind.
var swaps = map[string]map[string]string{
	"ARITHMETIC_BASE":       {"+": "-", "-": "+", "*": "/", "/": "*", "%": "*"},
	"CONDITIONALS_BOUNDARY": {"<": "<=", "<=": "<", ">": ">=", ">=": ">"},
	"CONDITIONALS_NEGATION": {"==": "!=", "!=": "==", "<": ">=", "<=": ">", ">": "<=", ">=": "<"},
	"INCREMENT_DECREMENT":   {"++": "--", "--": "++"},
	"INVERT_LOGICAL":        {"&&": "||", "||": "&&"},
	"INVERT_LOOPCTRL":       {"break": "continue", "continue": "break"},
	"INVERT_NEGATIVES":      {"-": "+"},
}

// recheck tries again what gremlins could not tell, and gives it its fate. Gremlins leaves out a token that lies
// in no block of the coverage profile; but the expressions of `case`, and what follows a function literal in a
// condition, are in no block however often they are run. And its time limit includes the build, which on a busy
// machine takes longer than any test.
func (r *repo) recheck(ctx context.Context, mutants []mutant, env []string) error {
	for i := range mutants {
		m := &mutants[i]
		if m.fate != "NOT COVERED" && m.fate != "TIMED OUT" {
			continue
		}
		source, err := os.ReadFile(r.path(m.file))
		if err != nil {
			return err
		}
		changed, ok := m.apply(string(source))
		if !ok {
			continue // stays alive
		}
		if m.fate, err = r.tryMutant(ctx, m.file, changed, env); err != nil {
			return fmt.Errorf("%s:%d:%d: %w", m.file, m.line, m.column, err)
		}
	}
	return nil
}

// apply returns the source with the mutant's token changed.
func (m mutant) apply(source string) (string, bool) {
	lines := strings.SplitAfter(source, "\n")
	text := lines[m.line-1]
	before, rest := text[:m.column-1], text[m.column-1:]
	token := ""
	for from := range swaps[m.mutator] {
		if strings.HasPrefix(rest, from) && len(from) > len(token) {
			token = from
		}
	}
	if token == "" {
		return "", false
	}
	lines[m.line-1] = before + swaps[m.mutator][token] + rest[len(token):]
	return strings.Join(lines, ""), true
}

// tryMutant runs the tests of the file's package as if the file had that text.
func (r *repo) tryMutant(ctx context.Context, file, text string, env []string) (fate string, err error) {
	dir, err := os.MkdirTemp("", "holdfast-mutant-")
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	changed, overlay := filepath.Join(dir, "decide.go"), filepath.Join(dir, "overlay.json")
	content, err := json.Marshal(map[string]map[string]string{"Replace": {r.path(file): changed}})
	if err != nil {
		return "", err
	}
	if err := errors.Join(os.WriteFile(changed, []byte(text), 0o600), os.WriteFile(overlay, content, 0o600)); err != nil {
		return "", err
	}
	cmd := exec.CommandContext(ctx, "go", "test", "-overlay", overlay, "-failfast", "-vet=off", "-timeout", "1m", "./"+filepath.Dir(file))
	cmd.Dir, cmd.Env = r.box.Root, append(os.Environ(), env...)
	err = cmd.Run()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return "LIVED", nil
	case ctx.Err() == nil && errors.As(err, &exit):
		return "KILLED", nil
	}
	return "", err
}
