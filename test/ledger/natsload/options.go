package natsload

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/nats-io/nats.go"
)

// ClientOptions are the options that a client of a NATS cluster whose servers are restarted one by one should
// have. In one place, so that what the guide recommends is what the ledger proves.
func ClientOptions() []nats.Option {
	return []nats.Option{
		// The first connection may meet a cluster that is still starting.
		nats.RetryOnFailedConnect(true),
		// A client that gives up has to be restarted by somebody; the default is 60 attempts.
		nats.MaxReconnects(-1),
		// The default of 2 s is paid by every client on the server that stops. The wait is only before the SAME
		// server is tried again, the others of the cluster are tried at once, so a short one does not hammer.
		nats.ReconnectWait(100 * time.Millisecond),
		// Spread, so that all clients of one server do not arrive at the next in the same instant.
		nats.ReconnectJitter(100*time.Millisecond, 500*time.Millisecond),
		nats.Timeout(2 * time.Second),
		// A server whose machine lost power or network closes no connection: only a missing pong tells. The
		// default of two minutes, twice, would be an outage of four minutes for its clients.
		nats.PingInterval(2 * time.Second),
		nats.MaxPingsOutstanding(2),
		// A server that has just started may not have the account yet. A client that is refused twice by the same one
		// would give up for good.
		nats.IgnoreAuthErrorAbort(),
		// Without a connection fail at once instead of buffering: the caller retries under the same message id,
		// and knows what was acknowledged and what was not.
		nats.ReconnectBufSize(-1),
	}
}

// options are ClientOptions and what is this ledger's own.
func (c Config) options() ([]nats.Option, error) {
	options := append(ClientOptions(), nats.Name("ledger "+c.Name))
	if c.Access == "" {
		return options, nil
	}
	files, err := os.ReadDir(c.Access)
	if err != nil {
		return nil, fmt.Errorf("read the folder with the credentials and the certificate authority: %w", err)
	}
	for _, file := range files {
		path := filepath.Join(c.Access, file.Name())
		switch file.Name() {
		case "user.creds":
			options = append(options, nats.UserCredentials(path))
		case "ca.crt":
			options = append(options, nats.RootCAs(path))
		}
	}
	return options, nil
}
