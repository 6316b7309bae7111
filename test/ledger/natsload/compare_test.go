package natsload

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/holdfast-dev/holdfast/test/ledger"
)

// at names a message by its number: message 3 at sequence 7 is at(7, "3").
func at(sequence uint64, id string) Message { return Message{Sequence: sequence, ID: id} }

func got(messages ...Message) []Delivery {
	var list []Delivery
	for _, m := range messages {
		list = append(list, Delivery{Message: m, Confirmed: true})
	}
	return list
}

func found(kind ledger.Kind, m Message) ledger.Finding {
	return ledger.Finding{Kind: kind, Stream: "s", Sequence: m.Sequence, ID: m.ID, Count: 1}
}

var withoutDetail = cmpopts.IgnoreFields(ledger.Finding{}, "Detail")

var (
	one, two, three = at(1, "a"), at(2, "b"), at(3, "c")
	all             = []Message{one, two, three}
	unconfirmed     = Delivery{Message: two}
)

var compareCases = map[string]struct {
	history     History
	want        []ledger.Finding
	redelivered int
}{
	"nothing happened": {},
	"all there": {
		history: History{Acknowledged: all, Stored: all, Delivered: got(all...)},
	},
	"sequences may have holes": {
		history: History{Acknowledged: []Message{one, at(9, "b")}, Stored: []Message{one, at(9, "b")}, Delivered: got(one, at(9, "b"))},
	},
	"gone after it was seen": {
		history: History{Acknowledged: all, Stored: []Message{one, three}, Delivered: got(all...)},
		want:    []ledger.Finding{found(ledger.Lost, two)},
	},
	"gone before it was seen is one finding": {
		history: History{Acknowledged: all, Stored: []Message{one, three}, Delivered: got(one, three)},
		want:    []ledger.Finding{found(ledger.Lost, two)},
	},
	"whole stream gone": {
		history: History{Acknowledged: all, Delivered: got(one)},
		want:    []ledger.Finding{found(ledger.Lost, one), found(ledger.Lost, two), found(ledger.Lost, three)},
	},
	"stored and not delivered": {
		history: History{Acknowledged: all, Stored: all, Delivered: got(one, two)},
		want:    []ledger.Finding{found(ledger.Unseen, three)},
	},
	"second copy, seen by the consumer too, is one finding": {
		history: History{Acknowledged: all, Stored: append(all[:3:3], at(4, "b")), Delivered: got(one, two, three, at(4, "b"))},
		want:    []ledger.Finding{found(ledger.Doubled, at(4, "b"))},
	},
	"the acknowledged copy is the original though it came second": {
		history: History{Acknowledged: []Message{at(2, "a")}, Stored: []Message{at(1, "a"), at(2, "a")}, Delivered: got(at(1, "a"), at(2, "a"))},
		want:    []ledger.Finding{found(ledger.Doubled, at(1, "a"))},
	},
	"three copies are two doubled": {
		history: History{Acknowledged: []Message{one}, Stored: []Message{one, at(2, "a"), at(3, "a")}, Delivered: got(one)},
		want:    []ledger.Finding{found(ledger.Doubled, at(2, "a")), found(ledger.Doubled, at(3, "a"))},
	},
	"found at another sequence": {
		history: History{Acknowledged: []Message{one}, Stored: []Message{at(5, "a")}, Delivered: got(at(5, "a"))},
		want:    []ledger.Finding{found(ledger.OutOfOrder, at(5, "a"))},
	},
	"found twice, never where it was acknowledged": {
		history: History{Acknowledged: []Message{one}, Stored: []Message{at(5, "a"), at(6, "a")}, Delivered: got(at(5, "a"))},
		want:    []ledger.Finding{found(ledger.OutOfOrder, at(5, "a")), found(ledger.Doubled, at(6, "a"))},
	},
	"acknowledged below an earlier one": {
		history: History{Acknowledged: []Message{at(2, "a"), at(1, "b")}, Stored: []Message{at(1, "b"), at(2, "a")}, Delivered: got(at(1, "b"), at(2, "a"))},
		want:    []ledger.Finding{found(ledger.OutOfOrder, at(1, "b"))},
	},
	"delivered late": {
		history: History{Acknowledged: all, Stored: all, Delivered: got(one, three, two)},
		want:    []ledger.Finding{found(ledger.OutOfOrder, two)},
	},
	"one sequence delivered as two messages": {
		history: History{Acknowledged: all, Stored: all, Delivered: got(one, two, at(2, "a"), three)},
		want:    []ledger.Finding{found(ledger.Doubled, at(2, "a")), found(ledger.OutOfOrder, at(2, "a"))},
	},
	"a stranger in a message's place": {
		history: History{Acknowledged: all, Stored: []Message{one, at(2, "x"), three}, Delivered: got(one, at(2, "x"), three)},
		want:    []ledger.Finding{found(ledger.Lost, two), found(ledger.Foreign, at(2, "x"))},
	},
	"redelivered after an unconfirmed acknowledgement": {
		history:     History{Acknowledged: all, Stored: all, Delivered: []Delivery{{Message: one}, unconfirmed, unconfirmed, {Message: three}, unconfirmed}},
		redelivered: 2,
	},
	"redelivered across a confirmed acknowledgement, before any later one": {
		history:     History{Acknowledged: all, Stored: all, Delivered: got(one, one, two, three)},
		redelivered: 1,
	},
	"the consumer went back behind a confirmed acknowledgement": {
		history: History{Acknowledged: all, Stored: all, Delivered: got(one, two, three, two)},
		want:    []ledger.Finding{found(ledger.Doubled, two)},
	},
	"the consumer went back once it was confirmed at the second time": {
		history:     History{Acknowledged: all, Stored: all, Delivered: append([]Delivery{{Message: one}, unconfirmed, {Message: two, Confirmed: true}}, append(got(three), unconfirmed, unconfirmed)...)},
		want:        []ledger.Finding{found(ledger.Doubled, two)},
		redelivered: 1,
	},
	"unresolved and absent": {
		history: History{Acknowledged: []Message{one}, Unresolved: []string{"b"}, Stored: []Message{one}, Delivered: got(one)},
	},
	"unresolved and there once": {
		history: History{Acknowledged: []Message{one}, Unresolved: []string{"b"}, Stored: []Message{one, two}, Delivered: got(one, two)},
	},
	"unresolved and there twice": {
		history: History{Acknowledged: []Message{one}, Unresolved: []string{"b"}, Stored: []Message{one, two, at(3, "b")}, Delivered: got(one)},
		want:    []ledger.Finding{found(ledger.Doubled, at(3, "b"))},
	},
	"never sent": {
		history: History{Acknowledged: []Message{one}, Stored: []Message{one, at(2, "x")}, Delivered: got(one, at(2, "x"))},
		want:    []ledger.Finding{found(ledger.Foreign, at(2, "x"))},
	},
}

