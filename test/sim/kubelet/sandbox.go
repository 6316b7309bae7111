package kubelet

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

var errNoImage = errors.New("no nats-server program was given")

// program is where nats-server lies in a sandbox.
const program = "/nats-server"

// sandbox is the folder that a Pod's server sees as the root.
type sandbox struct {
	k         *Kubelet
	pod       *corev1.Pod
	container corev1.Container
	root      string
	ip        string
	claims    map[string]string // where a claim's folder is moved in, and where it belongs
	revision  string
	flags     []string // that keep the server on its address

	mu    sync.Mutex
	hosts string
	gone  bool
}

// serverContainer is the one that runs nats-server: called nats, or the first.
func serverContainer(pod *corev1.Pod) corev1.Container {
	i := slices.IndexFunc(pod.Spec.Containers, func(c corev1.Container) bool { return c.Name == "nats" })
	return pod.Spec.Containers[max(i, 0)]
}

// imageVersion is the tag of an image.
func imageVersion(image string) string {
	image, _, _ = strings.Cut(image, "@")
	_, tag, _ := strings.Cut(image[strings.LastIndex(image, "/")+1:], ":")
	return tag
}

// prepare brings the volumes and the program in, as they are now. It is called before each start of the
// container: what lives in claims and empty directories stays.
func (s *sandbox) prepare(ctx context.Context) error {
	server, ok := s.k.servers[imageVersion(s.container.Image)]
	if !ok {
		return fmt.Errorf("%w for %s", errNoImage, s.container.Image)
	}
	target := filepath.Join(s.root, program)
	if _, err := os.Stat(target); err != nil {
		if err := errors.Join(os.MkdirAll(s.root, 0o755), linkOrCopy(server, target)); err != nil {
			return err
		}
	}
	for _, mount := range s.container.VolumeMounts {
		if err := s.mount(ctx, mount); err != nil {
			return fmt.Errorf("volume %s: %w", mount.Name, err)
		}
	}
	return s.readConfig()
}

func (s *sandbox) mount(ctx context.Context, mount corev1.VolumeMount) error {
	if mount.SubPath != "" || mount.SubPathExpr != "" {
		return errors.New("sub-paths are not simulated")
	}
	i := slices.IndexFunc(s.pod.Spec.Volumes, func(v corev1.Volume) bool { return v.Name == mount.Name })
	if i < 0 {
		return errors.New("the Pod has no volume of that name")
	}
	source := s.pod.Spec.Volumes[i].VolumeSource
	dir := filepath.Join(s.root, mount.MountPath)
	switch {
	case source.ConfigMap != nil, source.Secret != nil:
		files, items, err := s.files(ctx, source)
		if err != nil {
			return err
		}
		return writeFiles(dir, files, items)
	case source.PersistentVolumeClaim != nil:
		return s.mountClaim(ctx, dir, source.PersistentVolumeClaim.ClaimName)
	case source.EmptyDir != nil:
		return os.MkdirAll(dir, 0o777)
	}
	return errors.New("this kind of volume is not simulated")
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
	home := s.k.claimDir(claim.UID)
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return err
	}
	if err := os.Rename(home, dir); err != nil {
		return fmt.Errorf("claim %s is still with another Pod: %w", name, err)
	}
	s.claims[dir] = home
	return nil
}

