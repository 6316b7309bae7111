package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"

	"github.com/holdfast-dev/holdfast/tools/toolbox"
)

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
