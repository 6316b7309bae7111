package images

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/google/go-containerregistry/pkg/v1/validate"

	"github.com/holdfast-dev/holdfast/tools/toolbox"
)

// An image of a dynamic program must hold all that the program needs: it is run here with the image's files
// as its root, by a user who owns none of them.
func TestDynamicProgramRunsInItsImage(t *testing.T) {
	program, err := exec.LookPath("ls")
	if err != nil {
		t.Fatal(err)
	}
	archive, err := FromBinary(t.TempDir(), "test.example/tools/ls:1", program)
	if err != nil {
		t.Fatal(err)
	}
	img := open(t, archive)
	config, err := img.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	root := unpack(t, img)
	cmd := &exec.Cmd{
		Path: config.Config.Entrypoint[0], Args: []string{"ls", "/"}, Env: config.Config.Env, Dir: config.Config.WorkingDir,
		SysProcAttr: &syscall.SysProcAttr{Chroot: root, Credential: &syscall.Credential{Uid: 1000, Gid: 1000}},
	}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("run in the image (this test needs root for chroot): %v\n%s", err, out)
	}
	if !strings.Contains(string(out), "ls\n") {
		t.Errorf("the root of the image holds %q, not the program", out)
	}
}

func TestArchiveIsAnOCIImageWithItsName(t *testing.T) {
	i := source{ref: "registry.example/a/tool:v1", program: "tool", user: "7:8", ports: []string{"80/tcp"}}.image(script(t, "one"))
	archive, err := i.write(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if got := filepath.Base(archive); got != "tool-v1.tar" {
		t.Errorf("the archive is called %s", got)
	}
	if name, err := Name(archive); err != nil || name != "registry.example/a/tool:v1" {
		t.Errorf("Name = %q, %v", name, err)
	}
	img := open(t, archive)
	if err := validate.Image(img); err != nil {
		t.Errorf("not a valid image: %v", err)
	}
	if media, err := img.MediaType(); err != nil || media != types.OCIManifestSchema1 {
		t.Errorf("media type %s, %v", media, err)
	}
	config, err := img.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	want := v1.Config{
		Entrypoint: []string{"/tool"}, Env: []string{searchPath}, WorkingDir: "/", User: "7:8",
		ExposedPorts: map[string]struct{}{"80/tcp": {}},
	}
	if diff := cmp.Diff(want, config.Config); diff != "" {
		t.Errorf("configuration (-want +got):\n%s", diff)
	}
}

func TestArchiveIsWrittenOnlyWhenSomethingChanged(t *testing.T) {
	base := func() image {
		return source{ref: "registry.example/tool:v1", program: "tool"}.image(script(t, "one"))
	}
	cases := map[string]struct {
		change    func(*image)
		rewritten bool
	}{
		"nothing":        {change: func(*image) {}},
		"content":        {change: func(i *image) { i.Files["/tool"] = script(t, "two") }, rewritten: true},
		"another file":   {change: func(i *image) { i.Files["/lib/x"] = script(t, "one") }, rewritten: true},
		"configuration":  {change: func(i *image) { i.Config.User = "1" }, rewritten: true},
		"same file name": {change: func(i *image) { i.Ref = "other.example/tool:v1" }, rewritten: true},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			first, err := base().write(dir)
			if err != nil {
				t.Fatal(err)
			}
			before := stat(t, first)
			changed := base()
			c.change(&changed)
			second, err := changed.write(dir)
			if err != nil {
				t.Fatal(err)
			}
			if rewritten := !os.SameFile(before, stat(t, second)); rewritten != c.rewritten {
				t.Errorf("rewritten = %v, want %v", rewritten, c.rewritten)
			}
			if got, err := Name(second); err != nil || got != changed.Ref {
				t.Errorf("Name = %q, %v", got, err)
			}
		})
	}
	t.Run("equal inputs, equal bytes", func(t *testing.T) {
		one, err1 := base().write(t.TempDir())
		two, err2 := base().write(t.TempDir())
		if err := errors.Join(err1, err2); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(read(t, one), read(t, two)) {
			t.Error("two archives of the same image differ")
		}
	})
	t.Run("a broken archive", func(t *testing.T) {
		dir := t.TempDir()
		broken := filepath.Join(dir, "tool-v1.tar")
		if err := os.WriteFile(broken, []byte("half"), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := base().write(dir); err != nil {
			t.Fatal(err)
		}
		if _, err := Name(broken); err != nil {
			t.Errorf("the broken archive is still there: %v", err)
		}
	})
}