func TestCompare(t *testing.T) {
	for name, c := range compareCases {
		t.Run(name, func(t *testing.T) {
			c.history.Stream = "s"
			faults, redelivered := Compare(c.history)
			if diff := cmp.Diff(c.want, faults, withoutDetail); diff != "" {
				t.Errorf("findings (-want +got):\n%s", diff)
			}
			if redelivered != c.redelivered {
				t.Errorf("redelivered %d, want %d", redelivered, c.redelivered)
			}
		})
	}
}

func TestCompareJoinsWhatBothViewsSay(t *testing.T) {
	one, moved := at(1, "a"), at(5, "a")
	faults, _ := Compare(History{
		Acknowledged: []Message{at(6, "z"), one}, Stored: []Message{moved, at(6, "z")}, Delivered: got(at(6, "z"), moved),
	})
	var details []string
	for _, f := range faults {
		details = append(details, fmt.Sprint(f.Sequence, " ", f.Detail))
	}
	want := []string{"1 acknowledged after sequence 6", "5 was acknowledged as sequence 1; delivered after sequence 6"}
	if diff := cmp.Diff(want, details); diff != "" {
		t.Errorf("details (-want +got):\n%s", diff)
	}
}

// sound draws a history in which nothing went wrong: holes between sequences and redeliveries included.
func sound(t *rapid.T) History {
	h := History{Stream: "s"}
	var sequence uint64
	for n := range rapid.IntRange(2, 40).Draw(t, "messages") {
		sequence += rapid.Uint64Range(2, 5).Draw(t, "step")
		m := at(sequence, fmt.Sprint("m", n))
		h.Acknowledged = append(h.Acknowledged, m)
		h.Stored = append(h.Stored, m)
		for range rapid.IntRange(0, 2).Draw(t, "lost acknowledgements") {
			h.Delivered = append(h.Delivered, Delivery{Message: m})
		}
		h.Delivered = append(h.Delivered, Delivery{Message: m, Confirmed: true})
	}
	return h
}

