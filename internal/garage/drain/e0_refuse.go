package drain

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-dev/holdfast/internal/garage/adminapi"
	"github.com/holdfast-dev/holdfast/internal/garage/layout"
	"github.com/holdfast-dev/holdfast/internal/kit/gates"
	"github.com/holdfast-dev/holdfast/internal/kit/words"
)

// Names of the gates of E0, in their order.
const (
	GateAnswers     = "MembersAnswer"
	GateMode        = "ConsistentMode"
	GatePeers       = "PeersVerified"
	GateBusy        = "NothingElseRuns"
	GateVersions    = "OneMinorVersion"
	GateEngine      = "ExactCounts"
	GateSurvivors   = "EnoughSurvivors"
	GateDirectories = "DirectoriesRecorded"
	GateStaging     = "StagingOwn"
	GateSettled     = "LayoutSettled"
	GateErrors      = "NoBlockErrors"
	GateWhole       = "StoreWhole"
)

// refusals are why a drain does not begin, and is not applied.
var refusals = []gates.Check[*proof]{
	{Name: GateAnswers, Holds: silent},
	{Name: GateMode, Holds: func(p *proof) (string, bool) {
		return fmt.Sprintf("the consistency mode is %q: trackers mean something in mode \"consistent\" only", p.Mode), p.Mode != "consistent"
	}},
	{Name: GatePeers, Holds: unverified},
	{Name: GateBusy, Holds: func(p *proof) (string, bool) { return holdsUnlessEmpty(p.Busy.Get, p.Busy.Why) }},
	{Name: GateVersions, Holds: versions},
	{Name: GateEngine, Holds: engine},
	{Name: GateSurvivors, Holds: survivors},
	{Name: GateDirectories, Holds: func(p *proof) (string, bool) {
		directories, known := p.Directories.Get()
		return p.Directories.Why(), !known || len(directories) == 0
	}},
	{Name: GateStaging, Holds: func(p *proof) (string, bool) { return foreign(p, removal(p.j.ID)) }},
	{Name: GateSettled, Holds: moving},
	{Name: GateErrors, Holds: unclean},
	{Name: GateWhole, Holds: notWhole},
}

// begin is a drain that is asked for and has not begun.
func begin(w World, now time.Time) Plan {
	if w.Order == nil {
		return Plan{}
	}
	w.Journal = &Journal{Name: w.Order.Name, ID: w.Order.ID, Hash: layout.Hash(removal(w.Order.ID)), StartedAt: now}
	p := newProof(w, now)
	p.base()
	plan := Plan{Step: E0, Gates: gates.Closed(p, refusals), Wake: poll}
	if len(plan.Gates) == 0 {
		plan.Journal, plan.Wake = p.j, soon
	}
	return plan
}

// base has the journal speak of the layout that is there now.
func (p *proof) base() {
	p.j.Version = p.at.Version + 1
	for _, role := range p.at.Roles {
		if role.ID == p.j.ID {
			p.j.Role = role.Role
		}
	}
}

// silent holds until every member has answered.
func silent(p *proof) (string, bool) {
	var why []string
	if p.source == nil || p.source.External {
		why = append(why, fmt.Sprintf("the process of %s cannot be asked", p.j.Name))
	}
	for _, m := range p.members() {
		if _, known := m.Says.Get(); !known {
			why = append(why, m.Name+": "+m.Says.Why())
		}
	}
	if len(why) == 0 && p.teller == "" {
		why = append(why, "no other member has a role")
	}
	return words.Reasons(why), len(why) > 0
}

// unverified holds while the layout has a process that cannot be asked, unless a person answers for it.
func unverified(p *proof) (string, bool) {
	var names []string
	for _, role := range p.at.Roles {
		if !slices.ContainsFunc(p.Members, func(m Member) bool { return m.ID == role.ID && !m.External }) {
			names = append(names, fmt.Sprintf("node %.16s", role.ID))
		}
	}
	return words.Names(names) + " cannot be asked, and unverifiedPeersPolicy is not AssumeConsistent", len(names) > 0 && !p.AssumeConsistent
}

