//go:build linux

package cluster

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"time"

	"k8s.io/client-go/kubernetes"

	"github.com/holdfast-dev/holdfast/test/cluster/internal/layout"
)

// upRun is one run of Up.
type upRun struct {
	config Config
	made   *layout.Cluster
	// c is the same, for what a user may do with it.
	c *Cluster
	// pause is the archive of the sandboxes' image.
	pause  string
	client kubernetes.Interface
	// hubEnded ends the run.
	hubEnded context.CancelCauseFunc
	// machines is done when every node has its containerd and its images.
	machines chan error
}

// Up brings a cluster up and returns when its nodes are ready and its DNS answers. What there is of a cluster
// of the same name, running or not, is removed first. A cluster that does not come up is left as it is, with
// its logs; Down removes it.
func Up(ctx context.Context, config Config) (*Cluster, error) {
	config.Name = cmp.Or(config.Name, DefaultName)
	config.Nodes = cmp.Or(config.Nodes, DefaultNodes)
	if config.Progress == nil {
		config.Progress = io.Discard
	}
	if g := config.NodeMonitorGrace; g != 0 && g < 4*time.Second {
		return nil, fmt.Errorf("a grace of %s for silent nodes is shorter than a kubelet can keep: use 4s or more", g)
	}
	wanted, err := layout.New(config.Name, config.Nodes)
	if err != nil {
		return nil, err
	}
	wanted.NodeMonitorGrace = config.NodeMonitorGrace
	if err := check(ctx, wanted.Dir, config.Nodes, config.Progress); err != nil {
		return nil, err
	}
	unlock, err := lockFolder(wanted.Dir, true)
	if err != nil {
		return nil, err
	}
	defer unlock()
	ctx, hubEnded := context.WithCancelCause(ctx)
	defer hubEnded(nil)
	run := &upRun{config: config, made: wanted, c: &Cluster{wanted}, hubEnded: hubEnded, machines: make(chan error, 1)}
	if err := runPhases(ctx, run.phases(), config.Progress); err != nil {
		return nil, fmt.Errorf("bringing up cluster %s: %w (logs are in %s)", config.Name, err, wanted.Path("logs"))
	}
	return run.c, nil
}

func (u *upRun) phases() []phase {
	return []phase{
		{"clean", u.clean},
		{"tools", u.tools},
		{"hub", u.hub},
		{"credentials", u.credentials},
		{"etcd", u.etcd},
		{"apiserver", u.apiserver},
		{"control-plane", u.controlPlane},
		{"dns", u.dns},
		{"nodes", u.nodes},
		{"ready", u.ready},
	}
}
