package images

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/holdfast-dev/holdfast/tools/toolbox"
)

// PauseImage is the sandbox image that containerd 2.4.2 pins when its configuration names no other.
const PauseImage = "registry.k8s.io/pause:3.10.2"

// searchPath is what an image inherits from a build without a base, with the root itself at its end: the
// programs lie there, and a probe or a preStop hook names them without a folder.
const searchPath = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/"

// The systems that images are of.
const (
	NATS   = "nats"
	Garage = "garage"
)

// A source is an image and where its only program comes from: a tool, or a package of this repository.
type source struct {
	ref string
	// tool is the toolbox's name of the tool that has the program; empty for a program of our own.
	tool string
	// module is the folder of the Go module below the repository, pkg the folder of the main package below
	// the module.
	module, pkg string
	// program is the file's name in the image's root, and its entrypoint.
	program string
	// command is started in its place where the real image has a command and no entrypoint.
	command []string
	user    string
	ports   []string
	// system is what the image is for; empty for any.
	system string
}

// sources lists every image of the repository. One whose main package is not in this checkout is passed over
// unless it is asked for by name.
func sources() []source {
	const unprivileged = "65532:65532"
	list := []source{
		{ref: PauseImage, module: "test/cluster", pkg: "images/pause", program: "pause", user: "65535:65535"},
		{
			// A stand-in under the real name and tag: the product's default reference works unchanged.
			ref: "docker.io/natsio/prometheus-nats-exporter:0.20.2", module: "test/cluster", pkg: "images/exporter",
			program: "prometheus-nats-exporter", ports: []string{"7777/tcp"}, system: NATS,
		},
		{ref: "holdfast.dev/testbox:dev", module: "test/cluster", pkg: "images/testbox", program: "testbox", user: unprivileged},
		{
			ref: "holdfast.dev/nats-cluster-controller:dev", module: ".", pkg: "cmd/nats-cluster-controller",
			program: "nats-cluster-controller", user: unprivileged, system: NATS,
		},
		{
			ref: "holdfast.dev/garage-operator:dev", module: ".", pkg: "cmd/garage-operator",
			program: "garage-operator", user: unprivileged, system: Garage,
		},
		{ref: "holdfast.dev/ledger:dev", module: "test/ledger", pkg: "cmd/ledger", program: "ledger", user: unprivileged},
	}
	for _, version := range toolbox.NATSServers {
		list = append(list, source{
			ref: "docker.io/library/nats:" + version, tool: toolbox.NATSServer(version), program: "nats-server",
			ports: []string{"4222/tcp", "6222/tcp", "8222/tcp"}, system: NATS,
		})
	}
	for _, version := range toolbox.GarageServers {
		list = append(list, source{
			ref: "docker.io/dxflrs/garage:v" + version, tool: toolbox.GarageServer(version), program: "garage",
			command: []string{"/garage", "server"}, system: Garage,
		})
	}
	return list
}

// Of are the images that a run of those systems needs: a server takes long to build for nobody.
func Of(systems ...string) []string {
	return names(slices.DeleteFunc(sources(), func(s source) bool { return s.system != "" && !slices.Contains(systems, s.system) }))
}

// Pause makes the archive of the sandbox image in the box's cache and returns its path.
func Pause(ctx context.Context, box *toolbox.Box) (string, error) {
	paths, err := Build(ctx, box, filepath.Join(box.Cache, "images"), PauseImage)
	if err != nil {
		return "", err
	}
	return paths[0], nil
}

// Build makes the archives of the named images in dir, one file each, and returns their paths in the same
// order. Without names it makes all of them, but passes over, with a line of progress, a program of our own
// whose main package is not there; such a one asked for by name is an error. An archive that is up to date
// is left as it is.
func Build(ctx context.Context, box *toolbox.Box, dir string, refs ...string) ([]string, error) {
	all := sources()
	wanted := all
	if len(refs) > 0 {
		wanted = nil
	}
	for _, ref := range refs {
		i := slices.IndexFunc(all, func(s source) bool { return s.ref == ref })
		if i < 0 {
			return nil, fmt.Errorf("no image is called %q; known are %s", ref, strings.Join(names(all), ", "))
		}
		wanted = append(wanted, all[i])
	}
	var paths []string
	for _, s := range wanted {
		program, err := s.binary(ctx, box)
		if errors.Is(err, fs.ErrNotExist) && len(refs) == 0 {
			fmt.Fprintf(box.Progress, "passing over image %s: %v\n", s.ref, err)
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("image %s: %w", s.ref, err)
		}
		path, err := s.write(dir, program)
		if err != nil {
			return nil, err
		}
		paths = append(paths, path)
	}
	return paths, nil
}

// FromBinary makes the archive of an image that holds one program of the host, at the root under its own
// name, and the shared libraries that it needs. It returns the archive's path in dir. The reference must
// carry a registry and a tag.
func FromBinary(dir, ref, binary string) (string, error) {
	if !strings.Contains(filepath.Base(ref), ":") || !strings.Contains(ref, "/") {
		return "", fmt.Errorf("image reference %q: write it whole, as in registry.example/name:tag", ref)
	}
	return source{ref: ref, program: filepath.Base(binary)}.write(dir, binary)
}

// write makes the archive of the program with the shared libraries that it needs, and returns its path in dir.
func (s source) write(dir, program string) (string, error) {
	i := s.image(program)
	shared, err := libraries(program)
	if err != nil {
		return "", err
	}
	if len(shared) > 0 {
		maps.Copy(i.Files, shared)
		i.Config.Env = append(i.Config.Env, "LD_LIBRARY_PATH="+strings.Join(foldersOf(shared), ":"))
	}
	return i.write(dir)
}

func (s source) image(program string) image {
	entry := "/" + s.program
	config := v1.Config{Entrypoint: []string{entry}, Env: []string{searchPath}, WorkingDir: "/", User: s.user}
	if s.command != nil {
		config.Entrypoint, config.Cmd = nil, s.command
	}
	for _, port := range s.ports {
		if config.ExposedPorts == nil {
			config.ExposedPorts = map[string]struct{}{}
		}
		config.ExposedPorts[port] = struct{}{}
	}
	return image{Ref: s.ref, Files: map[string]string{entry: program}, Config: config}
}

func names(list []source) []string {
	var out []string
	for _, s := range list {
		out = append(out, s.ref)
	}
	return out
}

// foldersOf are the folders of the files, each once. The image has no linker cache, so a library outside
// the linker's built-in folders is found only where it is told to look.
func foldersOf(files map[string]string) []string {
	var folders []string
	for _, file := range sortedKeys(files) {
		if folder := filepath.Dir(file); !slices.Contains(folders, folder) {
			folders = append(folders, folder)
		}
	}
	return folders
}
