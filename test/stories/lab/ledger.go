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

// StartLedger starts the ledger in the namespace against that URL and returns once every stream of it has had
// its first message acknowledged. It is reached through the API server.
func (l *Lab) StartLedger(ctx context.Context, namespace, url string) (*ledger.Client, error) {
	folder := os.DirFS(filepath.Join(l.Box.Root, "test", "ledger"))
	if err := l.Apply(ctx, namespace, folder, "ledger.yaml", "nats://demo:4222", url); err != nil {
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
