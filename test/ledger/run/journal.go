package run

import (
	"fmt"
	"io"
	"sync"
	"time"
)

// journal writes one line per acknowledgement. It is for people who look into a fault afterwards; nothing is
// read from it.
type journal struct {
	mu     sync.Mutex
	to     io.Writer
	failed error // the first error; nothing is written after it
}

func (j *journal) write(stream string, sequence uint64, id string, at time.Duration) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.to == nil || j.failed != nil {
		return
	}
	_, j.failed = fmt.Fprintf(j.to, "%s\t%d\t%s\t%d\n", stream, sequence, id, at.Milliseconds())
}

func (j *journal) err() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.failed
}
