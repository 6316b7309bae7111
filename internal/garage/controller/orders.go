package controller

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/holdfast-dev/holdfast/api/garage/v1beta2"
	"github.com/holdfast-dev/holdfast/internal/garage/facts"
	"github.com/holdfast-dev/holdfast/internal/garage/layout"
	"github.com/holdfast-dev/holdfast/internal/garage/orders"
	"github.com/holdfast-dev/holdfast/internal/kit/events"
	"github.com/holdfast-dev/holdfast/internal/kit/outcome"
)

// followOrders does what people ask for by annotation, one order at a time.
func (p *pass) followOrders(ctx context.Context) outcome.Outcome {
	w := p.ordersWorld()
	plan := orders.Decide(w, p.Clock.Now())
	if plan.Step == orders.Rest {
		return outcome.Continue()
	}
	p.report.Operation = plan.Last
	if err := p.writeStatus(ctx); err != nil { // before anything is done
		return outcome.Failed(err)
	}
	if plan.Step == orders.Record {
		return outcome.Retry(whenBusy/4, "an order was taken up, or given up")
	}
	if plan.Step == orders.CarryOut {
		if !p.unchanged(ctx) { // what was begun before may have ended since
			return outcome.Retry(whenBusy/4, "the GarageCluster was changed meanwhile")
		}
		of := func(name string) (orders.API, error) {
			node, _ := p.nodes.Get(name) // it has said something
			return p.api(ctx, node)
		}
		why := ""
		if err := orders.Tell(ctx, of, plan.Order, w.Answering()); err != nil {
			why = err.Error()
		}
		p.report.Operation = orders.Ended(plan.Last, why)
		if err := p.writeStatus(ctx); err != nil {
			return outcome.Failed(err)
		}
	}
	if err := orders.TakeAway(ctx, p.Client, p.cluster, plan.Order); err != nil {
		return outcome.Failed(err)
	}
	p.tellOfOrder(p.report.Operation)
	p.report.Operation = p.report.Operation.DeepCopy()
	p.report.Operation.Consumed = new(true)
	return outcome.Retry(whenBusy/4, "an order was followed")
}

func (p *pass) tellOfOrder(last *v1beta2.LastOperation) {
	note := fmt.Sprintf("%s: %s", last.Type, *last.Value)
	if *last.Succeeded {
		p.Events.Action(p.cluster, nil, "OrderCarriedOut", "Order", note)
		return
	}
	p.Events.Report(p.cluster, []events.Event{{Type: corev1.EventTypeWarning, Reason: "OrderFailed", Note: note + ": " + last.Error}})
}

func (p *pass) ordersWorld() orders.World {
	w := orders.World{Annotations: p.cluster.Annotations, Last: p.cluster.Status.LastOperation}
	for _, node := range p.nodes {
		if node.GarageNode.Annotations[v1beta2.AnnotationDrain] == "true" {
			w.Draining = append(w.Draining, node.Name())
		}
		if node.External() {
			continue
		}
		w.Members = append(w.Members, orders.Member{Name: node.Name(), Silent: p.report.Processes.Own(node).Why()})
	}
	w.Layout = func(order layout.Order) layout.Verdict {
		world := p.layoutWorld(p.nodes, p.report.Processes, p.report.Identity, p.cluster.Status.LayoutChange)
		world.Order = &order
		return layout.Judge(world)
	}
	return w
}

// heed takes along what a person has ordered of the layout, and what it has to know for that.
func (p *pass) heed(w *layout.World, nodes facts.Nodes, processes facts.Processes) {
	w.Order = orders.OfLayout(p.cluster.Annotations, p.cluster.Status.LastOperation)
	for i := range w.Nodes {
		if node, exists := nodes.Get(w.Nodes[i].Name); exists {
			w.Nodes[i].Returns = orders.Returns(node, processes.Of(node.Name()))
		}
	}
}
