package lab

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"k8s.io/client-go/rest"
)

// Process is a running nats-server as it tells of itself.
type Process struct {
	ID    string    `json:"server_id"`
	Name  string    `json:"server_name"`
	Start time.Time `json:"start"`
	// Metadata has the revision of the configuration that it runs.
	Metadata  map[string]string `json:"metadata"`
	Tags      []string          `json:"tags"`
	Routes    int               `json:"routes"`
	JetStream struct {
		Config struct {
			MaxMemoryStore int64 `json:"max_memory"`
			MaxFileStore   int64 `json:"max_storage"`
		} `json:"config"`
	} `json:"jetstream"`
}

// Processes asks every server of a NatsCluster for its identity, through the API server.
func (l *Lab) Processes(ctx context.Context, namespace, name string) (map[string]Process, error) {
	pods, err := l.Pods(ctx, namespace, name)
	if err != nil {
		return nil, err
	}
	http, err := rest.HTTPClientFor(l.Config)
	if err != nil {
		return nil, err
	}
	found := map[string]Process{}
	for pod := range pods {
		answer, err := http.Get(fmt.Sprintf("%s/api/v1/namespaces/%s/pods/%s:8222/proxy/varz", l.Config.Host, namespace, pod))
		if err != nil {
			return nil, err
		}
		var process Process
		err = json.NewDecoder(answer.Body).Decode(&process)
		_ = answer.Body.Close()
		if err != nil {
			return nil, fmt.Errorf("/varz of %s: %w", pod, err)
		}
		found[process.Name] = process
	}
	return found, nil
}
