package adminapi

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"github.com/holdfast-dev/holdfast/internal/kit/fact"
)

// WorkerState is what a worker does.
type WorkerState string

const (
	// WorkerBusy means: it works.
	WorkerBusy WorkerState = "busy"
	// WorkerThrottled means: it pauses, to go easy or after an error.
	WorkerThrottled WorkerState = "throttled"
	// WorkerIdle means: it waits. Its queue may have work that is due later.
	WorkerIdle WorkerState = "idle"
	// WorkerDone means: it has ended.
	WorkerDone WorkerState = "done"
)

// ResyncWorker is how the names of the workers begin that check blocks, before a number from 1 to 8.
const ResyncWorker = "Block resync worker #"

// Worker is a background task of a node (Garage server facts, 3.8 Workers).
type Worker struct {
	// ID counts from 1 in each process: it tells workers apart until the process ends.
	ID   uint64
	Name string
	// State is one of the four.
	State WorkerState
	// Errors counts since the process started, ConsecutiveErrors since the last success.
	Errors, ConsecutiveErrors uint64
	// LastError is nil when there was none.
	LastError *WorkerError
	// QueueLength, PersistentErrors, Tranquility and Progress are unknown for workers that have none, and for resync workers
	// that are not enabled.
	QueueLength, PersistentErrors, Tranquility fact.Fact[uint64]
	Progress                                   fact.Fact[string]
	// Freeform are lines for people.
	Freeform []string
}

// WorkerError is an error of a worker.
type WorkerError struct {
	Message    string
	SecondsAgo uint64
}

var listWorkers = call{endpoint: "ListWorkers", method: http.MethodPost, node: true, timeout: quick}

// ListWorkers reads the workers of the node's process, in no order.
func (c *Client) ListWorkers(ctx context.Context) (Answer[[]Worker], error) {
	return askNode(ctx, c, listWorkers, struct{}{}, func(o *object) []Worker {
		return list(o, o.whole, "the reply", readWorker)
	})
}

func readWorker(o *object) Worker {
	return Worker{
		ID:                need[uint64](o, "id"),
		Name:              need[string](o, "name"),
		State:             readState(o),
		Errors:            need[uint64](o, "errors"),
		ConsecutiveErrors: need[uint64](o, "consecutiveErrors"),
		LastError: underOrNull(o, "lastError", func(o *object) WorkerError {
			return WorkerError{Message: need[string](o, "message"), SecondsAgo: need[uint64](o, "secsAgo")}
		}),
		QueueLength:      maybe[uint64](o, "queueLength"),
		PersistentErrors: maybe[uint64](o, "persistentErrors"),
		Tranquility:      maybe[uint64](o, "tranquility"),
		Progress:         maybe[string](o, "progress"),
		Freeform:         texts(o, "freeform"),
	}
}

// readState reads a word, or {"throttled": {"durationSecs": n}}.
func readState(o *object) WorkerState {
	text := need[json.RawMessage](o, "state")
	var word WorkerState
	if err := json.Unmarshal(text, &word); err != nil {
		under(o.inner(text, "state"), string(WorkerThrottled), func(o *object) float64 {
			return need[float64](o, "durationSecs")
		})
		return WorkerThrottled
	}
	switch word {
	case WorkerBusy, WorkerIdle, WorkerDone:
	default:
		o.wrong("the state %.40q of a worker is not known", word)
	}
	return word
}

var getWorkerVariable = call{endpoint: "GetWorkerVariable", method: http.MethodPost, node: true, timeout: quick}

// GetWorkerVariable reads one variable of the node's workers, for instance "resync-worker-count". One that the node does
// not have is Refused.
func (c *Client) GetWorkerVariable(ctx context.Context, name string) (Answer[string], error) {
	return askNode(ctx, c, getWorkerVariable, map[string]string{"variable": name}, func(o *object) string {
		return need[string](o, name)
	})
}

var setWorkerVariable = call{endpoint: "SetWorkerVariable", method: http.MethodPost, node: true, effect: true, timeout: quick}

// SetWorkerVariable sets a variable of the node's workers, and returns the node. Those of resync workers last over a
// restart.
func (c *Client) SetWorkerVariable(ctx context.Context, name, value string) (NodeID, error) {
	body := map[string]string{"variable": name, "value": value}
	answer, err := askNode(ctx, c, setWorkerVariable, body, func(o *object) struct{} {
		if set := need[string](o, "variable"); set != name {
			o.wrong("%q was set instead of %q", set, name)
		}
		return struct{}{}
	})
	return answer.Node, err
}

// BlockError is a block whose last check failed.
type BlockError struct {
	// Hash is the block, as 64 hexadecimal digits.
	Hash string
	// References counts what needs the block, Errors the checks that failed in a row.
	References, Errors uint64
	// LastTryAgo and NextTryIn are in whole seconds.
	LastTryAgo, NextTryIn time.Duration
}

var listBlockErrors = call{endpoint: "ListBlockErrors", method: http.MethodGet, node: true, timeout: quick}

// ListBlockErrors reads the blocks of the node whose last check failed.
func (c *Client) ListBlockErrors(ctx context.Context) (Answer[[]BlockError], error) {
	seconds := func(o *object, field string) time.Duration {
		return time.Duration(need[uint32](o, field)) * time.Second
	}
	return askNode(ctx, c, listBlockErrors, nil, func(o *object) []BlockError {
		return list(o, o.whole, "the reply", func(o *object) BlockError {
			return BlockError{
				Hash: need[string](o, "blockHash"), References: need[uint64](o, "refcount"), Errors: need[uint64](o, "errorCount"),
				LastTryAgo: seconds(o, "lastTrySecsAgo"), NextTryIn: seconds(o, "nextTryInSecs"),
			}
		})
	})
}
