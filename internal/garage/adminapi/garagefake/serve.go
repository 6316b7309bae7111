package garagefake

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// refusal is an error in Garage's words.
type refusal string

// Error implements error.
func (r refusal) Error() string { return string(r) }

func refuse(format string, args ...any) error { return refusal(fmt.Sprintf(format, args...)) }

func badly(format string, args ...any) error { return bad{refuse(format, args...)} }

// bad is an error that Garage calls a bad request. It calls all others internal.
type bad struct{ error }

// endpoint is one call of the Admin API.
type endpoint struct {
	method string
	// node says that the reply is wrapped, under the id of the node.
	node  bool
	serve func(*node, []byte) (any, error)
}

var endpoints = map[string]endpoint{
	"GetClusterStatus":            {method: http.MethodGet, serve: (*node).getStatus},
	"GetClusterHealth":            {method: http.MethodGet, serve: (*node).getHealth},
	"GetClusterLayout":            {method: http.MethodGet, serve: (*node).getLayout},
	"GetClusterLayoutHistory":     {method: http.MethodGet, serve: (*node).getHistory},
	"UpdateClusterLayout":         {method: http.MethodPost, serve: (*node).update},
	"PreviewClusterLayoutChanges": {method: http.MethodPost, serve: (*node).preview},
	"ApplyClusterLayout":          {method: http.MethodPost, serve: (*node).apply},
	"RevertClusterLayout":         {method: http.MethodPost, serve: (*node).revert},
	"ClusterLayoutSkipDeadNodes":  {method: http.MethodPost, serve: (*node).skipDead},
	"ConnectClusterNodes":         {method: http.MethodPost, serve: (*node).connectTo},
	"GetNodeInfo":                 {method: http.MethodGet, node: true, serve: (*node).getInfo},
	"GetNodeStatistics":           {method: http.MethodGet, node: true, serve: (*node).getStatistics},
	"CreateMetadataSnapshot":      {method: http.MethodPost, node: true, serve: func(*node, []byte) (any, error) { return nil, nil }},
	"LaunchRepairOperation":       {method: http.MethodPost, node: true, serve: (*node).repair},
	"ListWorkers":                 {method: http.MethodPost, node: true, serve: func(n *node, _ []byte) (any, error) { return n.listWorkers(), nil }},
	"GetWorkerVariable":           {method: http.MethodPost, node: true, serve: (*node).getVariable},
	"SetWorkerVariable":           {method: http.MethodPost, node: true, serve: (*node).putVariable},
	"ListBlockErrors":             {method: http.MethodGet, node: true, serve: (*node).getBlockErrors},
}

// serve answers one request.
func (n *node) serve(w http.ResponseWriter, r *http.Request) {
	name, ours := strings.CutPrefix(r.URL.Path, "/v2/")
	endpoint, known := endpoints[name]
	switch {
	case !ours || !known || endpoint.method != r.Method:
		n.fail(w, http.StatusBadRequest, "InvalidRequest", fmt.Sprintf("Bad request: Unknown API endpoint: %s %s", r.Method, r.URL.Path))
	case endpoint.node && r.URL.Query().Get("node") != "self":
		n.fail(w, http.StatusBadRequest, "InvalidRequest", "Bad request: Missing argument `node` for endpoint")
	case r.Header.Get("Authorization") != "Bearer "+Token:
		n.fail(w, http.StatusForbidden, "AccessDenied", "Forbidden: Invalid bearer token")
	default:
		n.carryOut(w, r, endpoint)
	}
}

func (n *node) carryOut(w http.ResponseWriter, r *http.Request, of endpoint) {
	var body []byte
	if r.Body != nil {
		body, _ = io.ReadAll(r.Body) // in memory
	}
	value, err := of.serve(n, body)
	code, status, text := "", 0, ""
	if _, isBad := errors.AsType[bad](err); isBad {
		code, status, text = "InvalidRequest", http.StatusBadRequest, "Bad request: "+err.Error()
	} else if err != nil {
		code, status, text = "InternalError", http.StatusInternalServerError, "Internal error: "+err.Error()
	}
	switch {
	case of.node && err != nil:
		reply(w, object{"success": object{}, "error": object{n.id: fmt.Sprintf("%s (%d): %s", code, status, text)}})
	case of.node:
		reply(w, object{"success": object{n.id: value}, "error": object{}})
	case err != nil:
		n.fail(w, status, code, text)
	default:
		reply(w, value)
	}
}

