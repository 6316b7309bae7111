// Command toolbox builds pinned tools and prints where they lie, one folder a line, in the order asked for:
//
//	toolbox helm controller-gen
//
// Without a name it builds all of them. Progress goes to standard error.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/holdfast-dev/holdfast/tools/toolbox"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "toolbox:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, names []string) error {
	box, err := toolbox.New(".", os.Stderr)
	if err != nil {
		return err
	}
	if len(names) == 0 {
		for _, tool := range toolbox.Tools() {
			names = append(names, tool.Name)
		}
	}
	for _, name := range names {
		dir, err := box.Bin(ctx, name)
		if err != nil {
			return err
		}
		fmt.Println(dir)
	}
	return nil
}
