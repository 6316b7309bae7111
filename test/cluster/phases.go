//go:build linux

package cluster

import (
	"context"
	"fmt"
	"io"
	"os"
	"syscall"
	"time"
)

// DieAfter is the environment variable that names a phase of Up after which the program kills itself, as a
// user's kill -9 or a lack of memory would: that is how the clean-up is tested.
const DieAfter = "HOLDFAST_DIE_AFTER"

type phase struct {
	name string
	run  func(context.Context) error
}

// Phases are the names of Up's phases, in order.
func Phases() []string {
	var names []string
	for _, p := range (&upRun{}).phases() {
		names = append(names, p.name)
	}
	return names
}

func runPhases(ctx context.Context, phases []phase, progress io.Writer) error {
	begun := time.Now()
	for _, p := range phases {
		fmt.Fprintf(progress, "%5.1fs  %s\n", time.Since(begun).Seconds(), p.name)
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := p.run(ctx); err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
		if os.Getenv(DieAfter) == p.name {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		}
	}
	fmt.Fprintf(progress, "%5.1fs  up\n", time.Since(begun).Seconds())
	return nil
}
