package drain

import "github.com/holdfast-dev/holdfast/internal/kit/fact"

// Figures say how far a drain is.
type Figures struct {
	// Rows are in the source's tables, Queue are the blocks that it is to look at, and Files the blocks on its disks.
	Rows, Queue, Files fact.Fact[uint64]
	// Destinations are those that are still to be repaired for the first time, or for the second after that.
	Destinations int
}

func (p *proof) figures() Figures {
	var f Figures
	says, answers := p.saysSource()
	if !answers {
		f.Rows, f.Queue = fact.Unknown[uint64](p.sourceUnknown()), fact.Unknown[uint64](p.sourceUnknown())
	}
	if tables, known := says.Statistics.Tables.Get(); known {
		rows := uint64(0)
		for _, t := range tables {
			rows += t.Items
		}
		f.Rows = fact.Known(rows)
	}
	if blocks, known := says.Statistics.Blocks.Get(); known {
		f.Queue = fact.Known(blocks.ResyncQueue)
	}
	if listing, known := p.Listing.Get(); known && listing.Failed == "" && ours(listing, p.j.Listed, p.j.Last) {
		f.Files = fact.Known(uint64(listing.Blocks))
	}
	records := p.j.Copies
	if len(p.j.Checks) > 0 {
		records = p.j.Checks
	}
	f.Destinations = len(p.destinations())
	for _, r := range records {
		if !r.DoneAt.IsZero() {
			f.Destinations--
		}
	}
	return f
}

func ours(listing Listing, orders ...*Listed) bool {
	for _, order := range orders {
		if order != nil && order.Token == listing.Token {
			return true
		}
	}
	return false
}
