package render_test

import (
	"encoding/json"
	"testing"
)

// natsConf is what tests look at in a rendered configuration.
type natsConf struct {
	ServerName string     `json:"server_name"`
	Metadata   metadata   `json:"server_metadata"`
	TLS        *listenTLS `json:"tls"`
	Cluster    struct {
		Routes []string   `json:"routes"`
		TLS    *listenTLS `json:"tls"`
	} `json:"cluster"`
	JetStream struct {
		MaxMemoryStore int64 `json:"max_memory_store"`
		MaxFileStore   int64 `json:"max_file_store"`
	} `json:"jetstream"`
}

type metadata struct {
	ConfigRevision string `json:"config_revision"`
}

type listenTLS struct {
	CAFile string `json:"ca_file"`
}

func parse(t *testing.T, text []byte) natsConf {
	t.Helper()
	var out natsConf
	if err := json.Unmarshal(text, &out); err != nil {
		t.Fatalf("nats.conf: %v\n%s", err, text)
	}
	return out
}
