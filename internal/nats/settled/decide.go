package settled

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/holdfast-dev/holdfast/api/nats/cluster/v1beta1"
	"github.com/holdfast-dev/holdfast/internal/kit/words"
)

// Verdict is the judgement of one observation.
type Verdict struct {
	// Known is false when no server answered; nothing else is to be read into the verdict then.
	Known bool
	// Settled is true when no server is silent, JetStream is up on every server, and no group is unsettled.
	Settled bool
	// Reason is a reason of the condition Settled (v1beta1), the worst that holds.
	Reason string
	// Message says it in a sentence of bounded length that changes only when the facts do.
	Message string
	// Silent names the servers that did not answer, in the order of the targets.
	Silent []string
	// Down names the servers that answer and on which JetStream is not up, in the order of the targets.
	Down []string
	// Groups holds every group that is not as it should be, worst first, then by kind and name.
	Groups []Unsettled
	// MetaLeader names the server that leads the meta group, empty when no target does.
	MetaLeader string
	// OutsideMeta names the servers that answer but that the meta leader does not list as members, in the order of the
	// targets. It is empty while the meta group has no leader. It does not bear on Settled, which speaks of the members
	// of groups; the gate of a rollout asks for both (nats-operator v1 design, 4.4 Rollout).
	OutsideMeta []string
	// Servers holds what each answering server reported, by name.
	Servers map[string]ServerFacts
}

// Unsettled is one group that is not as it should be.
type Unsettled struct {
	// Group is "meta", "stream ACCOUNT/STREAM" or "consumer ACCOUNT/STREAM/CONSUMER".
	Group string
	// Reason is GroupsLeaderless, MembersOffline or GroupsCatchingUp (v1beta1).
	Reason string
	// Servers names the members that are offline or not current, or of a group without a leader those that hold it.
	Servers []string
}

// severity orders the reasons of a group, worst first.
var severity = []string{v1beta1.ReasonGroupsLeaderless, v1beta1.ReasonMembersOffline, v1beta1.ReasonGroupsCatchingUp}

// Judge says whether the cluster was Settled when it was observed.
func Judge(o Observation) Verdict {
	v := Verdict{Servers: make(map[string]ServerFacts, len(o.Servers))}
	answers := make([]answering, 0, len(o.Servers))
	for _, server := range o.Servers {
		answer, ok := server.Answer.Get()
		if !ok {
			v.Silent = append(v.Silent, server.Name)
			continue
		}
		v.Servers[server.Name] = answer.ServerFacts
		answers = append(answers, answering{name: server.Name, Answer: answer})
	}
	if len(answers) == 0 {
		v.Reason, v.Message = v1beta1.ReasonObservationFailed, "no server answers"
		return v
	}
	v.Known = true
	order := newRoster(o.Servers)
	if !o.JetStream {
		v.conclude(order, "every server answers")
		return v
	}
	// A target alone, without a meta group, is a standalone server: there is no Raft that could be unsettled.
	clustered := len(o.Servers) > 1 || answers[0].clustered()
	for _, answer := range answers {
		if !answer.JetStreamUp || (clustered && !answer.clustered()) {
			v.Down = append(v.Down, answer.name)
		}
	}
	if !clustered {
		v.conclude(order, "the server answers and its JetStream is up")
		return v
	}
	v.judgeGroups(order, answers)
	v.conclude(order, "every Raft group has a leader and every member is current")
	return v
}

// NotObserved is the verdict where nobody could be asked, and why.
func NotObserved(why string) Verdict {
	return Verdict{Reason: v1beta1.ReasonObservationFailed, Message: why}
}

// SettledApart says whether all is well apart from one server: its silence, its JetStream and its own memberships are
// forgiven. A group without a leader never is, nor an observation that failed. With an empty name it is Settled.
func (v *Verdict) SettledApart(name string) bool {
	other := func(server string) bool { return server != name }
	if !v.Known || slices.ContainsFunc(v.Silent, other) || slices.ContainsFunc(v.Down, other) {
		return false
	}
	return !slices.ContainsFunc(v.Groups, func(group Unsettled) bool {
		return group.Reason == v1beta1.ReasonGroupsLeaderless || slices.ContainsFunc(group.Servers, other)
	})
}

// answering is a server that is not silent.
type answering struct {
	name string
	Answer
}

// clustered says whether the server takes part in a meta group, of which it reports even when it knows no leader.
func (a answering) clustered() bool {
	return slices.ContainsFunc(a.Reports, func(r Report) bool { return r.Group == Group{} })
}

// conclude fills in what the verdict comes to: the worst of what was found, or else the sentence for a settled cluster.
func (v *Verdict) conclude(order roster, settled string) {
	v.Reason, v.Message = v.worst(order)
	if v.Reason == "" {
		v.Settled, v.Reason, v.Message = true, v1beta1.ReasonAllGroupsCurrent, settled
	}
}

// worst is the worst of what was found, or no reason.
func (v *Verdict) worst(order roster) (reason, message string) {
	if len(v.Silent) == 1 {
		return v1beta1.ReasonServersSilent, v.Silent[0] + " does not answer"
	}
	if len(v.Silent) > 0 {
		return v1beta1.ReasonServersSilent, words.Names(v.Silent) + " do not answer"
	}
	if len(v.Groups) > 0 && v.Groups[0].Reason == v1beta1.ReasonGroupsLeaderless {
		return v1beta1.ReasonGroupsLeaderless, v.sentence(order)
	}
	if len(v.Down) > 0 {
		// To its groups, a server without JetStream is offline.
		return v1beta1.ReasonMembersOffline, "JetStream is not up on " + words.Names(v.Down)
	}
	if len(v.Groups) > 0 {
		return v.Groups[0].Reason, v.sentence(order)
	}
	return "", ""
}

