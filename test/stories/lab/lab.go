// Package lab is what stories happen on: a local Kubernetes with the chart installed, a ledger, and the means
// to apply manifests and to wait for what must be observed.
package lab

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/go-logr/logr"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/holdfast-dev/holdfast/api/nats/cluster/v1beta1"
	natsv1beta1 "github.com/holdfast-dev/holdfast/api/nats/nats/v1beta1"
	"github.com/holdfast-dev/holdfast/test/cluster"
	"github.com/holdfast-dev/holdfast/test/cluster/images"
	"github.com/holdfast-dev/holdfast/tools/toolbox"
)

// Release is the chart's release and the namespace it is installed in.
const Release = "holdfast"

// Lab is a local Kubernetes and clients of it with every right.
type Lab struct {
	Box     *toolbox.Box
	Cluster *cluster.Cluster
	Config  *rest.Config
	Client  client.WithWatch
}

// Up brings up a cluster of that name with every image loaded. Progress goes to out.
func Up(ctx context.Context, name string, out io.Writer) (*Lab, error) {
	box, err := toolbox.New(".", out)
	if err != nil {
		return nil, err
	}
	archives, err := images.Build(ctx, box, filepath.Join(box.Cache, "images"))
	if err != nil {
		return nil, err
	}
	c, err := cluster.Up(ctx, cluster.Config{Name: name, Progress: out, Images: archives})
	if err != nil {
		return nil, err
	}
	l := &Lab{Box: box, Cluster: c}
	return l, l.connect()
}

func (l *Lab) connect() error {
	config, err := clientcmd.BuildConfigFromFlags("", l.Cluster.Kubeconfig())
	if err != nil {
		return err
	}
	log.SetLogger(logr.Discard()) // what matters is in the errors
	// One person's client: it is to be as fast as that person.
	config.QPS, config.Burst = 200, 400
	if err := errors.Join(v1beta1.AddToScheme(scheme.Scheme), natsv1beta1.AddToScheme(scheme.Scheme)); err != nil {
		return err
	}
	l.Config = config
	l.Client, err = client.NewWithWatch(config, client.Options{Scheme: scheme.Scheme})
	return err
}

// Down takes the cluster of that name down, also one that came up in part; nothing of it is left.
func Down(ctx context.Context, name string) error { return cluster.Down(ctx, name) }

// Install installs the chart and waits until the controllers are ready.
func (l *Lab) Install(ctx context.Context) error {
	_, err := l.Helm(ctx, "upgrade", "--install", Release, filepath.Join(l.Box.Root, "charts", "holdfast-nats"),
		"--namespace", Release, "--create-namespace", "--wait", "--timeout", "3m",
		"--set", "cluster.image.repository=holdfast.dev/nats-cluster-controller", "--set", "cluster.image.tag=dev")
	return err
}

// Uninstall removes the chart and waits until the controllers are gone.
func (l *Lab) Uninstall(ctx context.Context) error {
	_, err := l.Helm(ctx, "uninstall", Release, "--namespace", Release, "--wait", "--timeout", "3m")
	return err
}

// Helm runs helm against the cluster.
func (l *Lab) Helm(ctx context.Context, args ...string) (string, error) {
	program, err := l.Box.Program(ctx, "helm", "helm")
	if err != nil {
		return "", err
	}
	return l.run(ctx, program, args...)
}

// Kubectl runs kubectl against the cluster.
func (l *Lab) Kubectl(ctx context.Context, args ...string) (string, error) {
	return l.run(ctx, l.Cluster.Kubectl(), args...)
}

func (l *Lab) run(ctx context.Context, program string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+l.Cluster.Kubeconfig())
	out, err := cmd.Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return string(out), fmt.Errorf("%s %v: %w\n%s%s", filepath.Base(program), args, err, out, exit.Stderr)
	}
	return string(out), err
}
