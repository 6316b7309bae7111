package main

import (
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"time"
)

// A level is one step of the test ladder. Where a test's package lies decides its level.
type level struct {
	name, what string
	targets    []target
	// kube says that the tests start a kube-apiserver.
	kube bool
	// flags are further flags of `go test`.
	flags []string
	// timeout bounds the tests of one package.
	timeout time.Duration
	// each has every test reported as it ends, not every package.
	each bool
}

// A target is packages of one module.
type target struct {
	module   string
	packages []string
	// except are import paths, relative to the module's, that another level runs.
	except []string
}

const (
	crdTests = "test/envtest/crd"
	stories  = "test/stories"
)

// levels is the ladder from the bottom. L1 (properties) and L2 (stories of a decision) are ordinary tests
// beside the code they are about, so L0 runs them.
func levels() []level {
	return []level{
		{
			name: "L0", what: "decisions, builders, tools", timeout: 10 * time.Minute,
			targets: []target{
				{module: ".", packages: []string{"./api/...", "./cmd/...", "./internal/..."}},
				{module: "tools/dev", packages: []string{"./..."}},
				{module: "tools/toolbox", packages: []string{"./..."}},
				{module: "test/ledger", packages: []string{"./..."}},
			},
		},
		{
			name: "L3", what: "CRDs on a real API server", kube: true, timeout: 10 * time.Minute, flags: []string{"-count=1"},
			targets: []target{{module: ".", packages: []string{"./" + crdTests + "/..."}}},
		},
		{
			// One package at a time: each has an API server and an etcd of its own.
			name: "L4", what: "controllers on a real API server, with real peers", kube: true, timeout: 20 * time.Minute, flags: []string{"-count=1", "-p=1"},
			targets: []target{
				{module: ".", packages: []string{"./test/envtest/...", "./test/sim/..."}, except: []string{crdTests}},
				{module: "test/cluster", packages: []string{"./..."}},
			},
		},
		{
			name: "L5", what: "stories on a local Kubernetes", kube: true, timeout: 45 * time.Minute, flags: []string{"-p=1", "-failfast"}, each: true,
			targets: []target{{module: stories, packages: []string{"./..."}}},
		},
	}
}

// packagesOf lists the import paths of a target that have tests. A pattern whose folder is not there names no
// package.
func (r *repo) packagesOf(t target) ([]string, error) {
	patterns := slices.DeleteFunc(slices.Clone(t.packages), func(p string) bool {
		return !exists(r.path(t.module, strings.TrimSuffix(p, "/...")))
	})
	if len(patterns) == 0 {
		return nil, nil
	}
	const withTests = `{{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}} {{.Module.Path}}{{end}}`
	cmd := exec.Command("go", append([]string{"list", "-e", "-f", withTests}, patterns...)...)
	cmd.Dir = r.path(t.module)
	var errOut strings.Builder
	cmd.Stderr = &errOut
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("listing the packages of %s: %w\n%s", t.module, err, errOut.String())
	}
	var found []string
	for line := range strings.Lines(string(out)) {
		pkg, module, _ := strings.Cut(strings.TrimSpace(line), " ")
		if pkg != "" && !slices.ContainsFunc(t.except, func(e string) bool { return within(pkg, module+"/"+e) }) {
			found = append(found, pkg)
		}
	}
	return found, nil
}

func within(pkg, folder string) bool { return pkg == folder || strings.HasPrefix(pkg, folder+"/") }
