package main

import (
	"fmt"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"time"
)

// A level is one step of the test ladder.
type level struct {
	name, what string
	// servers says that the tests start servers as processes.
	servers bool
	// kube says that the tests start a kube-apiserver.
	kube bool
	// flags are further flags of `go test`.
	flags []string
	// timeout bounds the tests of one package.
	timeout time.Duration
	// each has every test reported as it ends, not every package.
	each bool
	// system is the one whose stories are told; empty for all.
	system string
	// show has lines of the tests' own output passed on.
	show *regexp.Regexp
}

// levels is the ladder from the bottom. L1 (properties) and L2 (sequences of decisions) are ordinary tests
// beside the code they are about, and run with L0. Above L0 a package has an API server, an etcd or a whole cluster of its
// own, and runs alone, but on L4 two at a time, which wait for servers more than they work.
func levels() []level {
	alone := []string{"-count=1", "-p=1"}
	return []level{
		{name: "L0", servers: true, what: "decisions, builders, tools", timeout: 10 * time.Minute},
		{name: "L3", what: "CRDs on a real API server", servers: true, kube: true, flags: alone, timeout: 10 * time.Minute},
		{name: "L4", what: "controllers on a real API server, real peers, the local Kubernetes itself", servers: true, kube: true, flags: []string{"-count=1", "-p=2"}, timeout: 20 * time.Minute},
		{name: "L5", what: "stories on the local Kubernetes", kube: true, flags: []string{"-p=1", "-failfast"}, timeout: 45 * time.Minute, each: true},
	}
}

const (
	stories = "test/stories"
	// systemVariable tells the stories which system's alone are to be told.
	systemVariable = "HOLDFAST_SYSTEM"
	rootModule     = "github.com/holdfast-dev/holdfast"
)

// A testPackage is a package with tests.
type testPackage struct {
	// path is the import path, module the module's folder.
	path, module string
	imports      []string // of its tests
}

// level says where on the ladder a package is: by its folder, and by whether its tests start an API server.
// What is neither is L0, so the tests of a new module or folder are never left out.
func (p testPackage) level() string {
	in := func(folder string) bool { return within(p.path, rootModule+"/"+folder) }
	switch {
	case in(stories):
		return "L5"
	case in("test/envtest/crd"):
		return "L3"
	case in("test/sim/apimodel"), in("test/sim/fault"), in("test/sim/garagemodel"), in("test/sim/natsmodel"): // models, without processes
		return "L0"
	case in("internal/garage/adminapi/contract"): // real servers take minutes to forget a dead neighbour
		return "L4"
	case in("test/envtest"), in("test/sim"), in("test/cluster"), slices.Contains(p.imports, rootModule+"/test/envtest/env"):
		return "L4"
	}
	return "L0"
}

func within(path, folder string) bool { return path == folder || strings.HasPrefix(path, folder+"/") }

// testPackages lists the packages with tests of every module.
func (r *repo) testPackages() ([]testPackage, error) {
	modules, err := r.modules()
	if err != nil {
		return nil, err
	}
	var found []testPackage
	for _, module := range modules {
		const withTests = `{{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}}{{range .TestImports}} {{.}}{{end}}{{range .XTestImports}} {{.}}{{end}}{{end}}`
		cmd := exec.Command("go", "list", "-e", "-f", withTests, "./...")
		cmd.Dir = r.path(module)
		var errOut strings.Builder
		cmd.Stderr = &errOut
		out, err := cmd.Output()
		if err != nil {
			return nil, fmt.Errorf("listing the packages of %s: %w\n%s", module, err, errOut.String())
		}
		for line := range strings.Lines(string(out)) {
			if words := strings.Fields(line); len(words) > 0 {
				found = append(found, testPackage{path: words[0], module: module, imports: words[1:]})
			}
		}
	}
	return found, nil
}
