package kubelet

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
)

// mount brings a volume in. Where that holds the server's configuration, it is returned as the cluster has it.
func (s *sandbox) mount(ctx context.Context, mount corev1.VolumeMount) (config []byte, err error) {
	if mount.SubPathExpr != "" {
		return nil, errors.New("expressions in sub-paths are not simulated")
	}
	volume := s.volume(mount)
	if volume == nil {
		return nil, errors.New("the Pod has no volume of that name")
	}
	dir := filepath.Join(s.root, mount.MountPath)
	switch source := volume.VolumeSource; {
	case source.ConfigMap != nil, source.Secret != nil:
		files, err := s.files(ctx, source)
		if err != nil {
			return nil, err
		}
		if mount.SubPath != "" {
			return s.mountFile(dir, mount, files)
		}
		config = s.show(mount, files)
		return config, writeFiles(dir, files)
	case mount.SubPath != "":
		return nil, errors.New("sub-paths are simulated for a file of a ConfigMap or Secret alone")
	case source.PersistentVolumeClaim != nil:
		return nil, s.mountClaim(ctx, dir, source.PersistentVolumeClaim.ClaimName)
	case source.EmptyDir != nil:
		return nil, os.MkdirAll(dir, 0o777)
	}
	return nil, errors.New("this kind of volume is not simulated")
}

// mountFile brings in one file of a volume. It is not refreshed, nor does a kubelet.
func (s *sandbox) mountFile(path string, mount corev1.VolumeMount, files map[string]file) (config []byte, err error) {
	one, ok := files[mount.SubPath]
	if !ok {
		return nil, errors.New("there is no file " + mount.SubPath)
	}
	files = map[string]file{"": one}
	config = s.show(mount, files)
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) { // it may not be one to write to
		return nil, err
	}
	return config, writeFile(path, files[""])
}

func (s *sandbox) volume(mount corev1.VolumeMount) *corev1.Volume {
	i := slices.IndexFunc(s.pod.Spec.Volumes, func(v corev1.Volume) bool { return v.Name == mount.Name })
	if i < 0 {
		return nil
	}
	return &s.pod.Spec.Volumes[i]
}

// mountClaim moves the claim's folder in: neither mounts nor links that leave the root are needed.
func (s *sandbox) mountClaim(ctx context.Context, dir, name string) error {
	if s.claims[dir] != "" {
		return nil
	}
	var claim corev1.PersistentVolumeClaim
	if err := s.k.client.Get(ctx, types.NamespacedName{Namespace: s.pod.Namespace, Name: name}, &claim); err != nil {
		return err
	}
	if claim.Status.Phase != corev1.ClaimBound {
		return fmt.Errorf("claim %s is not bound", name)
	}
	home := s.k.disk(claim.UID)
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return err
	}
	if err := os.Rename(home, dir); err != nil {
		return fmt.Errorf("claim %s is still with another Pod: %w", name, err)
	}
	s.claims[dir] = home
	return nil
}

// file is one of a ConfigMap or Secret volume.
type file struct {
	content []byte
	mode    fs.FileMode
}

// files are what a ConfigMap or Secret volume shows, by path.
func (s *sandbox) files(ctx context.Context, source corev1.VolumeSource) (map[string]file, error) {
	var data map[string][]byte
	var items []corev1.KeyToPath
	var mode *int32
	var err error
	if from := source.Secret; from != nil {
		items, mode = from.Items, from.DefaultMode
		data, err = s.secret(ctx, from.SecretName)
	} else {
		items, mode = source.ConfigMap.Items, source.ConfigMap.DefaultMode
		data, err = s.configMap(ctx, source.ConfigMap.Name)
	}
	if err != nil {
		return nil, err
	}
	if len(items) == 0 {
		for name := range data {
			items = append(items, corev1.KeyToPath{Key: name, Path: name})
		}
	}
	files := map[string]file{}
	for _, item := range items {
		content, ok := data[item.Key]
		if !ok {
			return nil, fmt.Errorf("the key %s is missing", item.Key)
		}
		files[item.Path] = file{content: content, mode: s.fileMode(item.Mode, mode)}
	}
	return files, nil
}

// fileMode is that of the key, or the volume's. A Pod's fsGroup may read every file.
func (s *sandbox) fileMode(own, volume *int32) fs.FileMode {
	mode := fs.FileMode(ptr.Deref(own, ptr.Deref(volume, 0o644))).Perm()
	if context := s.pod.Spec.SecurityContext; context != nil && context.FSGroup != nil {
		mode |= 0o440
	}
	return mode
}

// show puts what the server is to see of its configuration among the files, and returns it as it was, nil if it is not
// one of them.
func (s *sandbox) show(mount corev1.VolumeMount, files map[string]file) (config []byte) {
	for path, f := range files {
		if filepath.Join(mount.MountPath, path) == s.config {
			files[path] = file{content: s.service.view(f.content, s.ip), mode: f.mode}
			config = f.content
		}
	}
	return config
}

// refresh brings changed ConfigMaps and Secrets to a container that runs. What cannot be read stays as it is.
func (s *sandbox) refresh(ctx context.Context) {
	for _, mount := range s.container.VolumeMounts {
		volume := s.volume(mount)
		if volume == nil || mount.SubPath != "" || volume.ConfigMap == nil && volume.Secret == nil {
			continue
		}
		if files, err := s.files(ctx, volume.VolumeSource); err == nil {
			s.show(mount, files)
			_ = writeFiles(filepath.Join(s.root, mount.MountPath), files)
		}
	}
}

// current is the link through which all files of a volume are read, as a kubelet has it: they change all at once.
const current = "..data"

// writeFiles has the folder show those files, and nothing else, from one moment to the next.
func writeFiles(dir string, files map[string]file) error {
	sum, paths := sha256.New(), slices.Sorted(maps.Keys(files))
	for _, path := range paths {
		fmt.Fprintf(sum, "%s %o %d ", path, files[path].mode, len(files[path].content))
		sum.Write(files[path].content)
	}
	version := fmt.Sprintf("..%x", sum.Sum(nil)[:8])
	before, _ := os.Readlink(filepath.Join(dir, current))
	if before == version {
		return nil
	}
	if err := os.MkdirAll(filepath.Join(dir, version), 0o755); err != nil { // there may be no file at all
		return err
	}
	for _, path := range paths {
		if err := writeFile(filepath.Join(dir, version, path), files[path]); err != nil {
			return err
		}
		top, _, _ := strings.Cut(path, "/")
		if err := os.Symlink(filepath.Join(current, top), filepath.Join(dir, top)); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	next := filepath.Join(dir, current+".next")
	if err := errors.Join(os.Symlink(version, next), os.Rename(next, filepath.Join(dir, current))); err != nil {
		return err
	}
	if before == "" {
		return nil
	}
	return os.RemoveAll(filepath.Join(dir, before))
}

func writeFile(path string, f file) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(path, f.content, 0o600); err != nil {
		return err
	}
	return os.Chmod(path, f.mode)
}
