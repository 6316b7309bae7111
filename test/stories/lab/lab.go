// Package lab is what stories happen on: a local Kubernetes with the charts installed, a ledger, and the means
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

	garagev1beta1 "github.com/holdfast-dev/holdfast/api/garage/v1beta1"
	"github.com/holdfast-dev/holdfast/api/garage/v1beta2"
	"github.com/holdfast-dev/holdfast/api/nats/cluster/v1beta1"
	natsv1beta1 "github.com/holdfast-dev/holdfast/api/nats/nats/v1beta1"
	"github.com/holdfast-dev/holdfast/test/cluster"
	"github.com/holdfast-dev/holdfast/test/cluster/images"
	"github.com/holdfast-dev/holdfast/tools/toolbox"
)

// Namespace is where the charts are installed.
const Namespace = "holdfast"

// Lab is a local Kubernetes and clients of it with every right.
type Lab struct {
	Box     *toolbox.Box
	Cluster *cluster.Cluster
	Config  *rest.Config
	Client  client.WithWatch
}

// Up brings up a cluster of that name with the images of these systems, and installs their charts. Progress goes to out.
func Up(ctx context.Context, name string, out io.Writer, systems ...System) (*Lab, error) {
	box, err := toolbox.New(".", out)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, system := range systems {
		names = append(names, system.Name)
	}
	archives, err := images.Build(ctx, box, filepath.Join(box.Cache, "images"), images.Of(names...)...)
	if err != nil {
		return nil, err
	}
	c, err := cluster.Up(ctx, cluster.Config{Name: name, Progress: out, Images: archives})
	if err != nil {
		return nil, err
	}
	l := &Lab{Box: box, Cluster: c}
	if err := l.connect(); err != nil {
		return nil, err
	}
	for _, system := range systems {
		if err := l.Install(ctx, system); err != nil {
			return nil, err
		}
	}
	return l, nil
}

func (l *Lab) connect() error {
	config, err := clientcmd.BuildConfigFromFlags("", l.Cluster.Kubeconfig())
	if err != nil {
		return err
	}
	log.SetLogger(logr.Discard()) // what matters is in the errors
	// One person's client: it is to be as fast as that person.
	config.QPS, config.Burst = 200, 400
	if err := errors.Join(
		v1beta1.AddToScheme(scheme.Scheme), natsv1beta1.AddToScheme(scheme.Scheme),
		garagev1beta1.AddToScheme(scheme.Scheme), v1beta2.AddToScheme(scheme.Scheme),
	); err != nil {
		return err
	}
	l.Config = config
	l.Client, err = client.NewWithWatch(config, client.Options{Scheme: scheme.Scheme})
	return err
}

// Down takes the cluster of that name down, also one that came up in part; nothing of it is left.
func Down(ctx context.Context, name string) error { return cluster.Down(ctx, name) }

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