// leastVersion is the first that has counts of tables.
var leastVersion = adminapi.Version{Major: 2, Minor: 3}

// versions holds unless all members run one minor version that can count.
func versions(p *proof) (string, bool) {
	var why []string
	first, minor := "", adminapi.Version{}
	for _, m := range p.members() {
		says, answers := m.Says.Get()
		version, known := says.Info.Version.Get()
		of := adminapi.Version{Major: version.Major, Minor: version.Minor}
		switch {
		case !answers:
			continue // which another gate says
		case !known:
			why = append(why, m.Name+": "+says.Info.Version.Why())
			continue
		case version.Compare(leastVersion) < 0:
			why = append(why, fmt.Sprintf("%s runs %s, which does not say how many rows it has", m.Name, version))
		}
		if first == "" {
			first, minor = m.Name, of
		}
		if of != minor {
			why = append(why, fmt.Sprintf("%s runs %s and %s another minor version", m.Name, version, first))
		}
	}
	return words.Reasons(why), len(why) > 0
}

// engine holds unless the source's counts are exact.
func engine(p *proof) (string, bool) {
	if p.source == nil {
		return "", false // which another gate says
	}
	says, answers := p.source.Says.Get()
	name := strings.ToLower(says.Info.DBEngine)
	exact := strings.HasPrefix(name, "lmdb") || strings.HasPrefix(name, "sqlite")
	return fmt.Sprintf("%s runs the engine %q, whose counts are not exact", p.j.Name, says.Info.DBEngine), answers && !exact
}

// survivors holds while there would be fewer copies than wanted. Whether the zones suffice, Garage's preview says.
func survivors(p *proof) (string, bool) {
	storage, source := 0, false
	for _, role := range p.at.Roles {
		_, positive := role.Capacity.Storage()
		switch {
		case !positive:
		case role.ID == p.j.ID:
			source = true
		default:
			storage++
		}
	}
	if !source && p.at.Version > 0 {
		return p.j.Name + " stores nothing in the layout", true
	}
	return fmt.Sprintf("%d storage nodes would be left, fewer than the replication factor of %d", storage, p.Factor), storage < max(p.Factor, 1)
}

// foreign holds while a member shows something staged that is not the change.
func foreign(p *proof, change adminapi.LayoutChange) (string, bool) {
	var why []string
	for i := range p.Members {
		says, known := p.Members[i].Says.Get()
		what := staged(says.Layout)
		if known && !nothing(what) && layout.Hash(what) != layout.Hash(change) {
			why = append(why, p.Members[i].Name+" has something staged by somebody else")
		}
	}
	return words.Reasons(why), len(why) > 0
}

func nothing(change adminapi.LayoutChange) bool {
	return len(change.Roles) == 0 && change.Redundancy == nil
}

// moving holds while a change of the layout is under way.
func moving(p *proof) (string, bool) {
	var why []string
	for _, m := range p.members() {
		says, known := m.Says.Get()
		switch {
		case !known:
		case says.Layout.Version != p.at.Version || !layout.SameRoles(says.Layout, p.at):
			why = append(why, fmt.Sprintf("%s shows another layout than version %d", m.Name, p.at.Version))
		case !layout.Settled(says.History):
			why = append(why, fmt.Sprintf("%s sees version %d still being taken over", m.Name, p.at.Version))
		}
	}
	return words.Reasons(why), len(why) > 0
}

// unclean holds while any member has a block that it could not check.
func unclean(p *proof) (string, bool) {
	var why []string
	for _, m := range p.members() {
		if says, known := m.Says.Get(); known {
			why = append(why, errorsOf(m.Name, says)...)
		}
	}
	return words.Reasons(why), len(why) > 0
}

func notWhole(p *proof) (string, bool) { return holdsUnlessEmpty(p.Lacks.Get, p.Lacks.Why) }

// holdsUnlessEmpty holds with what is known to be in the way, and with why it is not known.
func holdsUnlessEmpty(get func() (string, bool), why func() string) (string, bool) {
	if is, known := get(); known {
		return is, is != ""
	}
	return why(), true
}
