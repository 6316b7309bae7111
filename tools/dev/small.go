package main

import (
	"context"
	"errors"
	"flag"
	"os"
	"path/filepath"
)

// chartVerb checks every chart and packs it into out/charts.
func chartVerb(ctx context.Context, r *repo, args []string) error {
	if err := parse(flag.NewFlagSet("chart", flag.ContinueOnError), args); err != nil {
		return err
	}
	helm, err := r.box.Program(ctx, "helm", "helm")
	if err != nil {
		return err
	}
	charts, err := filepath.Glob(r.path("charts", "*", "Chart.yaml"))
	if err != nil {
		return err
	}
	if len(charts) == 0 {
		return errors.New("no folder of charts/ has a Chart.yaml")
	}
	for _, chart := range charts {
		dir := filepath.Dir(chart)
		if err := r.run(ctx, ".", helm, "lint", "--strict", dir); err != nil {
			return err
		}
		if err := r.run(ctx, ".", helm, "package", "--destination", r.path("out", "charts"), dir); err != nil {
			return err
		}
	}
	return nil
}

// cleanVerb removes what the verbs left in the checkout, and on request what they keep outside it.
func cleanVerb(_ context.Context, r *repo, args []string) error {
	set := flag.NewFlagSet("clean", flag.ContinueOnError)
	cache := set.Bool("cache", false, "also remove the tools that were built")
	if err := parse(set, args); err != nil {
		return err
	}
	if err := os.RemoveAll(r.path("out")); err != nil {
		return err
	}
	if !*cache {
		r.say("removed out/; built tools stay in %s (make clean CLEAN_CACHE=1 removes them)", r.box.Cache)
		return nil
	}
	if err := os.RemoveAll(r.box.Cache); err != nil {
		return err
	}
	r.say("removed out/ and %s; Go's own caches are cleaned by: go clean -cache -modcache", r.box.Cache)
	return nil
}
