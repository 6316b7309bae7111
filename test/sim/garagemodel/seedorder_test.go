package garagemodel

import (
	"cmp"
	"slices"
	"time"

	"github.com/holdfast-dev/holdfast/internal/garage/adminapi"
	"github.com/holdfast-dev/holdfast/internal/garage/drain"
	"github.com/holdfast-dev/holdfast/internal/kit/gates"
)

// quiet is the window of the design's first order: at least the delay after which Garage deletes a block, and a minute.
const quiet = 670 * time.Second

// seedOrder is the order of the design's first proof ("Additive node-local pools", Reversible live-node drain transaction): once
// no older version of the layout is in use, a repair of blocks on every storage node and on the source; when they have ended
// without an error, a quiet window; and then all workers that check blocks are idle and no block has an error. The
// removal, E1 and E2 are those of package drain, so it asks every member, which the first proof did not.
func seedOrder(w drain.World, now time.Time) drain.Plan {
	plan := drain.DecideBy(drain.Steps()[:2], w, now)
	passed := plan.Proved || plan.Action != nil && plan.Action.Kind == drain.Complete
	if !passed {
		return plan
	}
	next := plan.Action // if two steps were enough
	plan.Action, plan.Proved = nil, false
	scope := storageAnd(w, plan.Journal.ID)
	for i := range scope {
		action, why := seedRepair(plan.Journal, &scope[i], now)
		if why != "" {
			plan.Gates = append(plan.Gates, gates.Gate{Name: "Repair", Why: why})
		}
		if plan.Action == nil {
			plan.Action = action
		}
	}
	switch j := plan.Journal; {
	case len(plan.Gates) > 0:
		j.EmptyAt = time.Time{}
	case j.EmptyAt.IsZero():
		j.EmptyAt = now // from when it is quiet
	case now.Sub(j.EmptyAt) >= quiet && allIdle(scope):
		plan.Action, plan.Proved = next, next == nil
	}
	return plan
}

func storageAnd(w drain.World, source adminapi.NodeID) []drain.Member {
	return slices.DeleteFunc(slices.Clone(w.Members), func(m drain.Member) bool {
		says, _ := m.Says.Get()
		return m.ID != source && !slices.ContainsFunc(says.Layout.Roles, func(r adminapi.NodeRole) bool {
			_, storage := r.Capacity.Storage()
			return r.ID == m.ID && storage
		})
	})
}

// seedRepair adopts the newest repair above the baseline, and launches one where there is none.
func seedRepair(j *drain.Journal, m *drain.Member, now time.Time) (*drain.Action, string) {
	says, known := m.Says.Get()
	if !known {
		return nil, m.Name + " does not answer"
	}
	launch := &drain.Action{Kind: drain.Launch, Node: m.ID, Repair: adminapi.RepairBlocks}
	i := slices.IndexFunc(j.Copies, func(r drain.Repair) bool { return r.Node == m.ID })
	if i >= 0 && j.Copies[i].Life != m.Life {
		j.Copies, i = slices.Delete(j.Copies, i, i+1), -1
	}
	if i < 0 {
		highest := slices.MaxFunc(says.Workers, func(a, b adminapi.Worker) int { return cmp.Compare(a.ID, b.ID) })
		j.Copies = append(j.Copies, drain.Repair{Node: m.ID, Life: m.Life, At: now, Baseline: highest.ID})
		return launch, m.Name + " is to be repaired"
	}
	newest := newestRepair(says.Workers, j.Copies[i].Baseline)
	switch {
	case newest == nil:
		return launch, m.Name + " is to be repaired"
	case newest.State != adminapi.WorkerDone:
		return nil, m.Name + " repairs"
	case newest.Errors > 0:
		j.Copies = slices.Delete(j.Copies, i, i+1)
		return nil, m.Name + " met an error"
	case len(says.BlockErrors) > 0:
		return nil, m.Name + " has blocks with errors"
	}
	return nil, ""
}

func newestRepair(workers []adminapi.Worker, baseline uint64) (newest *adminapi.Worker) {
	name, _ := adminapi.RepairBlocks.Worker()
	for i := range workers {
		if w := &workers[i]; w.Name == name && w.ID > baseline && (newest == nil || w.ID > newest.ID) {
			newest = w
		}
	}
	return newest
}

func allIdle(members []drain.Member) bool {
	for _, m := range members {
		says, _ := m.Says.Get()
		for _, w := range says.Workers {
			if w.Name == resyncName && w.State != adminapi.WorkerIdle {
				return false
			}
		}
	}
	return true
}
