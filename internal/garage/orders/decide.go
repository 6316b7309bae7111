package orders

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-dev/holdfast/api/garage/v1beta2"
	"github.com/holdfast-dev/holdfast/internal/garage/layout"
	"github.com/holdfast-dev/holdfast/internal/kit/words"
)

// A Step is what is done next about an order.
type Step string

const (
	// Rest is to do nothing.
	Rest Step = ""
	// Record is to write the status, and no more.
	Record Step = "Record"
	// CarryOut is to write the status, and then to tell the members.
	CarryOut Step = "CarryOut"
	// Consume is to write the status, and then to take the annotation away.
	Consume Step = "Consume"
)

// Plan is what to do now.
type Plan struct {
	Step Step
	// Order is the one that the step is about.
	Order Order
	// Last is what the status is to say before the step; nil to leave it.
	Last *v1beta2.LastOperation
}

// Decide says what to do about the first order, or about the one that was begun.
func Decide(w World, now time.Time) Plan {
	order, given := find(w.Annotations, w.Last)
	last := w.Last
	switch {
	case open(last) && (!given || !order.is(last)):
		return Plan{Step: Record, Last: withdrawn(last)}
	case !given:
		return Plan{}
	case open(last):
		return w.resume(order)
	}
	begun := &v1beta2.LastOperation{Type: order.Type, Value: &order.Value, TriggeredAt: metav1.NewTime(now.Truncate(time.Second))}
	why := order.Bad
	if why == "" {
		why = w.refuses(order)
	}
	switch {
	case why != "":
		return Plan{Step: Consume, Order: order, Last: Ended(begun, why)}
	case order.Layout == nil:
		return Plan{Step: CarryOut, Order: order, Last: begun}
	}
	return judged(order, begun, w.Layout(*order.Layout))
}

// open says that an order was begun whose annotation was not taken away yet.
func open(last *v1beta2.LastOperation) bool {
	return last != nil && (last.Consumed == nil || !*last.Consumed)
}

// resume goes on with an order that was begun.
func (w World) resume(order Order) Plan {
	switch {
	case w.Last.Succeeded != nil:
		return Plan{Step: Consume, Order: order, Last: w.Last}
	case order.Layout != nil:
		about := *order.Layout
		about.Hash = w.Last.Hash
		return judged(order, w.Last, w.Layout(about))
	case order.once():
		return Plan{Step: Consume, Order: order, Last: Ended(w.Last, "the controller was interrupted, and some nodes may have done it: look, and set the annotation again if they have not")}
	}
	if why := w.refuses(order); why != "" {
		return Plan{Step: Consume, Order: order, Last: Ended(w.Last, "the controller was interrupted before it was done, and now: "+why)}
	}
	return Plan{Step: CarryOut, Order: order, Last: w.Last}
}

// judged is what becomes of an order about the layout.
func judged(order Order, last *v1beta2.LastOperation, verdict layout.Verdict) Plan {
	switch {
	case verdict.Done:
		return Plan{Step: Consume, Order: order, Last: Ended(last, "")}
	case verdict.Refused != "":
		return Plan{Step: Consume, Order: order, Last: Ended(last, verdict.Refused)}
	case last.Hash == verdict.Hash:
		return Plan{Order: order, Last: last} // the layout's writer is at it
	}
	last = last.DeepCopy()
	last.Hash = verdict.Hash
	return Plan{Step: Record, Order: order, Last: last}
}

// refuses says why members are not told.
func (w World) refuses(order Order) string {
	var silent []string
	for _, member := range w.Members {
		if member.Silent != "" {
			silent = append(silent, member.Name+": "+member.Silent)
		}
	}
	switch {
	case order.Layout != nil:
		return ""
	case len(silent) == len(w.Members):
		return "no node answers"
	case order.Type == typeRepair && len(w.Draining) > 0:
		return words.Names(w.Draining) + " is being taken away, which counts the repairs that are its own"
	case order.Peers == nil && len(silent) > 0:
		return "it is for every node: " + words.Reasons(silent)
	}
	return ""
}

// Ended is the order with how it ended: why it failed, or empty for success.
func Ended(last *v1beta2.LastOperation, why string) *v1beta2.LastOperation {
	ended := last.DeepCopy()
	ended.Succeeded, ended.Error = new(why == ""), words.UpTo(why, 1024)
	return ended
}

// withdrawn is an order whose annotation somebody has taken away.
func withdrawn(last *v1beta2.LastOperation) *v1beta2.LastOperation {
	ended := last.DeepCopy()
	if ended.Succeeded == nil {
		ended = Ended(last, fmt.Sprintf("the annotation %s was taken away or changed before it was done", last.Type))
	}
	ended.Consumed = new(true)
	return ended
}
