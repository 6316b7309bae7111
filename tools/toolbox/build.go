// Package toolbox builds the programs that the repository's commands and tests use, each from a module under
// tools/ that pins it, and keeps them outside the work tree: what has been built once is never built again,
// whichever checkout asks for it.
package toolbox

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// Box builds tools and knows where they lie.
type Box struct {
	// Root is the repository's top folder.
	Root string
	// Cache is the folder of everything that is kept between runs.
	Cache string
	// Progress gets a line as each build starts and ends.
	Progress io.Writer
}

// New is the Box of the repository that holds dir. The cache is $HOLDFAST_CACHE, or holdfast below the
// user's cache folder.
func New(dir string, progress io.Writer) (*Box, error) {
	root, err := findRoot(dir)
	if err != nil {
		return nil, err
	}
	cache := os.Getenv("HOLDFAST_CACHE")
	if cache == "" {
		base, err := os.UserCacheDir()
		if err != nil {
			return nil, fmt.Errorf("no folder to keep built tools in: %w; set HOLDFAST_CACHE", err)
		}
		cache = filepath.Join(base, "holdfast")
	}
	return &Box{Root: root, Cache: cache, Progress: progress}, nil
}

// Bin builds the tool if this machine has not done so yet, and returns the folder with its programs.
func (b *Box) Bin(ctx context.Context, name string) (string, error) {
	i := slices.IndexFunc(Tools(), func(t Tool) bool { return t.Name == name })
	if i < 0 {
		return "", fmt.Errorf("no tool is called %q", name)
	}
	tool := Tools()[i]
	key, err := b.key(ctx, tool)
	if err != nil {
		return "", err
	}
	dir := filepath.Join(b.Cache, "tools", tool.Name, key)
	if isDir(dir) {
		return dir, nil
	}
	unlock, err := lock(filepath.Join(b.Cache, "tools", strings.ReplaceAll(tool.Name, "/", "-")+".lock"))
	if err != nil {
		return "", err
	}
	defer unlock()
	if isDir(dir) { // built by another process while this one waited
		return dir, nil
	}
	if err := EnsureNeeds(ctx, b.Progress, tool.Needs...); err != nil {
		return "", err
	}
	return dir, b.build(ctx, tool, dir)
}

// Program builds the tool if needed and returns the path of one of its programs or links.
func (b *Box) Program(ctx context.Context, tool, program string) (string, error) {
	dir, err := b.Bin(ctx, tool)
	return filepath.Join(dir, program), err
}

// build makes the programs in a folder beside dir and renames it, so that a folder of the final name is
// always whole.
func (b *Box) build(ctx context.Context, tool Tool, dir string) error {
	start := time.Now()
	fmt.Fprintf(b.Progress, "building %s\n", tool.Name)
	tmp := dir + ".part"
	if err := errors.Join(os.RemoveAll(tmp), os.MkdirAll(tmp, 0o755)); err != nil {
		return err
	}
	builder := b.buildGo
	if tool.Crate != nil {
		builder = b.buildCrate
	}
	if err := builder(ctx, tool, tmp); err != nil {
		return err
	}
	for link, program := range tool.Links {
		if err := os.Symlink(program, filepath.Join(tmp, link)); err != nil {
			return err
		}
	}
	fmt.Fprintf(b.Progress, "built %s in %s\n", tool.Name, time.Since(start).Round(time.Second))
	return os.Rename(tmp, dir)
}

func (b *Box) buildGo(ctx context.Context, tool Tool, tmp string) error {
	for _, program := range slices.Sorted(maps.Keys(tool.Programs)) {
		args := append([]string{"build"}, buildFlags(tool)...)
		cmd := exec.CommandContext(ctx, "go", append(args, "-o", filepath.Join(tmp, program), tool.Programs[program])...)
		cmd.Dir = filepath.Join(b.Root, "tools", tool.Name)
		cmd.Env = append(os.Environ(), "GOFLAGS=-mod=readonly -buildvcs=false", "GOWORK=off", "CGO_ENABLED="+map[bool]string{true: "1", false: "0"}[tool.CGO])
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("building %s of tools/%s: %w\n%s", program, tool.Name, err, tail(out))
		}
	}
	return nil
}

func buildFlags(tool Tool) []string {
	linker := []string{"-s", "-w"}
	for _, name := range slices.Sorted(maps.Keys(tool.Vars)) {
		linker = append(linker, "-X", name+"="+tool.Vars[name])
	}
	flags := []string{"-trimpath", "-ldflags", strings.Join(linker, " ")}
	if len(tool.Tags) > 0 {
		flags = append(flags, "-tags", strings.Join(tool.Tags, ","))
	}
	return flags
}

// key names a build by everything that it is made from.
func (b *Box) key(ctx context.Context, tool Tool) (string, error) {
	toolchain, err := exec.CommandContext(ctx, "go", "env", "GOVERSION", "GOOS", "GOARCH").Output()
	if err != nil {
		return "", fmt.Errorf("asking go for its version: %w", err)
	}
	sum := sha256.New()
	if c := tool.Crate; c != nil {
		toolchain = fmt.Appendf(nil, "%q %+v", buildCargo(*c, "", ""), c.Variant)
	}
	fmt.Fprintf(sum, "%s %q %v", toolchain, buildFlags(tool), tool.CGO)
	err = filepath.WalkDir(filepath.Join(b.Root, "tools", tool.Name), func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		fmt.Fprintf(sum, "%s %d\n%s", e.Name(), len(content), content)
		return err
	})
	return hex.EncodeToString(sum.Sum(nil))[:16], err
}

func findRoot(dir string) (string, error) {
	dir, err := filepath.Abs(dir)
	for ; err == nil; dir = filepath.Dir(dir) {
		if isDir(filepath.Join(dir, "tools", "toolbox")) {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return "", errors.New("not inside the repository: no folder above this one holds tools/toolbox")
		}
	}
	return "", err
}

// lock waits until no other process of this machine builds the same tool.
func lock(path string) (func(), error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
		return nil, errors.Join(fmt.Errorf("locking %s: %w", path, err), f.Close())
	}
	return func() { _ = f.Close() }, nil
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// tail keeps the end of a long output: a failed build says what is wrong last.
func tail(out []byte) []byte { return out[max(0, len(out)-4000):] }