// object is a JSON object.
type object = map[string]any

func reply(w http.ResponseWriter, value any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(value) // a client that went away needs no answer
}

func (n *node) fail(w http.ResponseWriter, status int, code, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(object{"code": code, "message": message, "region": "garage", "path": "/"})
}

// parse reads a request's body, which Garage calls bad when it is not what it should be.
func parse[T any](body []byte) (T, error) {
	var value T
	if err := json.Unmarshal(body, &value); err != nil {
		return value, bad{fmt.Errorf("invalid JSON: %w", err)}
	}
	return value, nil
}

func (n *node) getInfo([]byte) (any, error) {
	info := object{
		"nodeId": n.id, "garageVersion": n.cluster.garageVersion(), "garageFeatures": []string{"lmdb"}, "rustVersion": "1.95.0",
		"dbEngine": "LMDB (using Heed crate)",
	}
	if n.cluster.minor >= 3 {
		info["hostname"] = "host"
	}
	if n.cluster.minor < 4 {
		return info, nil
	}
	info["addr"], info["isUp"], info["draining"] = n.cluster.RPC(n.at), true, n.draining(n.id, false)
	info["dataPartition"], info["metadataPartition"] = space, space
	if role, has := n.history.current().roles[n.id]; has {
		info["role"] = role
	}
	return info, nil
}

var space = map[string]uint64{"available": 1 << 40, "total": 2 << 40}

// draining says whether a node has no role, and had one in an older active version.
func (n *node) draining(id string, storing bool) bool {
	if _, has := n.history.current().roles[id]; has {
		return false
	}
	for _, v := range n.history.active[:len(n.history.active)-1] {
		if role, had := v.roles[id]; had && (role.Capacity != nil || !storing) {
			return true
		}
	}
	return false
}

// tables are those whose rows are spread over the nodes.
var tables = []string{"object", "version", "block_ref"}

func (n *node) getStatistics([]byte) (any, error) {
	statistics := object{"freeform": "text"}
	if n.cluster.minor < 3 {
		return statistics, nil
	}
	rows := []object{}
	for _, table := range tables {
		rows = append(rows, object{
			"tableName": table, "items": len(n.rows), "merkleItems": len(n.rows),
			"merkleQueueLen": 0, "insertQueueLen": 0, "gcQueueLen": 0,
		})
	}
	statistics["tableStats"] = rows
	statistics["blockManagerStats"] = object{
		"rcEntries": len(n.rows) + len(n.unneeded), "resyncQueueLen": len(n.queue), "resyncErrors": len(n.failed),
	}
	return statistics, nil
}

func (n *node) repair(body []byte) (any, error) {
	request, err := parse[struct{ RepairType any }](body)
	if err != nil {
		return nil, err
	}
	return nil, n.launch(request.RepairType, n.cluster.last)
}

func (n *node) getVariable(body []byte) (any, error) {
	request, err := parse[struct{ Variable string }](body)
	if err != nil {
		return nil, err
	}
	value, err := n.variable(request.Variable)
	return map[string]string{request.Variable: value}, err
}

func (n *node) putVariable(body []byte) (any, error) {
	request, err := parse[struct{ Variable, Value string }](body)
	if err != nil {
		return nil, err
	}
	return map[string]string{"variable": request.Variable, "value": request.Value}, n.setVariable(request.Variable, request.Value)
}

func (n *node) getBlockErrors([]byte) (any, error) {
	list := []object{}
	for block, failure := range n.failed {
		references := 0
		if n.rows[block] {
			references = 1
		}
		list = append(list, object{
			"blockHash": fmt.Sprintf("%064x", block), "refcount": references, "errorCount": failure.errors,
			"lastTrySecsAgo": int(n.cluster.last.Sub(failure.last).Seconds()),
			"nextTryInSecs":  int(failure.last.Add(retryAfter).Sub(n.cluster.last).Seconds()),
		})
	}
	return list, nil
}
