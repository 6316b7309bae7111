package toolbox

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// A Need is something that the host must have: a command on the PATH or a C library that pkg-config knows.
type Need struct {
	Command, Library string
	// Package is the Debian package that brings it, or several by spaces.
	Package string
	// Hint says what to install where no package of Debian will do; then it is not installed for the user.
	Hint string
}

func (n Need) met() bool {
	if n.Library != "" {
		return exec.Command("pkg-config", "--exists", n.Library).Run() == nil
	}
	if _, err := exec.LookPath(n.Command); err == nil {
		return true
	}
	// A user's PATH often leaves out the folders of the administrator's commands, and a shell that reads no profile that of cargo.
	for _, dir := range []string{"/usr/sbin", "/sbin", filepath.Join(cargoHome(), "bin")} {
		if info, err := os.Stat(filepath.Join(dir, n.Command)); err == nil && info.Mode()&0o111 != 0 {
			return true
		}
	}
	return false
}

// EnsureNeeds installs what is missing from Debian's packages where the user is root and apt-get is there;
// otherwise its error says what to install.
func EnsureNeeds(ctx context.Context, progress io.Writer, needs ...Need) error {
	for _, need := range needs {
		if need.Hint != "" && !need.met() {
			return fmt.Errorf("this machine has no %s: install %s", need.Command, need.Hint)
		}
	}
	missing := missingPackages(needs)
	if len(missing) == 0 {
		return nil
	}
	command := "apt-get install -y --no-install-recommends " + strings.Join(missing, " ")
	if _, err := exec.LookPath("apt-get"); err != nil || os.Geteuid() != 0 {
		return fmt.Errorf("this machine lacks %s: install it, on Debian as root with: %s", strings.Join(missing, ", "), command)
	}
	fmt.Fprintf(progress, "installing Debian packages: %s\n", strings.Join(missing, " "))
	for _, line := range []string{"apt-get update -q", command} {
		words := strings.Fields(line)
		cmd := exec.CommandContext(ctx, words[0], words[1:]...)
		cmd.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w\n%s", line, err, tail(out))
		}
	}
	if still := missingPackages(needs); len(still) > 0 {
		return fmt.Errorf("still missing after %q: %s", command, strings.Join(still, ", "))
	}
	return nil
}

func missingPackages(needs []Need) []string {
	var missing []string
	for _, need := range needs {
		if !need.met() && !slices.Contains(missing, need.Package) {
			missing = append(missing, need.Package)
		}
	}
	return missing
}
