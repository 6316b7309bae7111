package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

const crdFolder = "config/crd"

// crdsOfCharts says which API groups' CRDs a chart brings.
var crdsOfCharts = map[string][]string{
	"charts/nats-cluster-controller": {"cluster.nats.mikluko.io"},
}

// generateVerb writes what is made from the types: deep copies, CRDs, and the charts' copies of those.
func generateVerb(ctx context.Context, r *repo, args []string) error {
	if err := parse(flag.NewFlagSet("generate", flag.ContinueOnError), args); err != nil {
		return err
	}
	generator, err := r.box.Program(ctx, "controller-gen", "controller-gen")
	if err != nil {
		return err
	}
	// A CRD whose type is gone must go too.
	old, err := filepath.Glob(r.path(crdFolder, "*.yaml"))
	if err != nil {
		return err
	}
	for _, file := range old {
		if err := os.Remove(file); err != nil {
			return err
		}
	}
	if err := r.run(ctx, ".", generator, "object", "crd", "paths=./api/...", "output:crd:dir="+crdFolder); err != nil {
		return err
	}
	return r.copyCRDs()
}

func (r *repo) copyCRDs() error {
	for chart, groups := range crdsOfCharts {
		if !exists(r.path(chart)) {
			continue
		}
		target := r.path(chart, "crds")
		if err := os.RemoveAll(target); err != nil {
			return err
		}
		if err := os.MkdirAll(target, 0o755); err != nil {
			return err
		}
		files, err := filepath.Glob(r.path(crdFolder, "*.yaml"))
		if err != nil {
			return err
		}
		for _, file := range files {
			group, _, _ := strings.Cut(filepath.Base(file), "_")
			if !slices.Contains(groups, group) {
				continue
			}
			content, err := os.ReadFile(file)
			if err != nil {
				return err
			}
			if err := os.WriteFile(filepath.Join(target, filepath.Base(file)), content, 0o644); err != nil {
				return fmt.Errorf("copying a CRD into %s: %w", chart, err)
			}
		}
	}
	return nil
}
