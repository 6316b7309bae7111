package whole

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// Memory is since when each look at a store has found it whole. It outlives no controller: after a restart a store has to be
// looked at twice again. The zero Memory is ready for use.
type Memory struct {
	mu    sync.Mutex
	found map[types.UID]run
}

// run is an unbroken run of looks at the same processes that found the store whole.
type run struct {
	lives string
	since time.Time
}

// Look notes a look at the store of that GarageCluster and returns when the run began that it belongs to; zero while the store
// is not whole. lives are the processes that were asked: with another one the run begins anew.
func (m *Memory) Look(cluster types.UID, lives string, isWhole bool, now time.Time) time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !isWhole {
		delete(m.found, cluster)
		return time.Time{}
	}
	if was, found := m.found[cluster]; found && was.lives == lives {
		return was.since
	}
	if m.found == nil {
		m.found = map[types.UID]run{}
	}
	m.found[cluster] = run{lives: lives, since: now}
	return now
}
