package reload

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
)

// Digest is what a nats-server that has loaded this configuration reports as config_digest: the SHA-256 of what it parsed,
// written as JSON. It is empty for a text that is not JSON, which no server of ours is given.
func Digest(config string) string {
	parsed, err := parse(config)
	if err != nil {
		return ""
	}
	var out bytes.Buffer
	// An Encoder, as nats-server's own: it ends with a line feed, and escapes what HTML would take for markup.
	if err := json.NewEncoder(&out).Encode(parsed); err != nil {
		return ""
	}
	return fmt.Sprintf("sha256:%x", sha256.Sum256(out.Bytes()))
}
