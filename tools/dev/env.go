package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"

	"github.com/holdfast-dev/holdfast/tools/toolbox"
)

// serversEnv is natsEnv and garageEnv.
func (r *repo) serversEnv(ctx context.Context) ([]string, error) {
	nats, err := r.natsEnv(ctx)
	if err != nil {
		return nil, err
	}
	garage, err := r.garageEnv(ctx)
	return append(nats, garage...), err
}

// natsEnv builds the NATS servers that tests start and names them: HOLDFAST_NATS_SERVERS has all of them as
// version=path, separated by commas and oldest first, and HOLDFAST_NATS_SERVER is the newest one's path.
func (r *repo) natsEnv(ctx context.Context) ([]string, error) {
	var all []string
	newest := ""
	for _, version := range toolbox.NATSServers {
		path, err := r.box.Program(ctx, toolbox.NATSServer(version), "nats-server")
		if err != nil {
			return nil, err
		}
		all, newest = append(all, version+"="+path), path
	}
	return []string{"HOLDFAST_NATS_SERVERS=" + strings.Join(all, ","), "HOLDFAST_NATS_SERVER=" + newest}, nil
}

// garageEnv builds the Garage servers that tests start and names them: HOLDFAST_GARAGE_SERVERS is like
// HOLDFAST_NATS_SERVERS, and HOLDFAST_GARAGE_SHORT_DELAY is the path of the variant that deletes blocks early.
func (r *repo) garageEnv(ctx context.Context) ([]string, error) {
	var all []string
	short := ""
	for _, version := range toolbox.GarageServers {
		dir, err := r.box.Bin(ctx, toolbox.GarageServer(version))
		if err != nil {
			return nil, err
		}
		all, short = append(all, version+"="+filepath.Join(dir, "garage")), filepath.Join(dir, toolbox.GarageShortDelay)
	}
	return []string{"HOLDFAST_GARAGE_SERVERS=" + strings.Join(all, ","), "HOLDFAST_GARAGE_SHORT_DELAY=" + short}, nil
}

// kubeEnv builds what envtest starts and names its folder in KUBEBUILDER_ASSETS; HOLDFAST_HELM is what renders the charts.
func (r *repo) kubeEnv(ctx context.Context) ([]string, error) {
	etcd, err := r.box.Program(ctx, "etcd", "etcd")
	if err != nil {
		return nil, err
	}
	kubernetes, err := r.box.Bin(ctx, toolbox.Kubernetes)
	if err != nil {
		return nil, err
	}
	dir := filepath.Join(r.box.Cache, "assets", filepath.Base(filepath.Dir(etcd))+"-"+filepath.Base(kubernetes))
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	for name, target := range map[string]string{
		"etcd":           etcd,
		"kube-apiserver": filepath.Join(kubernetes, "kube-apiserver"),
		"kubectl":        filepath.Join(kubernetes, "kubectl"),
	} {
		// The folder's name holds both builds, so a link that is there leads to the right place.
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil && !errors.Is(err, os.ErrExist) {
			return nil, err
		}
	}
	helm, err := r.box.Program(ctx, "helm", "helm")
	if err != nil {
		return nil, err
	}
	return []string{"KUBEBUILDER_ASSETS=" + dir, "HOLDFAST_HELM=" + helm}, nil
}
