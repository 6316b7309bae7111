package drain

import (
	"slices"
	"time"

	"github.com/holdfast-dev/holdfast/internal/garage/adminapi"
	"github.com/holdfast-dev/holdfast/internal/garage/layout"
	"github.com/holdfast-dev/holdfast/internal/kit/gates"
)

// A Kind is what is done.
type Kind string

const (
	// Remove stages the removal of the source's role, unless it is staged already, and makes the next version of it.
	Remove Kind = "Remove"
	// Launch launches a repair.
	Launch Kind = "Launch"
	// List has the data directories of the source listed.
	List Kind = "List"
	// Complete writes down that all was seen.
	Complete Kind = "Complete"
	// Withdraw drops the removal that we have staged ourselves.
	Withdraw Kind = "Withdraw"
	// GiveBack makes a version in which the source has its role again.
	GiveBack Kind = "GiveBack"
)

// An Action is one thing done. The journal must have been written before.
type Action struct {
	Kind Kind
	// Node is the one that is told.
	Node adminapi.NodeID
	// Change, Version and Hash are of Remove and GiveBack: the change and the version that it makes. Of Withdraw, Version is
	// the present one, and Hash of what is staged.
	Change  adminapi.LayoutChange
	Version uint64
	Hash    string
	// Repair is what Launch launches.
	Repair adminapi.Repair
	// Token is that of List.
	Token string
}

// Plan is what to do now, or what it waits for.
type Plan struct {
	// Step is where the drain stands; empty outside of one.
	Step StepName
	// Action is what may be done now. It may be what the gates wait for.
	Action *Action
	// Gates are what holds the step, each with its reason.
	Gates []gates.Gate
	// Wake is when to look again.
	Wake time.Duration
	// Figures are what was measured.
	Figures Figures
	// Earliest is before when the drain cannot end, whatever happens.
	Earliest time.Time
	// Proved says that it is on record that the source may go, and that what can be seen now still says so.
	Proved bool
	// Journal is what the status has to say before the action is taken; nil outside of a drain.
	Journal *Journal
}

// StepName is the name of a step.
type StepName string

// The steps, in their order.
const (
	E0 StepName = "E0"
	E1 StepName = "E1"
	E2 StepName = "E2"
	E3 StepName = "E3"
	E4 StepName = "E4"
	E5 StepName = "E5"
	E6 StepName = "E6"
	E7 StepName = "E7"
	E8 StepName = "E8"
	E9 StepName = "E9"
	// EC is the way back.
	EC StepName = "Cancel"
)

// A Step is one thing that must be seen.
type Step struct {
	Name StepName
	see  func(*proof) sight
}

// sight is what a step has to say: nothing when it has seen what it must.
type sight struct {
	gates  []gates.Gate
	action *Action
}

func (s sight) passed() bool { return len(s.gates) == 0 && s.action == nil }

// Steps are E1 to E9. Each is looked at in every pass, in this order, up to the first that has not seen what it must; and
// each drops what was seen before if the facts deny it.
func Steps() []Step {
	return []Step{
		{E1, shown}, {E2, oneVersion}, {E3, emptied}, {E4, copied}, {E5, delayed}, {E6, flushed}, {E7, listed}, {E8, checked}, {E9, onceMore},
	}
}

// How soon to look again.
const (
	soon   = 2 * time.Second
	poll   = 10 * time.Second
	seldom = time.Minute
)

// Decide says what is next in a drain.
func Decide(w World, now time.Time) Plan { return DecideBy(Steps(), w, now) }

// DecideBy is Decide with other steps than all. It is for models, which leave one out to see what it is good for.
func DecideBy(steps []Step, w World, now time.Time) Plan {
	if w.Journal == nil {
		return begin(w, now)
	}
	p := newProof(w, now)
	if p.j.Cancelled || !p.wanted() {
		return p.cancel()
	}
	if p.j.Seen == 0 || p.hasRole() {
		if plan, applied := p.remove(); !applied {
			return plan
		}
	}
	plan := Plan{Step: steps[len(steps)-1].Name}
	for _, step := range steps {
		seen := step.see(p)
		if seen.passed() {
			continue
		}
		plan.Step, plan.Gates, plan.Action = step.Name, seen.gates, seen.action
		if step.Name != E9 && p.j.CompletedAt.IsZero() {
			p.j.Last = nil // the last listing is of the pass in which all the others hold
		}
		return p.finish(plan)
	}
	switch {
	case p.j.CompletedAt.IsZero():
		plan.Action = &Action{Kind: Complete}
	default:
		plan.Proved = true
	}
	return p.finish(plan)
}

// proof is the World as seen for the source that is in the journal.
type proof struct {
	World
	now time.Time
	// j is what the journal is to be.
	j *Journal
	// source is nil when there is no such node.
	source *Member
	// at is the newest layout that a member shows, and teller the first member by name that shows it and has a role in it.
	at     adminapi.Layout
	teller adminapi.NodeID
}

