package images

import (
	"archive/tar"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
)

const (
	// layoutVersion is part of every image's inputs: change it when the way archives are written changes.
	layoutVersion = "1"
	// annotationName is where containerd looks for the full name of an imported image.
	annotationName = "io.containerd.image.name"
	// annotationTag is the specification's place for a name; other tools read the tag from it.
	annotationTag    = "org.opencontainers.image.ref.name"
	annotationInputs = "dev.holdfast.image.inputs"

	indexFile = "index.json"
)

// Name is the reference of the image in an archive that this package wrote.
func Name(archive string) (string, error) {
	annotations, err := annotationsOf(archive)
	if err == nil && annotations[annotationName] == "" {
		err = errors.New("its index names no image")
	}
	if err != nil {
		return "", fmt.Errorf("image archive %s: %w", archive, err)
	}
	return annotations[annotationName], nil
}

// fileName is the archive's name: the last part of the reference, with the tag.
func fileName(ref string) string {
	return strings.ReplaceAll(path.Base(ref), ":", "-") + ".tar"
}

// write makes the image's archive in dir unless an equal one is there, and returns its path.
func (i image) write(dir string) (string, error) {
	target := filepath.Join(dir, fileName(i.Ref))
	inputs, err := i.inputs()
	if err != nil {
		return "", fmt.Errorf("image %s: %w", i.Ref, err)
	}
	// Whatever keeps the old archive from being read, the remedy is a new one.
	if annotations, err := annotationsOf(target); err == nil && annotations[annotationInputs] == inputs {
		return target, nil
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	part, err := os.CreateTemp(dir, ".part-*")
	if err != nil {
		return "", err
	}
	defer os.Remove(part.Name())
	defer part.Close()
	err = i.archive(part, inputs)
	if err == nil {
		err = part.Chmod(0o644)
	}
	if err == nil {
		err = os.Rename(part.Name(), target)
	}
	if err != nil {
		return "", fmt.Errorf("archive of %s: %w", i.Ref, err)
	}
	return target, nil
}

func (i image) archive(w io.Writer, inputs string) error {
	img, err := i.build()
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "holdfast-image-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	oci, err := layout.Write(dir, empty.Index)
	if err != nil {
		return err
	}
	_, tag, _ := strings.Cut(path.Base(i.Ref), ":")
	err = oci.AppendImage(img, layout.WithAnnotations(map[string]string{
		annotationName: i.Ref, annotationTag: tag, annotationInputs: inputs,
	}))
	if err != nil {
		return err
	}
	return pack(w, dir)
}

// pack writes the layout's files, the index first so that a reader finds it without passing the blobs.
func pack(w io.Writer, dir string) error {
	out := tar.NewWriter(w)
	if err := packFile(out, dir, indexFile); err != nil {
		return err
	}
	err := filepath.WalkDir(dir, func(file string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || e.Name() == indexFile {
			return err
		}
		name, err := filepath.Rel(dir, file)
		if err != nil {
			return err
		}
		return packFile(out, dir, name)
	})
	return errors.Join(err, out.Close())
}

func packFile(out *tar.Writer, dir, name string) error {
	content, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		return err
	}
	header := &tar.Header{Typeflag: tar.TypeReg, Name: filepath.ToSlash(name), Mode: 0o644, Size: int64(len(content))}
	if err := out.WriteHeader(header); err != nil {
		return err
	}
	_, err = out.Write(content)
	return err
}

// annotationsOf reads those of the only image in an archive.
func annotationsOf(archive string) (map[string]string, error) {
	f, err := os.Open(archive)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	in := tar.NewReader(f)
	for {
		header, err := in.Next()
		if errors.Is(err, io.EOF) {
			return nil, errors.New("it has no " + indexFile)
		}
		if err != nil {
			return nil, err
		}
		if header.Name != indexFile {
			continue
		}
		var index v1.IndexManifest
		if err := json.NewDecoder(in).Decode(&index); err != nil {
			return nil, err
		}
		if len(index.Manifests) != 1 {
			return nil, fmt.Errorf("it holds %d images, not one", len(index.Manifests))
		}
		return index.Manifests[0].Annotations, nil
	}
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
