package contract

import (
	"errors"
	"slices"
	"time"

	"github.com/holdfast-dev/holdfast/internal/garage/adminapi"
)

// drainRows follow nodes from the Apply that removes them until their blocks are gone.
func drainRows() []group {
	return []group{
		{name: "a drain", slow: true, setup: setup{nodes: 4, laidOut: true, objects: 40}, rows: []row{
			{name: "the layout settles while all blocks are there", run: removed},
			{name: "a clean repair and idle workers prove nothing", traps: []int{2}, run: emptied},
			{name: "the blocks go, and then the queue", run: gone},
		}},
		{name: "a drain whose destination is dead", slow: true, setup: setup{nodes: 3, factor: 2, laidOut: true, objects: 12}, rows: []row{
			{name: "its blocks stay, and fail", run: drainWithoutDestination},
		}},
		{name: "a drain with a repair of its destination", slow: true, setup: setup{nodes: 2, factor: 1, laidOut: true, objects: 12}, rows: []row{
			{name: "the destination copies while the source still has everything", run: destinationCopies},
		}},
	}
}

// removeLast removes the last node.
func (l lab) removeLast() (last int) {
	l.Helper()
	last = l.nodes - 1
	l.stage(0, adminapi.Remove(l.node(last)))
	version := l.apply(0).Layout.Version
	l.agreed(version, l.all()...)
	return last
}

func (l lab) idle(i int) bool {
	l.Helper()
	worker := l.workers(i)[adminapi.ResyncWorker+"1"]
	return worker.State == adminapi.WorkerIdle && worker.Errors == 0
}

// empty says whether the tables of a node have no rows.
func (l lab) empty(i int) bool {
	l.Helper()
	rows, _, known := l.rows(i)
	return known && rows == 0
}

// removed has nobody wait for blocks.
func removed(l lab) {
	has := l.onDisk(3)
	if has == 0 {
		l.Fatal("the node has no blocks")
	}
	l.removeLast()
	l.settled(l.all()...)
	if node, _ := l.seen(0, l.node(3)); node.Draining || node.Role != nil {
		l.Errorf("%+v", node)
	}
	if health := l.health(0); health.Status != adminapi.Healthy || health.StorageNodes != 3 {
		l.Errorf("%+v", health)
	}
	if got := l.onDisk(3); got != has {
		l.Errorf("the layout is settled, and %d of %d blocks are left", got, has)
	}
}

// emptied has everything that idle workers and a clean repair seem to prove, long before the first block goes.
func emptied(l lab) {
	has := l.onDisk(3)
	l.eventually("the tables are empty", func() bool { return l.empty(3) })
	empty := l.now()
	if worker := l.repaired(3, adminapi.RepairBlocks); worker.Errors > 0 || worker.LastError != nil {
		l.Errorf("%+v", worker)
	}
	l.eventually("the worker is idle", func() bool { return l.idle(3) })
	if _, queue, _ := l.rows(3); queue == 0 || l.onDisk(3) != has {
		l.Errorf("after a clean repair, with an idle worker: %d in the queue, %d of %d blocks", queue, l.onDisk(3), has)
	}
	block, _ := l.delays()
	l.always(block-2*time.Second-l.now().Sub(empty), "all blocks stay", func() bool { return l.onDisk(3) == has })
}

func gone(l lab) {
	start := l.now()
	block, pull := l.delays()
	l.within(30*time.Second+pull, "the blocks go", func() bool { return l.onDisk(3) == 0 })
	l.Logf("the blocks were gone after another %s", l.now().Sub(start).Round(time.Second))
	l.within(block+pull, "the queue is empty", func() bool { _, queue, _ := l.rows(3); return queue == 0 })
	if failed := must[adminapi.Answer[[]adminapi.BlockError]](l)(l.client(3).ListBlockErrors(l.Context())).Value; len(failed) > 0 {
		l.Errorf("%+v", failed)
	}
	for i := range 3 {
		if got := l.onDisk(i); got != 40 {
			l.Errorf("node %d has %d blocks, want 40", i, got)
		}
	}
}

// drainWithoutDestination kills one of two nodes that remain, after the metadata is there.
func drainWithoutDestination(l lab) {
	last := l.removeLast()
	l.settled(l.all()...)
	l.eventually("the tables are empty", func() bool { return l.empty(last) })
	has := l.onDisk(last)
	l.check(l.kill(0))
	block, pull := l.delays()
	var failed []adminapi.BlockError
	l.within(block+pull+30*time.Second, "all blocks fail", func() bool {
		failed = must[adminapi.Answer[[]adminapi.BlockError]](l)(l.client(last).ListBlockErrors(l.Context())).Value
		return len(failed) == has
	})
	for _, e := range failed {
		if e.References != 0 || e.Errors == 0 || e.NextTryIn > time.Minute<<6 {
			l.Errorf("%+v", e)
		}
	}
	if got := l.onDisk(last); got != has {
		l.Errorf("%d of %d blocks are left", got, has)
	}
	value := must[adminapi.Answer[adminapi.NodeStatistics]](l)(l.client(last).GetNodeStatistics(l.Context())).Value
	if blocks, known := value.Blocks.Get(); !known || blocks.ResyncErrors != uint64(has) {
		l.Errorf("%+v", blocks)
	}
	_, err := l.client(0).GetNodeInfo(l.Context())
	if e, ok := errors.AsType[*adminapi.Error](err); !ok || e.Class != adminapi.Unavailable {
		l.Error(err)
	}
}

func destinationCopies(l lab) {
	has := l.onDisk(1)
	if has == 0 || has == 12 {
		l.Fatalf("the source has %d of 12 blocks", has)
	}
	l.removeLast()
	l.settled(0, 1)
	l.eventually("the tables are empty", func() bool { return l.empty(1) })
	l.repaired(0, adminapi.RepairBlocks)
	l.eventually("the destination has all", func() bool { return l.onDisk(0) == 12 })
	if got := l.onDisk(1); got != has {
		l.Errorf("the source has %d of %d blocks", got, has)
	}
	if !slices.Contains([]adminapi.WorkerState{adminapi.WorkerIdle, adminapi.WorkerBusy, adminapi.WorkerThrottled}, l.workers(0)[adminapi.ResyncWorker+"1"].State) {
		l.Errorf("%+v", l.workers(0))
	}
}
