package seeded

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/holdfast-dev/holdfast/internal/nats/monitorapi"
	"github.com/holdfast-dev/holdfast/internal/nats/settled"
)

// A Memory is what servers have answered. What is asked through it is asked each time, and what was answered before is handed
// on: while it is fresh, or, where the memory is blind, in place of an error.
type Memory struct {
	fresh time.Duration
	blind bool

	mu   sync.Mutex
	seen map[string]remembered
}

type remembered struct {
	at     time.Time
	answer any
}

// GateFromCache has every answer of a server stand for a minute.
func GateFromCache() *Memory { return &Memory{fresh: time.Minute, seen: map[string]remembered{}} }

// UnknownIsOpen has the last answer of a server stand for as long as it gives none.
func UnknownIsOpen() *Memory { return &Memory{blind: true, seen: map[string]remembered{}} }

// Of is the servers as they are remembered.
func (m *Memory) Of(api settled.MonitorAPI) settled.MonitorAPI { return remembering{m, api} }

type remembering struct {
	memory *Memory
	api    settled.MonitorAPI
}

// Varz implements settled.MonitorAPI.
func (r remembering) Varz(ctx context.Context, at string) (monitorapi.Varz, error) {
	answer, err := r.api.Varz(ctx, at)
	return recall(r.memory, "varz "+at, answer, err)
}

// Jsz implements settled.MonitorAPI.
func (r remembering) Jsz(ctx context.Context, at string, offset, limit int) (monitorapi.Jsz, error) {
	answer, err := r.api.Jsz(ctx, at, offset, limit)
	return recall(r.memory, fmt.Sprintf("jsz %s %d", at, offset), answer, err)
}

func recall[T any](m *Memory, what string, answer T, err error) (T, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	before, has := m.seen[what]
	if old, is := before.answer.(T); has && is && (err != nil && m.blind || time.Since(before.at) < m.fresh) {
		return old, nil
	}
	if err == nil {
		m.seen[what] = remembered{time.Now(), answer}
	}
	return answer, err
}
