package toolbox

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// A Crate is a program that comes as a Rust crate. The tool's folder holds a package that depends on it and is never
// built: its Cargo.lock pins the crate and everything that it needs, so that cargo checks what it fetches.
type Crate struct {
	// Name and Version are those under which the crate is published.
	Name, Version string
	// Features are the crate's features to build with, by commas; its default ones are off.
	Features string
	// Variant is a second program with one line of the source changed; nil for none.
	Variant *Variant
}

// A Variant is a program that differs from the crate's own in one line of one of the crates that it is made from, which has the same version.
type Variant struct {
	// Program is the file's name: it must not be taken for the program itself.
	Program string
	// Crate and File say where the line is; Old is there exactly once and becomes New.
	Crate, File, Old, New string
}

// buildCrate makes the crate's program and its variant in tmp. Both are built in one folder, so that the variant
// costs what changed; it is removed at the end, for it is far larger than the programs.
func (b *Box) buildCrate(ctx context.Context, tool Tool, tmp string) error {
	crate := *tool.Crate
	work := filepath.Join(tmp, "build")
	if err := os.MkdirAll(work, 0o755); err != nil {
		return err
	}
	source := filepath.Join(work, crate.Name)
	err := errors.Join(
		b.cargo(ctx, filepath.Join(b.Root, "tools", tool.Name), "fetch", "--locked"),
		copyCrate(crate.Name, crate.Version, source),
		b.cargo(ctx, source, buildCargo(crate, work, "--locked")...),
		os.Rename(filepath.Join(work, "target", "release", crate.Name), filepath.Join(tmp, crate.Name)),
	)
	if v := crate.Variant; err == nil && v != nil {
		err = errors.Join(
			v.apply(crate, source, filepath.Join(work, v.Crate)),
			// The lock names the published crate, and cargo has to write the changed one in its place: nothing else,
			// since it may not look for anything.
			b.cargo(ctx, source, buildCargo(crate, work, "--offline")...),
			os.Rename(filepath.Join(work, "target", "release", crate.Name), filepath.Join(tmp, v.Program)),
		)
	}
	return errors.Join(err, os.RemoveAll(work))
}

func buildCargo(crate Crate, work, lock string) []string {
	return []string{
		"build", "--release", lock, "--no-default-features", "--features", crate.Features, "--target-dir", filepath.Join(work, "target"),
	}
}

// cargo runs cargo in dir. Servers for tests have little to do: light optimisation builds in two thirds of the time.
func (b *Box) cargo(ctx context.Context, dir string, args ...string) error {
	program, err := exec.LookPath("cargo")
	if err != nil {
		program = filepath.Join(cargoHome(), "bin", "cargo")
	}
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "CARGO_PROFILE_RELEASE_OPT_LEVEL=1", "CARGO_PROFILE_RELEASE_STRIP=true")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("cargo %s in %s: %w\n%s", args[0], dir, err, tail(out))
	}
	return nil
}

// cargoHome is where cargo and what it fetches lie; empty if the user has no home.
func cargoHome() string {
	if home := os.Getenv("CARGO_HOME"); home != "" {
		return home
	}
	user, err := os.UserHomeDir()
	if err != nil {
		return ""
	}
	return filepath.Join(user, ".cargo")
}

// copyCrate copies what cargo has fetched.
func copyCrate(name, version, target string) error {
	pattern := filepath.Join(cargoHome(), "registry", "src", "*", name+"-"+version)
	found, err := filepath.Glob(pattern)
	if err != nil {
		return err
	}
	if len(found) == 0 {
		return fmt.Errorf("cargo has fetched no %s", pattern)
	}
	return os.CopyFS(target, os.DirFS(found[0]))
}

// apply changes the line in a copy of its crate and has the program built from that copy.
func (v Variant) apply(crate Crate, source, target string) error {
	if err := copyCrate(v.Crate, crate.Version, target); err != nil {
		return err
	}
	file := filepath.Join(target, v.File)
	content, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	if n := bytes.Count(content, []byte(v.Old)); n != 1 {
		return fmt.Errorf("%s %s has %q %d times in %s, not once: the variant is for another version", v.Crate, crate.Version, v.Old, n, v.File)
	}
	if err := os.WriteFile(file, bytes.Replace(content, []byte(v.Old), []byte(v.New), 1), 0o644); err != nil {
		return err
	}
	manifest, err := os.OpenFile(filepath.Join(source, "Cargo.toml"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(manifest, "\n[patch.crates-io]\n%s = { path = %q }\n", v.Crate, target)
	return errors.Join(err, manifest.Close())
}
