package settled

import (
	"slices"

	"github.com/holdfast-dev/holdfast/internal/kit/fact"
)

// Within is the observation with those members counted as current that an observation a moment before saw current:
// the two are taken for one. Under load some member of some group is behind by a message at every instant, and a
// single look at many groups hardly ever finds all of them current, though each of them is so again and again; one
// that has something to catch up with is not. It carries over nothing else, and nothing past a restart of the member
// or a change of the group's leader.
func (o Observation) Within(earlier Observation) Observation {
	before, now := processes(earlier), processes(o)
	same := func(server string) bool { return now[server] != "" && now[server] == before[server] }
	seen := currentSeats(earlier)
	both := Observation{JetStream: o.JetStream, Servers: slices.Clone(o.Servers)}
	for i, server := range both.Servers {
		if answer, ok := server.Answer.Get(); ok && same(server.Name) {
			both.Servers[i].Answer = fact.Known(answer.carry(server.Name, func(group Group, member string) bool {
				return same(member) && seen[seat{group, server.Name, member}]
			}))
		}
	}
	return both
}

// A seat is a member's place in the list of a group's leader.
type seat struct {
	group          Group
	leader, member string
}

// processes are the IDs of the servers that answered.
func processes(o Observation) map[string]string {
	found := make(map[string]string, len(o.Servers))
	for _, server := range o.Servers {
		if answer, ok := server.Answer.Get(); ok {
			found[server.Name] = answer.ID
		}
	}
	return found
}

// currentSeats are those that their group's leader calls current.
func currentSeats(o Observation) map[seat]bool {
	found := map[seat]bool{}
	for _, server := range o.Servers {
		answer, _ := server.Answer.Get()
		for _, report := range answer.Reports {
			if !report.claimedBy(server.Name) {
				continue
			}
			for _, member := range report.Members {
				if member.Current {
					found[seat{report.Group, server.Name, member.Name}] = true
				}
			}
		}
	}
	return found
}

// carry is the answer with those members current, of the groups that the server leads, for which seen says so.
func (a Answer) carry(leader string, seen func(group Group, member string) bool) Answer {
	a.Reports = slices.Clone(a.Reports)
	for i, report := range a.Reports {
		if !report.claimedBy(leader) {
			continue
		}
		a.Reports[i].Members = slices.Clone(report.Members)
		for m, member := range report.Members {
			a.Reports[i].Members[m].Current = member.Current || seen(report.Group, member.Name)
		}
	}
	return a
}
