// Command images makes OCI image archives: all of the repository's, the named ones, or one of a program that
// lies on this host. It prints a line for each: name, size, path.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/holdfast-dev/holdfast/test/cluster/images"
	"github.com/holdfast-dev/holdfast/tools/toolbox"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	flag.Usage = func() {
		fmt.Fprintln(flag.CommandLine.Output(), "usage: images [--out DIR] [--system NAME | IMAGE...]\n       images [--out DIR] --binary PATH IMAGE")
		flag.PrintDefaults()
	}
	out := flag.String("out", "", "folder of the archives (default out/images below the repository)")
	binary := flag.String("binary", "", "make IMAGE from this program of the host and the shared libraries it needs")
	system := flag.String("system", "", "make the images of this system alone: "+images.NATS+" or "+images.Garage)
	flag.Parse()
	refs := flag.Args()
	switch *system {
	case "":
	case images.NATS, images.Garage:
		refs = append(refs, images.Of(*system)...)
	default:
		return fmt.Errorf("no system is called %q", *system)
	}
	box, err := toolbox.New(".", os.Stderr)
	if err != nil {
		return err
	}
	dir := *out
	if dir == "" {
		dir = filepath.Join(box.Root, "out", "images")
	}
	paths, err := archives(ctx, box, dir, *binary, refs)
	if err != nil {
		return err
	}
	return list(paths)
}

func archives(ctx context.Context, box *toolbox.Box, dir, binary string, refs []string) ([]string, error) {
	if binary == "" {
		return images.Build(ctx, box, dir, refs...)
	}
	if len(refs) != 1 {
		return nil, fmt.Errorf("--binary makes one image: give its name, not %q", refs)
	}
	path, err := images.FromBinary(dir, refs[0], binary)
	return []string{path}, err
}

func list(paths []string) error {
	for _, path := range paths {
		name, err := images.Name(path)
		if err != nil {
			return err
		}
		info, err := os.Stat(path)
		if err != nil {
			return err
		}
		fmt.Printf("%-60s %6.1f MiB  %s\n", name, float64(info.Size())/(1<<20), path)
	}
	return nil
}
