package layout

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/holdfast-dev/holdfast/internal/garage/adminapi"
	"github.com/holdfast-dev/holdfast/internal/kit/gates"
	"github.com/holdfast-dev/holdfast/internal/kit/words"
)

// An OrderKind is what a person may ask of the layout.
type OrderKind string

const (
	// OrderRevert drops all that is staged, whoever staged it.
	OrderRevert OrderKind = "Revert"
	// OrderForce makes the first layout of the nodes that are there, without those that are still to come.
	OrderForce OrderKind = "Force"
	// OrderSkip has the layout go on without the word of nodes that are down.
	OrderSkip OrderKind = "Skip"
)

// An Order is what a person has asked for.
type Order struct {
	Kind OrderKind
	// AllowMissing is the version for which data may be missing, of OrderSkip; 0 for none.
	AllowMissing uint64
	// Hash is of what it was taken up for, by which it is carried out on that and on nothing else; empty before.
	Hash string
}

// A Verdict is what may become of an order as things are.
type Verdict struct {
	// Refused is why it cannot be carried out, or not any more; empty otherwise.
	Refused string
	// Done says that there is nothing left to do for it.
	Done bool
	// Hash is of what it would be carried out on.
	Hash string
}

// Judge says what may become of the order in the World.
func Judge(w World) Verdict {
	v := view{World: w, writer: w.chooseWriter()}
	if v.writer == nil {
		return w.Order.unless("no node answers")
	}
	at, _ := v.writer.View.Get() // known: it was chosen for that
	v.at = at.Layout
	v.change, v.reason = w.next(v.at)
	judge := map[OrderKind]func(view) Verdict{OrderRevert: judgeRevert, OrderForce: judgeForce, OrderSkip: judgeSkip}[w.Order.Kind]
	return judge(v)
}

// unless refuses an order that was not taken up yet. One that was is not given up for what may pass.
func (o *Order) unless(why string) Verdict {
	if o.Hash != "" {
		return Verdict{Hash: o.Hash}
	}
	return Verdict{Refused: why}
}

// on is the verdict for an order that would be carried out on what has that hash.
func (o *Order) on(hash, moved string) Verdict {
	if o.Hash != "" && o.Hash != hash {
		return Verdict{Refused: moved}
	}
	return Verdict{Hash: hash}
}

// orders says that a person has ordered just that.
func (w World) orders(kind OrderKind, hash string) bool {
	return w.Order != nil && w.Order.Kind == kind && w.Order.Hash != "" && w.Order.Hash == hash
}

func judgeRevert(v view) Verdict {
	staged := v.stagedNow()
	if empty(staged) {
		return Verdict{Done: true}
	}
	if same(staged, v.change) {
		return Verdict{Refused: "what is staged is what the spec asks for, and would be staged again"}
	}
	if closed := gates.Closed(v, checks[:3]); len(closed) > 0 {
		return v.Order.unless(closed[0].Why)
	}
	return v.Order.on(Hash(staged), "what is staged is not what was to be dropped any more: "+words.Names(describe(staged)))
}

func judgeForce(v view) Verdict {
	if len(v.at.Roles) > 0 {
		if v.Order.Hash != "" {
			return Verdict{Done: true}
		}
		return Verdict{Refused: "there is a layout already, and only the first one waits for nodes that are still to come"}
	}
	hash := Hash(v.change)
	forced := v
	forced.Order = &Order{Kind: OrderForce, Hash: hash}
	if closed := gates.Closed(forced, checks); len(closed) > 0 {
		return v.Order.unless(closed[0].Why)
	}
	if j := v.Journal; j != nil && j.Version == v.at.Version+1 && j.Hash == hash && j.Refused != "" {
		return Verdict{Refused: j.Refused}
	}
	return v.Order.on(hash, "it is not the nodes any more of which the layout was to be made")
}

// judgeSkip refuses while a node could come back that would be skipped, unless the order names the version.
func judgeSkip(v view) Verdict {
	allow, current := v.Order.AllowMissing, v.at.Version
	switch {
	case allow != 0 && allow != current:
		return Verdict{Refused: fmt.Sprintf("data may be missing for version %d, and the layout's is %d", allow, current)}
	case len(v.behind()) == 0 && v.Order.Hash != "":
		return Verdict{Done: true}
	case len(v.behind()) == 0:
		return Verdict{Refused: "the layout waits for no node that is down"}
	}
	if why := v.unskippable(); why != "" {
		return v.Order.unless(why)
	}
	return v.Order.on(v.skipHash(), "it is not the nodes any more that were to be skipped")
}

