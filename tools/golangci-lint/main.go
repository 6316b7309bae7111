// Command golangci-lint is golangci-lint with the Kubernetes API linter compiled in: its plugins are Go
// packages, so the program that has one is a build of its own.
package main

import (
	"fmt"
	"os"

	"github.com/golangci/golangci-lint/v2/pkg/commands"
	"github.com/golangci/golangci-lint/v2/pkg/exitcodes"
	_ "sigs.k8s.io/kube-api-linter"
)

func main() {
	if err := commands.Execute(commands.BuildInfo{Version: "2.15.0", GoVersion: "go1.26"}); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(exitcodes.Failure)
	}
}
