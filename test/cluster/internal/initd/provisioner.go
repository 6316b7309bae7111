//go:build linux

package initd

import (
	"context"
	"os/signal"
	"syscall"

	"github.com/holdfast-dev/holdfast/test/cluster/provisioner"
)

// runProvisioner makes and removes the volumes of PersistentVolumeClaims. It runs in the hub, whose files are
// the host's, so it reaches the disk of a node that is off as well.
func runProvisioner(args []string) error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	kubeconfig, dir := args[0], args[1]
	c, err := load(dir)
	if err != nil {
		return err
	}
	return provisioner.Run(ctx, kubeconfig, func(node string) string {
		n, err := c.Node(node)
		if err != nil {
			return ""
		}
		return n.Dir("var-lib")
	})
}
