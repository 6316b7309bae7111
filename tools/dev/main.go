// Command dev is what the Makefile's verbs do. It builds the tools a verb needs, runs it in every module of
// the repository that has code of ours, and says what it found.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/holdfast-dev/holdfast/tools/toolbox"
)

// A verb is one subcommand.
type verb func(ctx context.Context, r *repo, args []string) error

var verbs = map[string]verb{
	"test":     testVerb,
	"generate": generateVerb,
	"lint":     lintVerb,
	"verify":   verifyVerb,
	"mutate":   mutateVerb,
	"bench":    benchVerb,
	"chart":    chartVerb,
	"clean":    cleanVerb,
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "dev:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	if len(args) == 0 || verbs[args[0]] == nil {
		return fmt.Errorf("no such verb: %q; `make help` lists them", strings.Join(args, " "))
	}
	box, err := toolbox.New(".", os.Stderr)
	if err != nil {
		return err
	}
	return verbs[args[0]](ctx, &repo{box: box, out: os.Stdout}, args[1:])
}

// parse reads a verb's flags; what is left over is an error.
func parse(set *flag.FlagSet, args []string) error {
	if err := set.Parse(args); err != nil {
		return err
	}
	if set.NArg() > 0 {
		return fmt.Errorf("%s takes no argument %q", set.Name(), set.Arg(0))
	}
	return nil
}
