package orders

import (
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"

	"github.com/holdfast-dev/holdfast/api/garage/v1beta2"
	"github.com/holdfast-dev/holdfast/internal/garage/adminapi"
	"github.com/holdfast-dev/holdfast/internal/garage/layout"
	"github.com/holdfast-dev/holdfast/internal/kit/words"
)

// An Order is what one annotation asks for: one of Layout, Peers, Repair and Snapshot.
type Order struct {
	// Type is the annotation without its prefix, and Value what it says.
	Type, Value string
	// Annotations are those to take away afterwards.
	Annotations []string
	// Bad says what is wrong with the value; empty when nothing is.
	Bad string
	// Layout is something about the layout.
	Layout *layout.Order
	// Peers are nodes to connect to.
	Peers []string
	// Repair is a repair of every node, or a scrub.
	Repair adminapi.Repair
	// Snapshot is one of every node's database.
	Snapshot bool
}

const (
	prefix    = "garage.rajsingh.info/"
	maxPeers  = 64
	maxValue  = 1024
	wantsTrue = "the value has to be true"
	// typeRepair is the type of orders for a repair.
	typeRepair = "trigger-repair"
)

// kinds are the annotations that are orders, in the order in which they are followed.
var kinds = []struct {
	annotation string
	read       func(value string, all map[string]string) Order
}{
	{v1beta2.AnnotationRevertLayout, ofLayout(layout.OrderRevert)},
	{v1beta2.AnnotationForceLayoutApply, ofLayout(layout.OrderForce)},
	{v1beta2.AnnotationSkipDeadNodes, skip},
	{v1beta2.AnnotationConnectNodes, connect},
	{v1beta2.AnnotationTriggerRepair, repair},
	{v1beta2.AnnotationTriggerSnapshot, snapshot},
	{v1beta2.AnnotationScrubCommand, scrub},
}

// find is the order that was begun if its annotation is still there, or else the first one.
func find(annotations map[string]string, last *v1beta2.LastOperation) (Order, bool) {
	var first *Order
	for _, kind := range kinds {
		value, given := annotations[kind.annotation]
		if !given {
			continue
		}
		order := kind.read(value, annotations)
		order.Type, order.Annotations = strings.TrimPrefix(kind.annotation, prefix), append(order.Annotations, kind.annotation)
		if order.Value == "" {
			order.Value = words.UpTo(value, maxValue)
		}
		if open(last) && order.is(last) {
			return order, true
		}
		if first == nil {
			first = &order
		}
	}
	if first == nil {
		return Order{}, false
	}
	return *first, true
}

// is says that it is the order of which the status speaks.
func (o Order) is(last *v1beta2.LastOperation) bool {
	return o.Type == last.Type && last.Value != nil && o.Value == *last.Value
}

// once says that to carry it out twice could do harm.
func (o Order) once() bool { return o.Snapshot }

func ofLayout(kind layout.OrderKind) func(string, map[string]string) Order {
	return func(value string, _ map[string]string) Order {
		if value != "true" {
			return Order{Bad: wantsTrue}
		}
		return Order{Layout: &layout.Order{Kind: kind}}
	}
}

// skip takes the version along for which data may be missing.
func skip(value string, all map[string]string) Order {
	version, allows := all[v1beta2.AnnotationAllowMissingData]
	order := Order{Layout: &layout.Order{Kind: layout.OrderSkip}}
	if allows {
		order.Value = words.UpTo(value+", "+strings.TrimPrefix(v1beta2.AnnotationAllowMissingData, prefix)+" "+version, maxValue)
		order.Annotations = []string{v1beta2.AnnotationAllowMissingData}
		number, err := strconv.ParseUint(version, 10, 63)
		if err != nil || number == 0 {
			order.Bad = "the value of allow-missing-data has to be the version of the layout that it is meant for, such as 5"
		}
		order.Layout.AllowMissing = number
	}
	if value != "true" {
		order.Bad = wantsTrue
	}
	return order
}

func connect(value string, _ map[string]string) Order {
	order := Order{Peers: strings.Split(value, ",")}
	if len(order.Peers) > maxPeers {
		order.Bad = fmt.Sprintf("%d nodes are more than %d", len(order.Peers), maxPeers)
	}
	for i, peer := range order.Peers {
		order.Peers[i] = strings.TrimSpace(peer)
		id, address, _ := strings.Cut(order.Peers[i], "@")
		_, wrong := adminapi.ParseNodeID(id)
		host, port, err := net.SplitHostPort(address)
		number, noPort := strconv.ParseUint(port, 10, 16)
		if wrong != nil || err != nil || noPort != nil || host == "" || number == 0 {
			order.Bad = fmt.Sprintf("%.100q is not id@host:port, with 64 lower-case hexadecimal digits before the @", order.Peers[i])
		}
	}
	return order
}

// repairs are the names that people use.
var repairs = map[string]adminapi.Repair{
	"Tables": adminapi.RepairTables, "Blocks": adminapi.RepairBlocks, "Versions": adminapi.RepairVersions,
	"MultipartUploads": adminapi.RepairMultipartUploads, "BlockRefs": adminapi.RepairBlockRefs, "BlockRc": adminapi.RepairBlockRC,
	"Rebalance": adminapi.RepairRebalance, "Aliases": adminapi.RepairAliases,
}

func repair(value string, _ map[string]string) Order {
	found, known := repairs[value]
	if !known {
		return Order{Bad: "the value has to be one of Tables, Blocks, Versions, MultipartUploads, BlockRefs, BlockRc, Rebalance, Aliases"}
	}
	return Order{Repair: found}
}

func snapshot(value string, _ map[string]string) Order {
	if value != "true" {
		return Order{Bad: wantsTrue}
	}
	return Order{Snapshot: true}
}

// scrubs are the commands.
var scrubs = map[string]adminapi.Repair{
	"start": adminapi.ScrubStart, "pause": adminapi.ScrubPause, "resume": adminapi.ScrubResume, "cancel": adminapi.ScrubCancel,
}

func scrub(value string, _ map[string]string) Order {
	found, known := scrubs[value]
	if !known {
		return Order{Bad: "the value has to be one of start, pause, resume, cancel"}
	}
	return Order{Repair: found}
}

// OfLayout is the order about the layout that was begun, nil if there is none.
func OfLayout(annotations map[string]string, last *v1beta2.LastOperation) *layout.Order {
	order, given := find(annotations, last)
	if !given || !open(last) || last.Succeeded != nil || !order.is(last) || order.Layout == nil || last.Hash == "" {
		return nil
	}
	about := *order.Layout
	about.Hash = last.Hash
	return &about
}

// Answering are the members that are told.
func (w World) Answering() []string {
	var names []string
	for _, member := range w.Members {
		if member.Silent == "" {
			names = append(names, member.Name)
		}
	}
	slices.Sort(names)
	return names
}
