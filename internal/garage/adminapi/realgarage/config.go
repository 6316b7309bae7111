package realgarage

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// config is the configuration of a server. Small blocks and maps keep a test's files small.
func (s *Server) config(factor int, peers []string) map[string]any {
	return map[string]any{
		"metadata_dir":       s.MetadataDir,
		"data_dir":           s.DataDir,
		"db_engine":          "lmdb",
		"lmdb_map_size":      1 << 30,
		"block_size":         1 << 16,
		"replication_factor": factor,
		"rpc_secret":         secret,
		"rpc_bind_addr":      fmt.Sprintf("%s:%d", s.address, rpcPort),
		"rpc_public_addr":    s.RPC,
		// So that the relay of another server sees who connects.
		"rpc_bind_outgoing": true,
		"bootstrap_peers":   peers,
		"s3_api":            map[string]any{"s3_region": Region, "api_bind_addr": fmt.Sprintf("%s:%d", s.address, s3Port)},
		"admin":             map[string]any{"api_bind_addr": fmt.Sprintf("%s:%d", s.address, adminPort), "admin_token": Token},
	}
}

// merge puts the settings over a configuration. Tables are merged key by key.
func merge(config, settings map[string]any) {
	for key, value := range settings {
		table, isTable := value.(map[string]any)
		if under, there := config[key].(map[string]any); isTable && there {
			maps.Copy(under, table)
			continue
		}
		config[key] = value
	}
}

// toml writes a configuration, tables last: what follows the head of a table belongs to it.
func toml(config map[string]any) []byte {
	var text, tables bytes.Buffer
	for _, key := range slices.Sorted(maps.Keys(config)) {
		table, isTable := config[key].(map[string]any)
		if !isTable {
			fmt.Fprintf(&text, "%s = %s\n", key, value(config[key]))
			continue
		}
		fmt.Fprintf(&tables, "\n[%s]\n", key)
		for _, name := range slices.Sorted(maps.Keys(table)) {
			fmt.Fprintf(&tables, "%s = %s\n", name, value(table[name]))
		}
	}
	return append(text.Bytes(), tables.Bytes()...)
}

// value writes one value on one line: a text, a number, a truth, or a list of texts.
func value(v any) string {
	switch v := v.(type) {
	case string:
		return fmt.Sprintf("%q", v)
	case []string:
		var items []string
		for _, item := range v {
			items = append(items, value(item))
		}
		return "[" + strings.Join(items, ", ") + "]"
	default:
		return fmt.Sprint(v)
	}
}
