package kubelet

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"syscall"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// sandbox is the folder that a Pod's server sees as the root.
type sandbox struct {
	k         *Kubelet
	pod       *corev1.Pod
	container corev1.Container
	service   service
	root      string
	ip        string
	claims    map[string]string // where a claim's folder is moved in, and where it belongs
	config    string            // the file that the server reads
	revision  string
	flags     []string // that keep the server on its address

	mu    sync.Mutex
	env   []string
	hosts string
	gone  bool
}

// prepare brings the program and the volumes in, and reads what the environment refers to, as they are now. It is
// called before each start of the container: what lives in claims and empty directories stays.
func (s *sandbox) prepare(ctx context.Context) error {
	if err := install(s.k.servers, s.service, s.container.Image, s.root); err != nil {
		return err
	}
	env, err := s.environment(ctx)
	if err != nil {
		return err
	}
	s.mu.Lock()
	s.env = env
	s.mu.Unlock()
	named := s.service.config(slices.Concat(s.container.Command, s.container.Args), env)
	if named == "" {
		return errors.New("the container's arguments name no configuration file")
	}
	s.config = filepath.Join("/", named)
	var config []byte
	for _, mount := range s.container.VolumeMounts {
		read, err := s.mount(ctx, mount)
		if err != nil {
			return fmt.Errorf("volume %s: %w", mount.Name, err)
		}
		if read != nil {
			config = read
		}
	}
	if config == nil {
		return errors.New("no ConfigMap or Secret has the configuration file that the container names: " + s.config)
	}
	s.flags, s.revision, err = s.service.start(config, s.ip)
	return err
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

// hasHosts tells whether there is an /etc/hosts.
func (s *sandbox) hasHosts() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.hosts != ""
}

// command is a process in the sandbox. Only the server's program is there to be run.
func (s *sandbox) command(ctx context.Context, words []string, output io.Writer) *exec.Cmd {
	words, program := slices.Clone(s.service.words(words)), s.service.program()
	if filepath.Base(words[0]) == filepath.Base(program) {
		words[0] = program
	}
	s.mu.Lock()
	env := s.env
	s.mu.Unlock()
	cmd := exec.CommandContext(ctx, words[0], words[1:]...)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = "/", env, output, output
	cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: s.root, Pdeathsig: syscall.SIGKILL, Setpgid: true}
	if uid, gid := os.Geteuid(), os.Getegid(); uid != 0 { // only root may change the root, so be it
		cmd.SysProcAttr.Cloneflags = syscall.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: uid, HostID: uid, Size: 1}}
		cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: gid, HostID: gid, Size: 1}}
	}
	return cmd
}

func newSandbox(k *Kubelet, pod *corev1.Pod, ip string) *sandbox {
	container, service := serverContainer(pod)
	return &sandbox{
		k: k, pod: pod, container: container, service: service, ip: ip, claims: map[string]string{},
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
