package lab

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"k8s.io/client-go/rest"

	"github.com/holdfast-dev/holdfast/test/ledger"
)

// StartLedger starts the ledger in the namespace against that URL of a NATS cluster.
func (l *Lab) StartLedger(ctx context.Context, namespace, url string) (*ledger.Client, error) {
	return l.RunLedger(ctx, namespace, "ledger.yaml", "nats://demo:4222", url)
}

// RunLedger runs a ledger of that manifest, changed as Apply does it, and returns once it has had its first of everything
// acknowledged. It is reached through the API server.
func (l *Lab) RunLedger(ctx context.Context, namespace, manifest string, replace ...string) (*ledger.Client, error) {
	folder := os.DirFS(filepath.Join(l.Box.Root, "test", "ledger"))
	if err := l.Apply(ctx, namespace, folder, manifest, replace...); err != nil {
		return nil, err
	}
	http, err := rest.HTTPClientFor(l.Config)
	if err != nil {
		return nil, err
	}
	http.Timeout = 0 // the ledger's finish has its own bound
	c := &ledger.Client{HTTP: http, BaseURL: fmt.Sprintf("%s/api/v1/namespaces/%s/services/ledger:8090/proxy", l.Config.Host, namespace)}
	return c, Until(ctx, 2*time.Minute, "the ledger to be ready", func(ctx context.Context) (bool, string) {
		err := c.Ready(ctx)
		return err == nil, fmt.Sprint(err)
	})
}
