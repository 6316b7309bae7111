package garagemodel

import (
	"errors"

	"github.com/holdfast-dev/holdfast/internal/garage/drain"
)

// Record is what the API server has of the drain: the objects' parts that the controller reads and writes.
type Record struct {
	// Version is the resourceVersion.
	Version int
	// Ordered is the annotation, and Deleted that a DELETE was taken.
	Ordered, Deleted bool
	// Serves is the label of the source's Pod.
	Serves bool
	// Journal is the status. It must not be changed.
	Journal *drain.Journal
	// ListToken is the listing that was ordered.
	ListToken string
}

// Store keeps every version of the Record.
type Store struct{ versions []Record }

func newStore() *Store { return &Store{versions: []Record{{Version: 1, Serves: true}}} }

func (s *Store) newest() Record { return s.versions[len(s.versions)-1] }

// behind is the Record as it was so many versions ago, and never one that is older than that.
func (s *Store) behind(by, least int) Record {
	return s.versions[max(len(s.versions)-1-by, least-1, 0)]
}

var errConflict = errors.New("the object was changed meanwhile")

// write makes a version, unless another has come since the one that was decided on.
func (s *Store) write(on int, change func(*Record)) (Record, error) {
	next := s.newest()
	if next.Version != on {
		return Record{}, errConflict
	}
	change(&next)
	next.Version++
	s.versions = append(s.versions, next)
	return next, nil
}

// edit is a write that a user makes, on the newest version.
func (s *Store) edit(change func(*Record)) { _, _ = s.write(s.newest().Version, change) }
