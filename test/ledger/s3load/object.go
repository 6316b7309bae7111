package s3load

import "sync"

// object is one key.
type object struct {
	key string

	mu     sync.Mutex
	so     promise
	before uint64 // so.deleted before the write that is under way
	// resting: an attempt at a write went unanswered, so there will be no other write.
	resting bool
}

// begin numbers a write that is about to be sent.
func (o *object) begin(deletion bool) uint64 {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.before = o.so.deleted
	o.so.last++
	if deletion {
		o.so.deleted = o.so.last
	}
	return o.so.last
}

// acknowledge says that the write under way was done; doubtful that an attempt at it had gone unanswered before.
func (o *object) acknowledge(doubtful bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.so.acked, o.resting = o.so.last, doubtful
}

// refuse says that the write under way has not happened and never will.
func (o *object) refuse() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.so.last, o.so.deleted = o.so.acked, o.before
}

// doubt says that nobody knows whether the write under way happened, or will.
func (o *object) doubt() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.resting = true
}

func (o *object) promise() promise {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.so
}

func (o *object) rests() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.resting
}
