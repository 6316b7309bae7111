package drain

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-dev/holdfast/internal/garage/adminapi"
	"github.com/holdfast-dev/holdfast/internal/kit/gates"
	"github.com/holdfast-dev/holdfast/internal/kit/words"
)

// GateCopied is the gate of E4.
const GateCopied = "DestinationsCopied"

const (
	// lull is how long after a repair a resync worker that is idle counts: one that has just been given work may not know.
	lull = 5 * time.Second
	// again is how long after a repair that met an error the next one is launched.
	again = time.Minute
)

// copied is E4: every destination has fetched what it is to have, while the source still has everything.
func copied(p *proof) sight {
	return p.repairAll(GateCopied, &p.j.Copies, func(*Member) string { return "" })
}

// repairAll is a repair on every destination. first says why one may not begin yet; empty when it may.
func (p *proof) repairAll(gate string, records *[]Repair, first func(*Member) string) sight {
	var (
		seen sight
		why  []string
	)
	destinations := p.destinations()
	*records = slices.DeleteFunc(*records, func(r Repair) bool {
		return !slices.ContainsFunc(destinations, func(m *Member) bool { return m.ID == r.Node })
	})
	for _, m := range destinations {
		i := slices.IndexFunc(*records, func(r Repair) bool { return r.Node == m.ID })
		if i < 0 || (*records)[i].Life != m.Life {
			*records = slices.DeleteFunc(*records, func(r Repair) bool { return r.Node == m.ID })
			if not := first(m); not != "" {
				why = append(why, not)
				continue
			}
			i = len(*records)
			*records = append(*records, Repair{Node: m.ID})
		}
		not, launch := p.follow(&(*records)[i], m, adminapi.RepairBlocks, true)
		if !launch && not == "" {
			continue
		}
		why = append(why, not)
		if launch {
			p.j.Last, p.j.CompletedAt = nil, time.Time{}
		}
		if launch && seen.action == nil {
			seen.action = &Action{Kind: Launch, Node: m.ID, Repair: adminapi.RepairBlocks}
		}
	}
	*records = slices.DeleteFunc(*records, func(r Repair) bool { return r.At.IsZero() })
	if len(why) > 0 {
		seen.gates = []gates.Gate{{Name: gate, Why: words.Reasons(why)}}
	}
	return seen
}

// follow brings the record of a repair up to what the member says, and says what it waits for, and whether the repair is to be
// launched. The record is written before that. A worker that shows afterwards, with a number above the baseline, is of a repair
// that was launched later: it does not matter by whom, or how often.
func (p *proof) follow(r *Repair, m *Member, repair adminapi.Repair, rest bool) (why string, launch bool) {
	says, known := m.Says.Get()
	if !known {
		return m.Name + ": " + m.Says.Why(), false
	}
	if r.At.IsZero() || r.Life != m.Life {
		p.renew(r, m, says)
		return m.Name + " is to be repaired", true
	}
	worker := adopt(r, says.Workers, repair)
	switch {
	case worker == nil && r.Worker == 0:
		return m.Name + " is to be repaired", true
	case worker == nil:
		p.renew(r, m, says)
		return m.Name + " no longer knows of its repair", true
	case worker.State != adminapi.WorkerDone:
		return m.Name + " repairs", false
	case worker.Errors > 0 || worker.LastError != nil:
		if p.now.Sub(r.At) < again {
			return m.Name + " met errors in its repair", false
		}
		p.renew(r, m, says)
		return m.Name + " met errors in its repair, and is to be repaired again", true
	}
	return p.ended(r, m.Name, says, rest), false
}

// renew has the record be of a repair that is to be launched now.
func (p *proof) renew(r *Repair, m *Member, says Says) {
	*r = Repair{Node: m.ID, Life: m.Life, At: p.now, Baseline: highest(says.Workers)}
}

// ended is a repair that has ended well: then no block may have an error, and who is to rest has to.
func (p *proof) ended(r *Repair, name string, says Says, rest bool) string {
	if r.DoneAt.IsZero() {
		r.DoneAt = p.now
	}
	if errors := errorsOf(name, says); len(errors) > 0 {
		return words.Reasons(errors)
	}
	if rest {
		return p.resting(r, name, says)
	}
	return ""
}

// adopt finds the worker of a repair that was launched after the baseline; nil while there is none.
func adopt(r *Repair, workers []adminapi.Worker, repair adminapi.Repair) *adminapi.Worker {
	name, _ := repair.Worker()
	var found *adminapi.Worker
	for i := range workers {
		w := &workers[i]
		switch {
		case w.Name != name || w.ID <= r.Baseline:
		case r.Worker == w.ID:
			return w
		case r.Worker == 0 && (found == nil || w.ID < found.ID):
			found = w
		}
	}
	if found != nil {
		r.Worker = found.ID
	}
	return found
}

func highest(workers []adminapi.Worker) (id uint64) {
	for _, w := range workers {
		id = max(id, w.ID)
	}
	return id
}

// resyncWorkers are the workers that check blocks: those that have a queue, which a worker that is not enabled has not.
func resyncWorkers(workers []adminapi.Worker) []adminapi.Worker {
	return slices.DeleteFunc(slices.Clone(workers), func(w adminapi.Worker) bool {
		_, enabled := w.QueueLength.Get()
		return !strings.HasPrefix(w.Name, adminapi.ResyncWorker) || !enabled
	})
}

// resting holds until each resync worker has been seen idle after the repair: then it has done all that the repair gave it.
func (p *proof) resting(r *Repair, name string, says Says) string {
	var busy []string
	for _, w := range resyncWorkers(says.Workers) {
		if w.State == adminapi.WorkerIdle && p.now.Sub(r.DoneAt) >= lull && !slices.Contains(r.Idle, w.ID) {
			r.Idle = append(r.Idle, w.ID)
		}
		if !slices.Contains(r.Idle, w.ID) {
			busy = append(busy, w.Name)
		}
	}
	if len(busy) > 0 {
		return fmt.Sprintf("%s still checks blocks", name)
	}
	return ""
}

// errorsOf says what was not clean in what a member says of its blocks.
func errorsOf(name string, says Says) []string {
	var why []string
	blocks, known := says.Statistics.Blocks.Get()
	switch {
	case !known:
		why = append(why, name+": "+says.Statistics.Blocks.Why())
	case blocks.ResyncErrors > 0 || len(says.BlockErrors) > 0:
		why = append(why, name+" has blocks that it could not check")
	}
	workers := resyncWorkers(says.Workers)
	if len(workers) == 0 {
		why = append(why, name+" names no worker that checks blocks")
	}
	if slices.ContainsFunc(workers, func(w adminapi.Worker) bool { return w.ConsecutiveErrors > 0 }) {
		why = append(why, name+" fails at checking a block")
	}
	return why
}
