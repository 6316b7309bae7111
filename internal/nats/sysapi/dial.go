package sysapi

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats.go"
)

// dialTimeout covers one attempt to connect to one server, TLS and the sign-in included.
const dialTimeout = 2 * time.Second

// Options say how to reach the system account of one NATS cluster.
type Options struct {
	// URLs are the client ports of its servers, any of which will do, for instance "nats://10.0.0.7:4222".
	URLs []string
	// Cluster is the NATS cluster's name, empty for a server that runs alone.
	Cluster string
	// Credentials are the text of the system user's credentials file.
	Credentials []byte
	// TLS is how the servers' certificates are checked; nil connects in the clear.
	TLS *tls.Config
}

// errNoServers is an attempt to connect before any server has an address.
var errNoServers = errors.New("no server has an address yet")

// Dial connects to the first of the servers that takes the credentials. A connection that ends stays ended: the
// addresses that it was made with may be somebody else's by then.
func Dial(ctx context.Context, options Options) (*Client, error) {
	if len(options.URLs) == 0 {
		return nil, errNoServers
	}
	if err := CheckCredentials(options.Credentials); err != nil {
		return nil, err
	}
	client := &Client{cluster: options.Cluster}
	settings := []nats.Option{
		nats.Name("nats-cluster-controller"),
		nats.UserCredentialBytes(options.Credentials),
		nats.CustomInboxPrefix(inbox),
		nats.Timeout(dialTimeout),
		nats.NoReconnect(),
		nats.IgnoreDiscoveredServers(),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) {
			if errors.Is(err, nats.ErrPermissionViolation) {
				said := err.Error()
				client.refused.Store(&said)
			}
		}),
	}
	if options.TLS != nil {
		settings = append(settings, nats.Secure(options.TLS))
	}
	type result struct {
		conn *nats.Conn
		err  error
	}
	done := make(chan result, 1)
	go func() {
		conn, err := nats.Connect(strings.Join(options.URLs, ","), settings...)
		done <- result{conn, err}
	}()
	select {
	case <-ctx.Done():
		go func() { // the library cannot be interrupted; what it still brings is not wanted
			if late := <-done; late.conn != nil {
				late.conn.Close()
			}
		}()
		return nil, fmt.Errorf("connect to the system account: %w", ctx.Err())
	case got := <-done:
		if got.err != nil {
			return nil, fmt.Errorf("connect to the system account: %w", got.err)
		}
		client.conn = got.conn
		return client, nil
	}
}

// CheckCredentials says what is wrong with the text of a credentials file, without quoting it.
func CheckCredentials(text []byte) error {
	token, err := jwt.ParseDecoratedJWT(text)
	if err != nil {
		return errors.New("the credentials hold no user JWT: they are the text of a credentials file, as nsc writes it")
	}
	claims, err := jwt.DecodeUserClaims(token)
	if err != nil {
		return errors.New("the credentials' JWT is not a user's")
	}
	pair, err := jwt.ParseDecoratedUserNKey(text)
	if err != nil {
		return errors.New("the credentials hold no seed of a user: they are the text of a credentials file, as nsc writes it")
	}
	defer pair.Wipe()
	if public, err := pair.PublicKey(); err != nil || public != claims.Subject {
		return errors.New("the credentials' seed is not that of the user in their JWT")
	}
	return nil
}