// unskippable says why nobody may be skipped as things are.
func (v view) unskippable() string {
	dead := v.dead()
	for _, check := range []func(view, map[adminapi.NodeID]string) string{differently, connected, returning} {
		if why := check(v, dead); why != "" {
			return why
		}
	}
	return ""
}

// behind are the nodes whose trackers the order would raise.
func (v view) behind() []adminapi.NodeID {
	said, _ := v.writer.View.Get() // known: it was chosen for that
	dead := v.dead()
	var found []adminapi.NodeID
	for id, tracker := range said.History.Trackers {
		_, down := dead[id]
		late := tracker.Ack < v.at.Version
		if v.Order.AllowMissing != 0 && (late || tracker.Sync < v.at.Version) || down && late {
			found = append(found, id)
		}
	}
	slices.Sort(found)
	return found
}

// dead are the nodes of active layouts that the writer sees down, by what to call them.
func (v view) dead() map[adminapi.NodeID]string {
	said, _ := v.writer.View.Get() // known: it was chosen for that
	found := map[adminapi.NodeID]string{}
	for id := range said.History.Trackers {
		if !sees(said, id) {
			found[id] = fmt.Sprintf("node %.16s", id)
		}
	}
	for _, node := range v.Nodes {
		if _, is := found[node.ID]; is {
			found[node.ID] = node.Name
		}
	}
	return found
}

func sees(said View, id adminapi.NodeID) bool {
	return slices.ContainsFunc(said.Status.Nodes, func(n adminapi.NodeStatus) bool { return n.ID == id && n.Up })
}

// differently says which member shows another layout, or says nothing although it is not known to be dead: what one of them alone
// takes for dead may be on the other side of a broken line.
func differently(v view, dead map[adminapi.NodeID]string) string {
	for _, node := range v.Nodes {
		if _, down := dead[node.ID]; down || node.External || !hasRole(v.at, node.ID) {
			continue
		}
		said, known := node.View.Get()
		switch {
		case !known:
			return node.Name + ": " + node.View.Why()
		case said.Layout.Version != v.at.Version || !SameRoles(said.Layout, v.at):
			return fmt.Sprintf("%s and %s show different layouts", node.Name, v.writer.Name)
		}
	}
	return ""
}

// connected says which member sees a node that others take for dead.
func connected(v view, dead map[adminapi.NodeID]string) string {
	for _, id := range slices.Sorted(maps.Keys(dead)) {
		for _, node := range v.Nodes {
			said, known := node.View.Get()
			switch {
			case known && node.ID == id:
				return dead[id] + " answers, and the others do not see it"
			case known && sees(said, id):
				return fmt.Sprintf("%s sees %s, which %s does not", node.Name, dead[id], v.writer.Name)
			}
		}
	}
	return ""
}

// returning says which dead node could come back, or is one that the layout needs the word of whatever is skipped.
func returning(v view, dead map[adminapi.NodeID]string) string {
	if v.Order.AllowMissing != 0 {
		return ""
	}
	const anyway = "; a person who knows that it does not may set garage.rajsingh.info/allow-missing-data to the layout's version as well"
	for _, id := range slices.Sorted(maps.Keys(dead)) {
		if hasRole(v.at, id) {
			return dead[id] + " is in the layout that is current, which waits for it whoever is skipped: its role has to go first" + anyway
		}
		for _, node := range v.Nodes {
			if node.ID == id && node.Returns != "" {
				return fmt.Sprintf("%s could come back: %s%s", node.Name, node.Returns, anyway)
			}
		}
	}
	return ""
}

// skipHash names a skip by its version, what may be missing and the nodes.
func (v view) skipHash() string {
	content, err := json.Marshal([]any{v.at.Version, v.Order.AllowMissing, v.behind(), slices.Sorted(maps.Keys(v.dead()))})
	if err != nil { // of strings and numbers
		panic(err)
	}
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}

// skip is the action of an order that was taken up, nil when there is none that can be carried out as things are.
func (v view) skip() *Action {
	if v.Order == nil || v.Order.Kind != OrderSkip {
		return nil
	}
	hash, late := v.skipHash(), v.behind()
	if !v.orders(OrderSkip, hash) || len(late) == 0 || v.unskippable() != "" {
		return nil
	}
	var names []string
	for _, id := range late {
		names = append(names, fmt.Sprintf("%.16s", id))
	}
	return &Action{
		Kind: Skip, Writer: v.writer.ID, Version: v.at.Version, Hash: hash, AllowMissing: v.Order.AllowMissing != 0,
		For: "it goes on without the word of " + words.Names(names),
	}
}
