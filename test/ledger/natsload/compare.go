package natsload

import (
	"fmt"

	"github.com/holdfast-dev/holdfast/test/ledger"
)

// Message is one message at one sequence of a stream.
type Message struct {
	Sequence uint64
	ID       string
}

// Delivery is one message as the consumer got it.
type Delivery struct {
	Message
	// Confirmed says that the server answered the acknowledgement of this delivery.
	Confirmed bool
}

// History is everything known about one stream.
type History struct {
	Stream string
	// Acknowledged are the messages with the sequence of their acknowledgement, in the order they were sent.
	Acknowledged []Message
	// Unresolved are the ids that were sent and never acknowledged.
	Unresolved []string
	// Stored is what the stream holds at the end, by rising sequence.
	Stored []Message
	// Delivered is what the consumer got, in the order of arrival.
	Delivered []Delivery
}

// Compare holds what was acknowledged against what the stream holds and what the consumer saw. It returns every
// fault, by sequence, and how many deliveries were faultless redeliveries.
func Compare(h History) (faults []ledger.Finding, redelivered int) {
	f := findings{stream: h.Stream}
	seen, redelivered := f.checkDeliveries(h)

	stored := f.checkCopies(h, h.Stored)
	delivered := f.checkCopies(h, seen)
	for _, m := range h.Acknowledged {
		switch {
		case !stored[m.ID] && delivered[m.ID]:
			f.add(ledger.Lost, m, "acknowledged, not in the stream; the consumer had seen it")
		case !stored[m.ID]:
			f.add(ledger.Lost, m, "acknowledged, not in the stream; the consumer had not seen it")
		case !delivered[m.ID]:
			f.add(ledger.Unseen, m, "acknowledged and in the stream; the consumer has not seen it")
		}
	}
	f.checkRising(h.Acknowledged, "acknowledged")
	f.checkRising(seen, "delivered")

	return f.Sorted(), redelivered
}

type findings struct {
	ledger.Findings
	stream string
}

func (f *findings) add(kind ledger.Kind, m Message, detail string) {
	f.Add(ledger.Finding{Kind: kind, Stream: f.stream, Sequence: m.Sequence, ID: m.ID, Count: 1, Detail: detail})
}

// checkDeliveries tells redeliveries from deliveries that must not have come, and returns the first delivery of
// each message.
func (f *findings) checkDeliveries(h History) (seen []Message, redelivered int) {
	confirmed := map[Message]bool{}
	var highest uint64
	for _, d := range h.Delivered {
		wasConfirmed, again := confirmed[d.Message]
		switch {
		case !again:
			seen = append(seen, d.Message)
		case wasConfirmed && d.Sequence < highest:
			f.add(ledger.Doubled, d.Message, fmt.Sprintf("delivered again after its acknowledgement was confirmed and sequence %d was delivered", highest))
		default:
			redelivered++
		}
		confirmed[d.Message] = wasConfirmed || d.Confirmed
		highest = max(highest, d.Sequence)
	}
	return seen, redelivered
}

// checkCopies looks at one view of the stream: which ids are in it, at which sequences. Returns the ids in it.
func (f *findings) checkCopies(h History, view []Message) map[string]bool {
	promised := make(map[string]uint64, len(h.Acknowledged)+len(h.Unresolved))
	for _, id := range h.Unresolved {
		promised[id] = 0
	}
	for _, m := range h.Acknowledged {
		promised[m.ID] = m.Sequence
	}
	in := make(map[string]bool, len(view))
	inPlace := map[string]bool{}
	for _, m := range view {
		if promised[m.ID] == m.Sequence {
			inPlace[m.ID] = true
		}
	}
	for _, m := range view {
		sequence, sent := promised[m.ID]
		switch {
		case !sent:
			f.add(ledger.Foreign, m, "never sent by this ledger")
		case sequence == m.Sequence:
		case inPlace[m.ID] || in[m.ID]:
			f.add(ledger.Doubled, m, "another copy of the same message")
		case sequence != 0:
			f.add(ledger.OutOfOrder, m, fmt.Sprintf("was acknowledged as sequence %d", sequence))
		}
		in[m.ID] = true
	}
	return in
}

// checkRising reports each message whose sequence is not above all before it.
func (f *findings) checkRising(messages []Message, what string) {
	var highest uint64
	for _, m := range messages {
		if m.Sequence <= highest {
			f.add(ledger.OutOfOrder, m, fmt.Sprintf("%s after sequence %d", what, highest))
		}
		highest = max(highest, m.Sequence)
	}
}

// Tally is what one writer did to one counter.
type Tally struct {
	Bucket, Counter, Writer string
	// Increments are those that succeeded, by a reply or by reading back.
	Increments uint64
	// Unresolved says that the last write was sent and its fate is not known.
	Unresolved bool
	// Stored is the writer's number in the counter at the end.
	Stored uint64
}

// CompareTally returns at most one finding, with the number of increments that are missing or too many.
func CompareTally(t Tally) []ledger.Finding {
	most := t.Increments
	if t.Unresolved {
		most++
	}
	finding := ledger.Finding{
		Stream: t.Bucket, ID: t.Counter + "/" + t.Writer,
		Detail: fmt.Sprintf("%d increments succeeded, the counter says %d", t.Increments, t.Stored),
	}
	switch {
	case t.Stored < t.Increments:
		finding.Kind, finding.Count = ledger.Lost, t.Increments-t.Stored
	case t.Stored > most:
		finding.Kind, finding.Count = ledger.Doubled, t.Stored-most
	default:
		return nil
	}
	return []ledger.Finding{finding}
}