// A run has the images of its systems and what serves all, and no server that it does not start. Garage's real image has a command
// and no entrypoint.
func TestImagesOfASystem(t *testing.T) {
	all, nats, garage := Of(NATS, Garage), Of(NATS), Of(Garage)
	if want := names(sources()); !slices.Equal(all, want) {
		t.Errorf("of both systems are %v, want %v", all, want)
	}
	for name, of := range map[string][]string{"nats": nats, "garage": garage} {
		for _, ref := range []string{PauseImage, "holdfast.dev/ledger:dev"} {
			if !slices.Contains(of, ref) {
				t.Errorf("%s runs without %s", name, ref)
			}
		}
	}
	is := func(system string) func(string) bool {
		return func(ref string) bool { return strings.Contains(ref, "/"+system) }
	}
	if slices.ContainsFunc(nats, is("garage")) || slices.ContainsFunc(garage, is("nats")) || !slices.ContainsFunc(garage, is("garage:v")) {
		t.Errorf("of NATS are %v, of Garage %v", nats, garage)
	}
	for _, s := range sources() {
		if is("garage:v")(s.ref) {
			config := s.image(script(t, "garage")).Config
			if config.Entrypoint != nil || !slices.Equal(config.Cmd, []string{"/garage", "server"}) {
				t.Errorf("%s starts %v %v", s.ref, config.Entrypoint, config.Cmd)
			}
		}
	}
}

func TestBuildRefusesWhatItCannotMake(t *testing.T) {
	box := &toolbox.Box{Root: t.TempDir(), Cache: t.TempDir(), Progress: io.Discard}
	if _, err := Build(t.Context(), box, t.TempDir(), "holdfast.dev/ledger:dev"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("an image whose program is not in the checkout: %v", err)
	}
	if _, err := Build(t.Context(), box, t.TempDir(), "nginx:1"); err == nil || !strings.Contains(err.Error(), PauseImage) {
		t.Errorf("an unknown image must be answered with the known ones: %v", err)
	}
	if _, err := FromBinary(t.TempDir(), "ls", "/bin/ls"); err == nil {
		t.Error("a reference without registry and tag was taken")
	}
}

func TestEveryNATSVersionHasAnImage(t *testing.T) {
	list := strings.Join(names(sources()), " ")
	for _, version := range toolbox.NATSServers {
		if !strings.Contains(list, "docker.io/library/nats:"+version) {
			t.Errorf("no image of nats-server %s in %s", version, list)
		}
	}
}

func script(t *testing.T, content string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "program")
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// open unpacks an archive and reads the image in it with the registry library.
func open(t *testing.T, archive string) v1.Image {
	t.Helper()
	f, err := os.Open(archive)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	dir := t.TempDir()
	untar(t, f, dir)
	index, err := layout.ImageIndexFromPath(dir)
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := index.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	img, err := index.Image(manifest.Manifests[0].Digest)
	if err != nil {
		t.Fatal(err)
	}
	return img
}

func unpack(t *testing.T, img v1.Image) string {
	t.Helper()
	files := mutate.Extract(img)
	defer files.Close()
	root := t.TempDir()
	untar(t, files, root)
	return root
}

func untar(t *testing.T, r io.Reader, dir string) {
	t.Helper()
	for in := tar.NewReader(r); ; {
		header, err := in.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		target := filepath.Join(dir, header.Name)
		if header.Typeflag == tar.TypeDir {
			err = os.MkdirAll(target, header.FileInfo().Mode().Perm())
		} else {
			var content []byte
			content, err = io.ReadAll(in)
			err = errors.Join(err, os.MkdirAll(filepath.Dir(target), 0o755), os.WriteFile(target, content, header.FileInfo().Mode().Perm()))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func stat(t *testing.T, file string) os.FileInfo {
	t.Helper()
	info, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	return info
}

func read(t *testing.T, file string) []byte {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return content
}
