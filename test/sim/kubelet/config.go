package kubelet

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"strings"
)

// adapt rewrites a nats.conf in JSON for a Pod address on the loopback interface: it listens there and nowhere
// else, and tells its peers that address, since connections it makes come from another. It returns the
// config_revision of the server's metadata too.
func adapt(content []byte, ip string) (adapted []byte, revision string, err error) {
	var conf map[string]any
	decoder := json.NewDecoder(bytes.NewReader(content))
	decoder.UseNumber()
	if err := decoder.Decode(&conf); err != nil {
		return nil, "", fmt.Errorf("the configuration is not JSON: %w", err)
	}
	for _, key := range []string{"listen", "http"} {
		if err := listenOn(conf, key, ip); err != nil {
			return nil, "", err
		}
	}
	if cluster, ok := conf["cluster"].(map[string]any); ok {
		if err := listenOn(cluster, "listen", ip); err != nil {
			return nil, "", fmt.Errorf("cluster: %w", err)
		}
		cluster["advertise"] = cluster["listen"]
	}
	if metadata, ok := conf["server_metadata"].(map[string]any); ok {
		revision, _ = metadata["config_revision"].(string)
	}
	adapted, err = json.MarshalIndent(conf, "", "  ")
	return adapted, revision, err
}

// listenOn replaces the host of a listen address, given as host:port, :port or a port.
func listenOn(conf map[string]any, key, ip string) error {
	value, ok := conf[key]
	if !ok {
		return fmt.Errorf("the configuration has no %q: the server would listen on every Pod's address", key)
	}
	port := strings.TrimSpace(fmt.Sprint(value))
	if i := strings.LastIndex(port, ":"); i >= 0 {
		port = port[i+1:]
	}
	conf[key] = net.JoinHostPort(ip, port)
	return nil
}
