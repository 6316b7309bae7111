//go:build !linux

package main

import (
	"fmt"
	"os"
)

func main() {
	fmt.Fprintln(os.Stderr, "holdfast-cluster: a cluster is made of Linux namespaces and cgroups: run this on a Linux machine")
	os.Exit(1)
}
