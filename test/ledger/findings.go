package ledger

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// Kind is what is wrong with something that was acknowledged. Packages natsload and s3load define what each
// means to their service, and each looks for its own.
type Kind string

// The kinds.
const (
	Lost       Kind = "lost"
	Stale      Kind = "stale"
	Corrupted  Kind = "corrupted"
	Returned   Kind = "returned"
	Unreadable Kind = "unreadable"
	Unlisted   Kind = "unlisted"
	Doubled    Kind = "doubled"
	OutOfOrder Kind = "out of order"
	Unseen     Kind = "unseen"
	Foreign    Kind = "foreign"
)

// byWeight is the order in which kinds are told.
var byWeight = []Kind{Lost, Stale, Corrupted, Returned, Unreadable, Unlisted, Doubled, OutOfOrder, Unseen, Foreign}

// Finding is one fault.
type Finding struct {
	Kind Kind `json:"kind"`
	// Stream is where it was found: a stream or a bucket.
	Stream string `json:"stream"`
	// Sequence is the one in the stream, or the number of the write among those of its key.
	Sequence uint64 `json:"sequence,omitempty"`
	// ID is the message's id, the counter and its writer, or the object's key.
	ID string `json:"id"`
	// Count is 1 for a message or an object; for a counter, how many increments.
	Count  uint64 `json:"count"`
	Detail string `json:"detail"`
	// At is when it was first seen and Endpoint who answered then; empty where nobody was asked in particular.
	At       time.Time `json:"at,omitzero"`
	Endpoint string    `json:"endpoint,omitempty"`
}

// Findings are faults, each once: what several views show of one thing is one finding. The zero value is empty.
type Findings struct {
	index map[identity]int
	list  []Finding
}

type identity struct {
	kind       Kind
	stream, id string
	sequence   uint64
}

// longestDetail bounds what views add to the detail of one finding, in bytes.
const longestDetail = 1024

// Add takes a finding in. Where another of the same kind, stream, sequence and id is there, only what its detail
// says in addition is kept.
func (f *Findings) Add(finding Finding) {
	is := identity{finding.Kind, finding.Stream, finding.ID, finding.Sequence}
	at, known := f.index[is]
	if !known {
		if f.index == nil {
			f.index = map[identity]int{}
		}
		f.index[is] = len(f.list)
		f.list = append(f.list, finding)
		return
	}
	detail := &f.list[at].Detail
	if !strings.Contains(*detail, finding.Detail) && len(*detail)+len(finding.Detail) < longestDetail {
		*detail += "; " + finding.Detail
	}
}

// Sorted are the findings by stream, sequence and id.
func (f *Findings) Sorted() []Finding {
	list := slices.Clone(f.list)
	slices.SortStableFunc(list, func(a, b Finding) int {
		return cmp.Or(strings.Compare(a.Stream, b.Stream), cmp.Compare(a.Sequence, b.Sequence), strings.Compare(a.ID, b.ID))
	})
	return list
}