// sentence speaks of all groups that have the worst reason.
func (v *Verdict) sentence(order roster) string {
	reason := v.Groups[0].Reason
	count := 0
	servers := map[string]bool{}
	for _, group := range v.Groups {
		if group.Reason == reason {
			count++
			for _, name := range group.Servers {
				servers[name] = true
			}
		}
	}
	groups := fmt.Sprintf("%d Raft groups have", count)
	if count == 1 {
		groups = "1 Raft group has"
	}
	on := words.Names(order.sorted(slices.Collect(maps.Keys(servers))))
	switch reason {
	case v1beta1.ReasonGroupsLeaderless:
		return groups + " no leader"
	case v1beta1.ReasonMembersOffline:
		return groups + " a member offline on " + on
	default:
		return groups + " a member on " + on + " that is not current"
	}
}

// roster maps the name of each target to its place among them.
type roster map[string]int

func newRoster(servers []Server) roster {
	r := make(roster, len(servers))
	for i, server := range servers {
		r[server.Name] = i
	}
	return r
}

// sorted puts names into the order of the targets, and others behind them by name. It sorts in place.
func (r roster) sorted(names []string) []string {
	place := func(name string) int {
		if i, ok := r[name]; ok {
			return i
		}
		return len(r)
	}
	slices.SortFunc(names, func(a, b string) int {
		return cmp.Or(cmp.Compare(place(a), place(b)), cmp.Compare(a, b))
	})
	return names
}

// merged is one group after all servers have been heard.
type merged struct {
	Report           // the leader's; a holder's while nobody leads
	leader  string   // the server that claims to lead, if there is just one
	claims  int      // how many servers claim to lead
	holders []string // the servers that hold a copy, in the order of the targets
}

// merge brings together what the servers say about the same groups.
func merge(answers []answering) []merged {
	var groups []merged
	at := map[Group]int{}
	for _, answer := range answers {
		for _, report := range answer.Reports {
			i, known := at[report.Group]
			if !known {
				i = len(groups)
				at[report.Group] = i
				groups = append(groups, merged{Report: report})
			}
			group := &groups[i]
			group.holders = append(group.holders, answer.name)
			if report.claimedBy(answer.name) {
				group.Report, group.leader = report, answer.name
				group.claims++
			}
		}
	}
	return groups
}

// claimedBy says whether the server whose report this is leads the group. One that has just started names itself for
// every copy on its disk, before it runs a Raft node; without a node that is true of a group of one only.
func (r Report) claimedBy(name string) bool {
	return r.Leader == name && (r.Raft || r.Copies == 1)
}

// judgeGroups fills in what is unsettled among the groups, and what the meta group says about the servers.
func (v *Verdict) judgeGroups(order roster, answers []answering) {
	for _, group := range merge(answers) {
		if group.Group == (Group{}) {
			// A supercluster has one meta group. The members that are not targets are another NATS cluster's to judge.
			group.Members = slices.DeleteFunc(slices.Clone(group.Members), func(m Member) bool {
				_, ours := order[m.Name]
				return !ours
			})
			v.readMeta(group, answers)
		}
		if reason, servers := group.judge(); reason != "" {
			v.Groups = append(v.Groups, Unsettled{Group: group.title(), Reason: reason, Servers: order.sorted(servers)})
		}
	}
	slices.SortFunc(v.Groups, func(a, b Unsettled) int {
		return cmp.Or(
			cmp.Compare(slices.Index(severity, a.Reason), slices.Index(severity, b.Reason)),
			cmp.Compare(kind(a.Group), kind(b.Group)),
			cmp.Compare(a.Group, b.Group),
		)
	})
}

// readMeta fills in who leads the meta group and who answers without being a member of it.
func (v *Verdict) readMeta(meta merged, answers []answering) {
	if meta.claims != 1 {
		return
	}
	v.MetaLeader = meta.leader
	for _, answer := range answers {
		member := slices.ContainsFunc(meta.Members, func(m Member) bool { return m.Name == answer.name })
		if !member && answer.name != meta.leader {
			v.OutsideMeta = append(v.OutsideMeta, answer.name)
		}
	}
}

// judge returns the worst that holds of a group, with the servers concerned, or no reason. Two servers that claim a group
// leave it without a leader: which of them has lost it cannot be told from outside.
func (g merged) judge() (reason string, servers []string) {
	if g.claims != 1 {
		return v1beta1.ReasonGroupsLeaderless, g.holders
	}
	var offline, behind []string
	for _, member := range g.Members {
		if member.Name == g.leader {
			continue // current and online by definition
		}
		if member.Offline {
			offline = append(offline, member.Name)
		} else if !member.Current {
			behind = append(behind, member.Name)
		}
	}
	if len(offline) > 0 {
		return v1beta1.ReasonMembersOffline, offline
	}
	if len(behind) > 0 {
		return v1beta1.ReasonGroupsCatchingUp, behind
	}
	return "", nil
}

// kinds are the first words of titles, in the order in which groups of one reason are listed.
var kinds = []string{"meta", "stream", "consumer"}

// kind is the place of a title's first word among kinds.
func kind(title string) int {
	word, _, _ := strings.Cut(title, " ")
	return slices.Index(kinds, word)
}

// title is how a verdict names the group.
func (r Report) title() string {
	if r.Group == (Group{}) {
		return kinds[0]
	}
	stream := r.AccountName + "/" + r.Group.Stream
	if r.Group.Consumer == "" {
		return kinds[1] + " " + stream
	}
	return kinds[2] + " " + stream + "/" + r.Group.Consumer
}
