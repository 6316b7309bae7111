package images

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"

	"github.com/holdfast-dev/holdfast/tools/toolbox"
)

// binary builds the source's program and returns its path. The error is fs.ErrNotExist when the checkout has
// no such main package.
func (s source) binary(ctx context.Context, box *toolbox.Box) (string, error) {
	if s.tool != "" {
		return box.Program(ctx, s.tool, s.program)
	}
	module := filepath.Join(box.Root, s.module)
	if _, err := os.Stat(filepath.Join(module, s.pkg)); err != nil {
		return "", fmt.Errorf("this checkout has no %s: %w", filepath.Join(s.module, s.pkg), errors.Unwrap(err))
	}
	// Go links again only what has changed if the last program still lies there, so each checkout keeps its
	// own: two of them would undo each other's work.
	checkout := sha256.Sum256([]byte(box.Root))
	dir := filepath.Join(box.Cache, "images", "bin", hex.EncodeToString(checkout[:8]))
	unlock, err := lock(dir)
	if err != nil {
		return "", err
	}
	defer unlock()
	target := filepath.Join(dir, s.program)
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags", "-s -w", "-o", target, "./"+s.pkg)
	cmd.Dir = module
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off", "GOFLAGS=-mod=readonly -buildvcs=false")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("building %s/%s: %w\n%s", s.module, s.pkg, err, out)
	}
	return target, nil
}

// lock makes the folder and waits until no other process builds in it.
func lock(dir string) (func(), error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(filepath.Join(dir, ".lock"), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("locking %s: %w", f.Name(), err)
	}
	return func() { _ = f.Close() }, nil
}
