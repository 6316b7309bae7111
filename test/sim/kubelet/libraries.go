package kubelet

import (
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
)

// libraries are the files that a program is loaded with, none for a static one: its loader, and what that says it
// would load, which nobody knows better. They are found in a sandbox where they are found on the machine.
func libraries(program string) ([]string, error) {
	loader, err := loaderOf(program)
	if err != nil || loader == "" {
		return nil, err
	}
	output, err := exec.Command(loader, "--list", program).Output()
	if err != nil {
		if exit, ok := errors.AsType[*exec.ExitError](err); ok {
			err = fmt.Errorf("%w: %s", err, exit.Stderr)
		}
		return nil, fmt.Errorf("shared libraries of %s: %w", program, err)
	}
	files := []string{loader}
	for line := range strings.Lines(string(output)) {
		// "libm.so.6 => /lib/libm.so.6 (0x7f00)"; what the kernel brings along has no path, the loader no name.
		_, path, _ := strings.Cut(line, " => ")
		path, _, _ = strings.Cut(path, " (")
		if path = strings.TrimSpace(path); filepath.IsAbs(path) && path != loader {
			files = append(files, path)
		}
	}
	return files, nil
}

// loaderOf is the interpreter that a program names, "" for a static one.
func loaderOf(program string) (string, error) {
	file, err := elf.Open(program)
	if err != nil {
		return "", fmt.Errorf("%s: %w", program, err)
	}
	defer func() { _ = file.Close() }()
	for _, segment := range file.Progs {
		if segment.Type == elf.PT_INTERP {
			name, err := io.ReadAll(segment.Open())
			return strings.TrimRight(string(name), "\x00"), err
		}
	}
	return "", nil
}
