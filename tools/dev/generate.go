package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

const crdFolder = "config/crd"

// crdsOfCharts says which API groups' CRDs a chart brings, by the folder that it has them in.
var crdsOfCharts = map[string][]string{
	"charts/holdfast-nats/files/crds": {"cluster.nats.mikluko.io", "nats.mikluko.io"},
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
	return errors.Join(r.narrowQuantities(), r.copyCRDs())
}

// controller-gen lets a quantity's exponent have a fraction, and any length. Go's parser refuses both, and a client
// that cannot read one object of a list reads none of them: one such NatsCluster would take all the others out of the
// controller's sight.
const (
	anyExponent  = `([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+)))`
	goodExponent = `([eE](\+|-)?[0-9]{1,3})`
)

// narrowQuantities makes the CRDs refuse the quantities that cannot be read.
func (r *repo) narrowQuantities() error {
	files, err := filepath.Glob(r.path(crdFolder, "*.yaml"))
	if err != nil {
		return err
	}
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		narrow := strings.ReplaceAll(string(content), anyExponent, goodExponent)
		if strings.Contains(narrow, "numkMGTPE") && !strings.Contains(narrow, goodExponent) {
			return fmt.Errorf("%s: controller-gen writes quantities in another way now: look at narrowQuantities", file)
		}
		if err := os.WriteFile(file, []byte(narrow), 0o644); err != nil {
			return err
		}
	}
	return nil
}

func (r *repo) copyCRDs() error {
	files, err := filepath.Glob(r.path(crdFolder, "*.yaml"))
	if err != nil {
		return err
	}
	for folder, groups := range crdsOfCharts {
		if err := errors.Join(os.RemoveAll(r.path(folder)), os.MkdirAll(r.path(folder), 0o755)); err != nil {
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
			if err := os.WriteFile(r.path(folder, filepath.Base(file)), content, 0o644); err != nil {
				return err
			}
		}
	}
	return nil
}
