// Command hoststate notes the state of this host and says later what is different.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/holdfast-dev/holdfast/test/cluster/hoststate"
)

const usage = `usage: hoststate save FILE      write the state of this host to FILE
       hoststate compare FILE   print every difference to the state in FILE; exit 1 if there is one`

var errDifferent = errors.New("the host is not as it was")

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 2 || (args[0] != "save" && args[0] != "compare") {
		return errors.New(usage)
	}
	now, err := hoststate.Capture()
	if err != nil {
		return err
	}
	if args[0] == "save" {
		content, err := json.MarshalIndent(now, "", " ")
		if err != nil {
			return err
		}
		return os.WriteFile(args[1], append(content, '\n'), 0o600)
	}
	content, err := os.ReadFile(args[1])
	if err != nil {
		return fmt.Errorf("%w; make it with: hoststate save %s", err, args[1])
	}
	var before hoststate.State
	if err := json.Unmarshal(content, &before); err != nil {
		return fmt.Errorf("%s is not a saved state: %w", args[1], err)
	}
	differences := hoststate.Diff(before, now)
	for _, line := range differences {
		fmt.Println(line)
	}
	if len(differences) > 0 {
		return fmt.Errorf("%w: %d differences", errDifferent, len(differences))
	}
	return nil
}
