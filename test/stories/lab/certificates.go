package lab

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"time"
)

// Shown is the certificate that a listener shows, which the configuration has to admit. A client listener greets in the
// clear first.
func (l *Lab) Shown(ctx context.Context, address string, config *tls.Config, greets bool) (*x509.Certificate, error) {
	connection, err := l.Cluster.Dial(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	defer connection.Close()
	if err := connection.SetDeadline(time.Now().Add(5 * time.Second)); err != nil {
		return nil, err
	}
	if greets { // by one line, after which it waits
		if _, err := bufio.NewReader(connection).ReadString('\n'); err != nil {
			return nil, fmt.Errorf("%s does not greet: %w", address, err)
		}
	}
	client := tls.Client(connection, config)
	if err := client.HandshakeContext(ctx); err != nil {
		return nil, fmt.Errorf("TLS with %s: %w", address, err)
	}
	return client.ConnectionState().PeerCertificates[0], nil
}
