//go:build linux

package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/holdfast-dev/holdfast/test/cluster/images"
	"github.com/holdfast-dev/holdfast/test/cluster/internal/cgroups"
	"github.com/holdfast-dev/holdfast/test/cluster/internal/components"
	"github.com/holdfast-dev/holdfast/test/cluster/internal/initd"
	"github.com/holdfast-dev/holdfast/test/cluster/internal/layout"
	"github.com/holdfast-dev/holdfast/tools/toolbox"
)

// patience bounds each wait of Up. A warm machine needs a tenth of it.
const patience = 5 * time.Minute

func (u *upRun) clean(ctx context.Context) error { return clean(ctx, u.made) }

func (u *upRun) tools(ctx context.Context) error {
	box, err := toolbox.New(".", u.config.Progress)
	if err != nil {
		return err
	}
	u.made.Tools = map[string]string{}
	for _, tool := range []string{toolbox.Kubernetes, "etcd", "containerd", "runc", "cni", "coredns"} {
		if u.made.Tools[tool], err = box.Bin(ctx, tool); err != nil {
			return err
		}
	}
	u.pause, err = images.Pause(ctx, box)
	return err
}

// hub starts the process that everything else of the cluster is below.
func (u *upRun) hub(ctx context.Context) error {
	if err := u.makeFolders(); err != nil {
		return err
	}
	if err := u.makeCgroups(); err != nil {
		return err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	defer listener.Close()
	u.made.APIPort = listener.Addr().(*net.TCPAddr).Port
	socket, err := listener.(*net.TCPListener).File()
	if err != nil {
		return err
	}
	defer socket.Close()
	if err := u.startHub(socket); err != nil {
		return err
	}
	return poll(ctx, "the hub to answer", func(ctx context.Context) error {
		_, err := u.c.nodes(ctx)
		return err
	})
}

func (u *upRun) makeFolders() error {
	dirs := []string{u.made.Path("pki"), u.c.Logs()}
	for _, n := range u.made.AllNodes() {
		dirs = append(dirs, n.Dir("var-lib"), n.Dir("var-log"), n.Dir("etc"), filepath.Join(u.c.Logs(), n.Name))
		if err := os.MkdirAll(n.Dir("tmp"), 0o777|os.ModeSticky); err != nil {
			return err
		}
		if err := os.Chmod(n.Dir("tmp"), 0o777|os.ModeSticky); err != nil { // whatever the umask
			return err
		}
	}
	for _, dir := range dirs {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
	}
	return nil
}

func (u *upRun) makeCgroups() error {
	opened, err := cgroups.Make(hubCgroup(u.made))
	if err != nil {
		return err
	}
	content, err := json.Marshal(opened)
	if err != nil {
		return err
	}
	if err := os.WriteFile(u.made.Path(openedFile), content, 0o600); err != nil {
		return err
	}
	for _, n := range u.made.AllNodes() {
		if _, err := cgroups.Make(n.Cgroup()); err != nil {
			return err
		}
	}
	return nil
}

func hubCgroup(c *layout.Cluster) string { return c.Cgroup() + "/hub" }

// startHub starts it and lets it go on only once it can be found by its cgroup and by the record.
func (u *upRun) startHub(socket *os.File) error {
	output, err := os.OpenFile(filepath.Join(u.c.Logs(), "hub.log"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer output.Close()
	read, write, err := os.Pipe()
	if err != nil {
		return err
	}
	defer write.Close()
	cmd := &exec.Cmd{
		Path: "/proc/self/exe", Args: []string{initd.HubName, u.made.Dir}, Dir: "/", Env: []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin"},
		Stdout: output, Stderr: output, ExtraFiles: []*os.File{socket, read},
		SysProcAttr: &syscall.SysProcAttr{
			Setsid:     true,
			Cloneflags: syscall.CLONE_NEWNET | syscall.CLONE_NEWNS | syscall.CLONE_NEWPID | syscall.CLONE_NEWUTS | syscall.CLONE_NEWIPC,
		},
	}
	err = cmd.Start()
	_ = read.Close()
	if err != nil {
		return fmt.Errorf("starting the hub in namespaces of its own: %w", err)
	}
	go func() {
		err := cmd.Wait() // whoever waits for something of the hub need not wait any more
		u.hubEnded(fmt.Errorf("the hub has ended (%w): %s", err, lastLine(output.Name())))
	}()
	if err := cgroups.Enter(hubCgroup(u.made), cmd.Process.Pid); err != nil {
		return err
	}
	if u.made.HubStart, err = startOf(cmd.Process.Pid); err != nil {
		return fmt.Errorf("the hub has ended already: %w", err)
	}
	u.made.HubPID = cmd.Process.Pid
	if err := u.made.Save(); err != nil {
		return err
	}
	_, err = write.Write([]byte{1})
	return err
}

// credentials also starts the machines: their containerd and the loading of images need no API server.
func (u *upRun) credentials(ctx context.Context) error {
	if err := writeCredentials(u.made); err != nil {
		return err
	}
	for _, n := range u.made.AllNodes() {
		files, err := components.NodeFiles(u.made, n)
		if err != nil {
			return err
		}
		for name, content := range files {
			if err := writeFile(n.Dir("etc", name), content); err != nil {
				return err
			}
		}
	}
	go func() {
		u.machines <- eachNode(u.made, func(n layout.Node) error {
			if err := u.c.StartNode(ctx, n.Name); err != nil {
				return err
			}
			for _, archive := range append([]string{u.pause}, u.config.Images...) {
				archive, err := filepath.Abs(archive)
				if err != nil {
					return err
				}
				if err := u.c.order(ctx, "Import", initd.ImportOrder{Node: n.Name, Archive: archive}, &initd.None{}); err != nil {
					return err
				}
			}
			return nil
		})
	}()
	return nil
}

func (u *upRun) etcd(ctx context.Context) error {
	if err := u.start(ctx, components.Etcd(u.made)); err != nil {
		return err
	}
	inHub := http.Client{Transport: &http.Transport{DialContext: u.c.Dial, DisableKeepAlives: true}}
	return poll(ctx, "etcd to be healthy (see etcd.log)", func(ctx context.Context) error {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://127.0.0.1:2379/health", nil)
		if err != nil {
			return err
		}
		response, err := inHub.Do(request)
		if err != nil {
			return err
		}
		defer response.Body.Close()
		if response.StatusCode != http.StatusOK {
			return errors.New(response.Status)
		}
		return nil
	})
}

func (u *upRun) apiserver(ctx context.Context) error {
	if err := u.start(ctx, components.APIServer(u.made)); err != nil {
		return err
	}
	config, err := u.c.RESTConfig()
	if err != nil {
		return err
	}
	if u.client, err = kubernetes.NewForConfig(config); err != nil {
		return err
	}
	return poll(ctx, "the API server to be ready (see kube-apiserver.log)", func(ctx context.Context) error {
		return u.client.Discovery().RESTClient().Get().AbsPath("/readyz").Do(ctx).Error()
	})
}

// RESTConfig is a client's configuration that reaches the cluster from the host, with every right and no
// limit on its requests.
func (c *Cluster) RESTConfig() (*rest.Config, error) {
	config, err := clientcmd.BuildConfigFromFlags("", c.Kubeconfig())
	if err != nil {
		return nil, err
	}
	config.QPS = -1
	return config, nil
}

func (u *upRun) controlPlane(ctx context.Context) error {
	return u.start(ctx,
		components.ControllerManager(u.made), components.Scheduler(u.made),
		components.HubProxy(u.made), components.Provisioner(u.made, initd.ProvisionerName))
}

func (u *upRun) dns(ctx context.Context) error {
	if err := writeFile(u.made.Path("Corefile"), []byte(components.Corefile(u.made))); err != nil {
		return err
	}
	if err := u.createAll(ctx, firstObjects(u.made)); err != nil {
		return err
	}
	return u.start(ctx, components.CoreDNS(u.made))
}

func (u *upRun) nodes(ctx context.Context) error {
	select {
	case err := <-u.machines:
		if err != nil {
			return err
		}
	case <-ctx.Done():
		return ctx.Err()
	}
	for _, n := range u.made.AllNodes() {
		content, err := os.ReadFile(u.made.KubeconfigOf(n.Name))
		if err != nil {
			return err
		}
		if err := writeFile(n.Dir("etc", "kubeconfig"), content); err != nil {
			return err
		}
	}
	return nil
}

func (u *upRun) ready(ctx context.Context) error {
	if err := poll(ctx, "nodes and service accounts", func(ctx context.Context) error { return u.c.complete(ctx, u.client) }); err != nil {
		return err
	}
	return eachNode(u.made, func(n layout.Node) error {
		return poll(ctx, "DNS to answer on "+n.Name, func(ctx context.Context) error { return u.c.checkDNS(ctx, n.Name) })
	})
}

func (u *upRun) start(ctx context.Context, processes ...components.Process) error {
	for _, p := range processes {
		if err := u.c.order(ctx, "Run", p, &initd.None{}); err != nil {
			return err
		}
	}
	return nil
}

// poll tries until it works; the error of the last try says what was still missing.
func poll(ctx context.Context, what string, try func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		err := try(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			if cause := context.Cause(ctx); !errors.Is(cause, context.DeadlineExceeded) {
				err = cause
			}
			return fmt.Errorf("waiting for %s: %w", what, err)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

func lastLine(file string) string {
	content, _ := os.ReadFile(file)
	lines := strings.Split(strings.TrimSpace(string(content)), "\n")
	return lines[len(lines)-1]
}

func writeFile(path string, content []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	// Renamed into place: the kubelet starts as soon as its kubeconfig is there.
	if err := os.WriteFile(path+".part", content, 0o600); err != nil {
		return err
	}
	return os.Rename(path+".part", path)
}