// dismantle moves the claims' folders back and drops the rest.
func (s *sandbox) dismantle() error {
	s.mu.Lock()
	s.gone = true
	s.mu.Unlock()
	var errs []error
	for dir, home := range s.claims {
		errs = append(errs, os.Rename(dir, home))
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	return os.RemoveAll(s.root)
}

// files are what a ConfigMap or Secret volume shows.
func (s *sandbox) files(ctx context.Context, source corev1.VolumeSource) (map[string][]byte, []corev1.KeyToPath, error) {
	key := types.NamespacedName{Namespace: s.pod.Namespace}
	if source.Secret != nil {
		var object corev1.Secret
		key.Name = source.Secret.SecretName
		err := s.k.client.Get(ctx, key, &object)
		return object.Data, source.Secret.Items, err
	}
	var object corev1.ConfigMap
	key.Name = source.ConfigMap.Name
	err := s.k.client.Get(ctx, key, &object)
	files := object.BinaryData
	if files == nil {
		files = map[string][]byte{}
	}
	for name, content := range object.Data {
		files[name] = []byte(content)
	}
	return files, source.ConfigMap.Items, err
}

// refresh brings changed ConfigMaps and Secrets to a container that runs. What cannot be read stays as it is.
func (s *sandbox) refresh(ctx context.Context) {
	for _, mount := range s.container.VolumeMounts {
		i := slices.IndexFunc(s.pod.Spec.Volumes, func(v corev1.Volume) bool { return v.Name == mount.Name })
		if i < 0 || s.pod.Spec.Volumes[i].ConfigMap == nil && s.pod.Spec.Volumes[i].Secret == nil {
			continue
		}
		if files, items, err := s.files(ctx, s.pod.Spec.Volumes[i].VolumeSource); err == nil {
			_ = writeFiles(filepath.Join(s.root, mount.MountPath), files, items)
		}
	}
}

// current is the link through which all files of a volume are read, as a kubelet has it: they change all at once.
const current = "..data"

// writeFiles has the folder show those files, and nothing else, from one moment to the next.
func writeFiles(dir string, files map[string][]byte, items []corev1.KeyToPath) error {
	if len(items) == 0 {
		for _, name := range slices.Sorted(maps.Keys(files)) {
			items = append(items, corev1.KeyToPath{Key: name, Path: name})
		}
	}
	sum := sha256.New()
	for _, item := range items {
		if _, ok := files[item.Key]; !ok {
			return fmt.Errorf("the key %s is missing", item.Key)
		}
		fmt.Fprintf(sum, "%s %d ", item.Path, len(files[item.Key]))
		sum.Write(files[item.Key])
	}
	version := fmt.Sprintf("..%x", sum.Sum(nil)[:8])
	before, _ := os.Readlink(filepath.Join(dir, current))
	if before == version {
		return nil
	}
	for _, item := range items {
		path := filepath.Join(dir, version, item.Path)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, files[item.Key], 0o644)); err != nil {
			return err
		}
		top, _, _ := strings.Cut(item.Path, "/")
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

// setHosts keeps /etc/hosts, replacing it in one step: a resolver may read it at any moment.
func (s *sandbox) setHosts(content string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.gone || s.hosts == content {
		return nil
	}
	path := filepath.Join(s.root, "etc", "hosts")
	err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path+".new", []byte(content), 0o644))
	if err != nil {
		return err
	}
	s.hosts = content
	return os.Rename(path+".new", path)
}

// readConfig reads the configuration file that the container's arguments name.
func (s *sandbox) readConfig() error {
	args := append(slices.Clone(s.container.Command), s.container.Args...)
	for i, arg := range args {
		flag, path, joined := strings.Cut(strings.TrimLeft(arg, "-"), "=")
		if flag != "c" && flag != "config" {
			continue
		}
		if !joined && i+1 < len(args) {
			path = args[i+1]
		}
		content, err := os.ReadFile(filepath.Join(s.root, path))
		if err != nil {
			return err
		}
		s.flags, s.revision, err = flags(content, s.ip)
		return err
	}
	return errors.New("the container's arguments name no configuration file")
}

// command is a process in the sandbox. Only nats-server is there to be run.
func (s *sandbox) command(ctx context.Context, words []string, output io.Writer) *exec.Cmd {
	if len(words) > 0 && strings.HasPrefix(words[0], "-") {
		words = append([]string{program}, words...) // the image's entry point does so
	}
	if len(words) > 0 && filepath.Base(words[0]) == filepath.Base(program) {
		words = append([]string{program}, words[1:]...)
	}
	cmd := exec.CommandContext(ctx, words[0], words[1:]...)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = "/", s.environment(), output, output
	cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: s.root, Pdeathsig: syscall.SIGKILL, Setpgid: true}
	if uid, gid := os.Geteuid(), os.Getegid(); uid != 0 { // only root may change the root, so be it
		cmd.SysProcAttr.Cloneflags = syscall.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: uid, HostID: uid, Size: 1}}
		cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: gid, HostID: gid, Size: 1}}
	}
	return cmd
}

func (s *sandbox) environment() []string {
	fields := map[string]string{
		"metadata.name": s.pod.Name, "metadata.namespace": s.pod.Namespace, "status.podIP": s.ip, "metadata.uid": string(s.pod.UID),
	}
	env := []string{"PATH=/", "HOSTNAME=" + s.pod.Spec.Hostname}
	for _, variable := range s.container.Env {
		value := variable.Value
		if from := variable.ValueFrom; from != nil && from.FieldRef != nil {
			value = fields[from.FieldRef.FieldPath]
		}
		env = append(env, variable.Name+"="+value)
	}
	return env
}

func linkOrCopy(from, to string) error {
	if os.Link(from, to) == nil {
		return nil
	}
	content, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, content, 0o755)
}

func newSandbox(k *Kubelet, pod *corev1.Pod, ip string) *sandbox {
	return &sandbox{
		k: k, pod: pod, container: serverContainer(pod), ip: ip, claims: map[string]string{},
		root: filepath.Join(k.dir, "pods", string(pod.UID)),
	}
}

// server is the StatefulSet that a Pod belongs to.
func serverOf(pod *corev1.Pod) string {
	if owner := metav1.GetControllerOf(pod); owner != nil {
		return owner.Name
	}
	return pod.Name
}
