package kubelet

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"strings"
)

// natsServer is nats-server. Its configuration stays as it is, so that it reports the digest that it has everywhere: what
// keeps it on the Pod's address is put on its command line.
type natsServer struct{}

func (natsServer) container() string  { return "nats" }
func (natsServer) repository() string { return "nats" }
func (natsServer) program() string    { return "/nats-server" }

func (s natsServer) words(given []string) []string {
	if len(given) > 0 && strings.HasPrefix(given[0], "-") {
		return append([]string{s.program()}, given...) // the image's entry point does so
	}
	return given
}

func (natsServer) config(words, _ []string) string { return configFlag(words) }

func (natsServer) view(content []byte, _ string) []byte { return content }

// start's flags keep a nats-server with that configuration, JSON, on a Pod address of the loopback interface: it
// listens there and nowhere else, and tells its peers that address, since connections it makes come from another. The
// revision is config_revision of the server's own metadata.
func (natsServer) start(content []byte, ip string) (flags []string, revision string, err error) {
	var conf map[string]any
	decoder := json.NewDecoder(bytes.NewReader(content))
	decoder.UseNumber()
	if err := decoder.Decode(&conf); err != nil {
		return nil, "", fmt.Errorf("the configuration is not JSON: %w", err)
	}
	// A host beside the monitoring port cannot be overridden; without one it is that of the client port.
	if http := fmt.Sprint(conf["http"]); conf["http"] == nil || strings.Contains(http, ":") && !strings.HasPrefix(http, ":") {
		return nil, "", fmt.Errorf("the configuration has %q for http and not a port alone: the server would listen on every Pod's address", http)
	}
	flags = []string{"--addr", ip}
	if cluster, ok := conf["cluster"].(map[string]any); ok {
		port := strings.TrimSpace(fmt.Sprint(cluster["listen"]))
		address := net.JoinHostPort(ip, port[strings.LastIndex(port, ":")+1:])
		flags = append(flags, "--cluster", "nats://"+address, "--cluster_advertise", address)
	}
	if metadata, ok := conf["server_metadata"].(map[string]any); ok {
		revision, _ = metadata["config_revision"].(string)
	}
	return flags, revision, nil
}
