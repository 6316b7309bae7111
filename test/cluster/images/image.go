package images

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// An image is what one archive holds: files in one layer on an empty root, and how to start them.
type image struct {
	// Ref is the full reference, with registry and tag.
	Ref string
	// Files are the host's files by absolute path in the image. All are owned by root and can be read and
	// executed by everybody, so that any user of a read-only root file system can run them.
	Files map[string]string
	// Config is the image's part of the container's configuration.
	Config v1.Config
}

// inputs is the digest of all that the archive is made from.
func (i image) inputs() (string, error) {
	sum := sha256.New()
	config, err := json.Marshal(i.Config)
	if err != nil {
		return "", err
	}
	fmt.Fprintf(sum, "%s %s %s\n%s\n", layoutVersion, runtime.GOARCH, i.Ref, config)
	for _, name := range sortedKeys(i.Files) {
		content, err := digestOf(i.Files[name])
		if err != nil {
			return "", err
		}
		fmt.Fprintf(sum, "%s %s\n", name, content)
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// build is the image in the form that the registry libraries work with.
func (i image) build() (v1.Image, error) {
	var files bytes.Buffer
	if err := writeFiles(&files, i.Files); err != nil {
		return nil, err
	}
	opener := func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(files.Bytes())), nil }
	// Without caching the layer is compressed anew for its digest, its size and its content.
	layer, err := tarball.LayerFromOpener(opener, tarball.WithMediaType(types.OCILayer), tarball.WithCompressedCaching)
	if err != nil {
		return nil, fmt.Errorf("layer of %s: %w", i.Ref, err)
	}
	base := mutate.MediaType(mutate.ConfigMediaType(empty.Image, types.OCIConfigJSON), types.OCIManifestSchema1)
	img, err := mutate.AppendLayers(base, layer)
	if err != nil {
		return nil, fmt.Errorf("image %s: %w", i.Ref, err)
	}
	config, err := img.ConfigFile()
	if err != nil {
		return nil, fmt.Errorf("image %s: %w", i.Ref, err)
	}
	config = config.DeepCopy()
	config.OS, config.Architecture, config.Config = "linux", runtime.GOARCH, i.Config
	return mutate.ConfigFile(img, config)
}

// writeFiles writes the layer: every folder above a file before the file, and no time stamps, which would
// make equal images differ.
func writeFiles(w io.Writer, files map[string]string) error {
	out := tar.NewWriter(w)
	made := map[string]bool{}
	for _, name := range sortedKeys(files) {
		for _, dir := range foldersAbove(name) {
			if made[dir] {
				continue
			}
			made[dir] = true
			if err := out.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: dir + "/", Mode: 0o755}); err != nil {
				return err
			}
		}
		content, err := os.ReadFile(files[name])
		if err != nil {
			return err
		}
		header := &tar.Header{Typeflag: tar.TypeReg, Name: strings.TrimPrefix(name, "/"), Mode: 0o755, Size: int64(len(content))}
		if err := out.WriteHeader(header); err != nil {
			return err
		}
		if _, err := out.Write(content); err != nil {
			return err
		}
	}
	return out.Close()
}

// foldersAbove lists the folders that hold the file, outermost first, relative to the root.
func foldersAbove(name string) []string {
	var dirs []string
	for dir := path.Dir(name); dir != "/"; dir = path.Dir(dir) {
		dirs = append(dirs, strings.TrimPrefix(dir, "/"))
	}
	slices.Reverse(dirs)
	return dirs
}

func digestOf(file string) (string, error) {
	f, err := os.Open(file)
	if err != nil {
		return "", err
	}
	defer f.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return "", fmt.Errorf("reading %s: %w", filepath.Base(file), err)
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}
