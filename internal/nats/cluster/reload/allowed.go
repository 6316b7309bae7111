package reload

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
)

// A rule says whether a process takes over, by a reload, a key whose value goes from old to next; nil is a key that is
// not set.
type rule func(old, next any) bool

func always(any, any) bool { return true }

// raised holds for a limit that is set before and after and does not shrink: nothing that is stored is too much then.
func raised(old, next any) bool {
	before, ok := old.(json.Number)
	after, alsoOK := next.(json.Number)
	if !ok || !alsoOK {
		return false
	}
	from, errFrom := before.Int64()
	to, errTo := after.Int64()
	return errFrom == nil && errTo == nil && to >= from
}

// allowed has, by minor version of nats-server, the keys of a rendered configuration that a reload takes over. It was
// read from what nats-server of that minor compares at a reload, and a test changes each key of a rendered
// configuration on a real server of each version and compares.
var allowed = map[string]map[string]rule{
	"2.15": {
		"server_tags":                always,
		"server_metadata":            always,
		"cluster.routes":             always,
		"jetstream.max_memory_store": raised,
		"jetstream.max_file_store":   raised,
		ClientCertificate:            always,
		RouteCertificate:             always,
	},
}

// ClientCertificate and RouteCertificate stand in the allow-list for what is in the files of a certificate and its key, beside the
// keys, which are the files' names.
const (
	ClientCertificate = "tls, the files' content"
	RouteCertificate  = "cluster.tls, the files' content"
)

// silent are the keys of which no process that runs takes notice, and which need not be brought to one.
var silent = []string{"resolver_preload"}

// minor is major and minor of a version.
func minor(version string) string {
	parts := strings.SplitN(version, ".", 3)
	if len(parts) < 2 {
		return version
	}
	return parts[0] + "." + parts[1]
}

// Reloads says whether a server of that version takes the change of a key, down to the second level, over by a reload. Values
// are as encoding/json decodes them, numbers as json.Number; nil is a key that is not set.
func Reloads(version, path string, old, next any) bool {
	may, listed := allowed[minor(version)][path]
	return listed && may(old, next)
}

// A difference is one key whose values differ.
type difference struct {
	path      string
	old, next any // nil where the key is not set
}

// differences compares two configurations key by key, down to the second level, in the order of the keys. The keys that
// are silent are left out. A configuration that is not JSON differs as a whole.
func differences(running, rendered string) []difference {
	old, errOld := parse(running)
	next, errNext := parse(rendered)
	if errOld != nil || errNext != nil {
		return []difference{{path: "the configuration file"}}
	}
	var found []difference
	for _, key := range keysOf(old, next) {
		if slices.Contains(silent, key) {
			continue
		}
		// server_metadata is one value, whose keys are nobody's settings.
		inner, isMap := old[key].(map[string]any)
		other, alsoMap := next[key].(map[string]any)
		if key == "server_metadata" || !isMap || !alsoMap {
			found = appendIfDiffers(found, key, old[key], next[key])
			continue
		}
		for _, deeper := range keysOf(inner, other) {
			found = appendIfDiffers(found, key+"."+deeper, inner[deeper], other[deeper])
		}
	}
	return found
}

func appendIfDiffers(found []difference, path string, old, next any) []difference {
	if equality.Semantic.DeepEqual(old, next) {
		return found
	}
	return append(found, difference{path, old, next})
}

func parse(text string) (map[string]any, error) {
	var out map[string]any
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber() // bytes do not fit into a float
	err := decoder.Decode(&out)
	return out, err
}

func keysOf(a, b map[string]any) []string {
	return slices.Compact(slices.Sorted(func(yield func(string) bool) {
		for _, m := range []map[string]any{a, b} {
			for key := range maps.Keys(m) {
				if !yield(key) {
					return
				}
			}
		}
	}))
}