// spoilers put one fault into a sound history and return what must be found.
var spoilers = map[string]func(*rapid.T, *History) []ledger.Finding{
	"none": func(*rapid.T, *History) []ledger.Finding { return nil },
	"deletion": func(t *rapid.T, h *History) []ledger.Finding {
		i := rapid.IntRange(0, len(h.Stored)-1).Draw(t, "which")
		gone := h.Stored[i]
		h.Stored = slices.Delete(h.Stored, i, i+1)
		if rapid.Bool().Draw(t, "before it was seen") {
			h.Delivered = slices.DeleteFunc(h.Delivered, func(d Delivery) bool { return d.Message == gone })
		}
		return []ledger.Finding{found(ledger.Lost, gone)}
	},
	"duplication": func(t *rapid.T, h *History) []ledger.Finding {
		i := rapid.IntRange(0, len(h.Stored)-1).Draw(t, "which")
		before := rapid.IntRange(0, len(h.Stored)-1).Draw(t, "before")
		second := at(h.Stored[before].Sequence-1, h.Stored[i].ID) // steps of two or more leave this one free
		position := slices.IndexFunc(h.Delivered, func(d Delivery) bool { return d.Message == h.Stored[before] })
		h.Stored = slices.Insert(h.Stored, before, second)
		if rapid.Bool().Draw(t, "seen") {
			h.Delivered = slices.Insert(h.Delivered, position, got(second)...)
		}
		return []ledger.Finding{found(ledger.Doubled, second)}
	},
	"two stored in each other's place": func(t *rapid.T, h *History) []ledger.Finding {
		i := rapid.IntRange(0, len(h.Stored)-2).Draw(t, "one")
		j := rapid.IntRange(i+1, len(h.Stored)-1).Draw(t, "other")
		h.Stored[i].ID, h.Stored[j].ID = h.Stored[j].ID, h.Stored[i].ID
		h.Delivered = got(h.Stored...)
		return []ledger.Finding{found(ledger.OutOfOrder, h.Stored[i]), found(ledger.OutOfOrder, h.Stored[j])}
	},
	"one delivered late": func(t *rapid.T, h *History) []ledger.Finding {
		h.Delivered = got(h.Stored...)
		i := rapid.IntRange(0, len(h.Stored)-2).Draw(t, "which")
		later := rapid.IntRange(i+1, len(h.Stored)-1).Draw(t, "after")
		late := h.Delivered[i]
		h.Delivered = slices.Insert(slices.Delete(h.Delivered, i, i+1), later, late)
		return []ledger.Finding{found(ledger.OutOfOrder, late.Message)}
	},
	"one delivered again long after": func(t *rapid.T, h *History) []ledger.Finding {
		i := rapid.IntRange(0, len(h.Stored)-2).Draw(t, "which")
		h.Delivered = append(h.Delivered, got(h.Stored[i])...)
		return []ledger.Finding{found(ledger.Doubled, h.Stored[i])}
	},
}

// Any one fault, put into any sound history, is reported and nothing else is.
func TestCompareFindsExactlyTheFault(t *testing.T) {
	for name, spoil := range spoilers {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				h := sound(t)
				want := spoil(t, &h)
				have, _ := Compare(h)
				if diff := cmp.Diff(want, have, withoutDetail, cmpopts.EquateEmpty()); diff != "" {
					t.Fatalf("findings (-want +got):\n%s", diff)
				}
			})
		})
	}
}

func TestCompareTally(t *testing.T) {
	cases := map[string]struct {
		tally Tally
		kind  ledger.Kind
		count uint64
	}{
		"equal":                         {tally: Tally{Increments: 5, Stored: 5}},
		"two below":                     {tally: Tally{Increments: 5, Stored: 3}, kind: ledger.Lost, count: 2},
		"one above":                     {tally: Tally{Increments: 5, Stored: 6}, kind: ledger.Doubled, count: 1},
		"unresolved, applied":           {tally: Tally{Increments: 5, Stored: 6, Unresolved: true}},
		"unresolved, not applied":       {tally: Tally{Increments: 5, Stored: 5, Unresolved: true}},
		"unresolved, applied too often": {tally: Tally{Increments: 5, Stored: 8, Unresolved: true}, kind: ledger.Doubled, count: 2},
		"unresolved, one below":         {tally: Tally{Increments: 5, Stored: 4, Unresolved: true}, kind: ledger.Lost, count: 1},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			c.tally.Bucket, c.tally.Counter, c.tally.Writer = "b", "c", "w"
			var want []ledger.Finding
			if c.kind != "" {
				want = []ledger.Finding{{Kind: c.kind, Stream: "b", ID: "c/w", Count: c.count}}
			}
			if diff := cmp.Diff(want, CompareTally(c.tally), withoutDetail); diff != "" {
				t.Errorf("findings (-want +got):\n%s", diff)
			}
		})
	}
}