func newProof(w World, now time.Time) *proof {
	j := *w.Journal
	j.Copies, j.Checks = cloned(j.Copies), cloned(j.Checks)
	p := &proof{World: w, now: now, j: &j}
	for i := range w.Members {
		if w.Members[i].ID == j.ID {
			p.source = &w.Members[i]
		}
	}
	p.at, p.teller = newest(w.Members, j.ID)
	return p
}

func cloned(repairs []Repair) []Repair {
	repairs = slices.Clone(repairs)
	for i := range repairs {
		repairs[i].Idle = slices.Clone(repairs[i].Idle)
	}
	return repairs
}

// newest is the newest layout that any member shows, and whom to tell what is to be done about it: never the node that goes.
func newest(members []Member, without adminapi.NodeID) (at adminapi.Layout, teller adminapi.NodeID) {
	for _, m := range members {
		if says, known := m.Says.Get(); known && says.Layout.Version > at.Version {
			at = says.Layout
		}
	}
	for _, m := range members {
		says, known := m.Says.Get()
		if known && m.ID != without && says.Layout.Version == at.Version && hasRole(at, m.ID) {
			return at, m.ID
		}
	}
	return at, ""
}

func hasRole(at adminapi.Layout, id adminapi.NodeID) bool {
	return slices.ContainsFunc(at.Roles, func(r adminapi.NodeRole) bool { return r.ID == id })
}

// members are the nodes whose own view counts: those with a role that can be asked, and the source.
func (p *proof) members() []*Member {
	return p.some(func(m *Member) bool { return hasRole(p.at, m.ID) || m.ID == p.j.ID })
}

// destinations are those that store data without the source.
func (p *proof) destinations() []*Member {
	return p.some(func(m *Member) bool {
		return m.ID != p.j.ID && slices.ContainsFunc(p.at.Roles, func(r adminapi.NodeRole) bool {
			_, storage := r.Capacity.Storage()
			return r.ID == m.ID && storage
		})
	})
}

func (p *proof) some(which func(*Member) bool) []*Member {
	var found []*Member
	for i := range p.Members {
		if m := &p.Members[i]; !m.External && m.ID != "" && which(m) {
			found = append(found, m)
		}
	}
	return found
}

// wanted says that the source is still to go.
func (p *proof) wanted() bool { return p.Deleted || p.Order != nil && p.Order.ID == p.j.ID }

// removal is the change that takes the source's role away.
func removal(id adminapi.NodeID) adminapi.LayoutChange {
	return adminapi.LayoutChange{Roles: []adminapi.RoleChange{adminapi.Remove(id)}}
}

func staged(at adminapi.Layout) adminapi.LayoutChange {
	return adminapi.LayoutChange{Roles: at.Staged, Redundancy: at.StagedRedundancy}
}

// hashOf names who has which role.
func hashOf(at adminapi.Layout) string {
	whole := adminapi.LayoutChange{Redundancy: &at.Redundancy}
	for _, role := range at.Roles {
		whole.Roles = append(whole.Roles, adminapi.Assign(role.ID, role.Role))
	}
	return layout.Hash(whole)
}

// forget drops everything that was seen of the layout that is no more.
func (p *proof) forget() {
	p.j.Seen, p.j.Roles, p.j.SettledAt = 0, "", time.Time{}
	p.forgetRows()
}

// forgetRows drops everything that was seen since the source had no rows.
func (p *proof) forgetRows() {
	p.j.EmptyAt, p.j.Copies, p.j.Checks, p.j.Recount = time.Time{}, nil, nil, nil
	p.forgetSource()
}

// forgetSource drops what was seen of the source's blocks.
func (p *proof) forgetSource() {
	p.j.Source = nil
	p.forgetListings()
}

func (p *proof) forgetListings() { p.j.Listed, p.j.Last, p.j.CompletedAt = nil, nil, time.Time{} }

// finish adds to the plan what every plan has.
func (p *proof) finish(plan Plan) Plan {
	plan.Journal = p.j
	plan.Earliest, plan.Figures = p.earliest(), p.figures()
	switch {
	case plan.Action != nil:
		plan.Wake = soon
	case plan.Proved:
		plan.Wake = seldom
	default:
		plan.Wake = poll
	}
	return plan
}

// earliest is before when the drain cannot end: the delays that run, and those that have to follow.
func (p *proof) earliest() time.Time {
	end := p.j.StartedAt.Add(max(deletion, p.rpc()) + margin)
	if p.j.Cancelled {
		return time.Time{}
	}
	if !p.j.SettledAt.IsZero() && !p.j.EmptyAt.IsZero() {
		end = p.delayEnd()
	}
	for _, copied := range p.j.Copies {
		if next := copied.DoneAt.Add(between); !copied.DoneAt.IsZero() && next.After(end) {
			end = next
		}
	}
	return end
}
