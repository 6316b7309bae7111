package contract

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast/internal/garage/adminapi"
)

// settledRows are about nodes at rest.
func settledRows() []group {
	return []group{
		{name: "at rest", setup: setup{nodes: 3, laidOut: true, objects: 12}, rows: []row{
			{name: "to connect to a connected node succeeds, and to nobody fails", calls: "ConnectClusterNodes", run: connecting},
			{name: "a snapshot's success is null", calls: "CreateMetadataSnapshot", traps: []int{21}, run: snapshots},
			{name: "seven of eight resync workers are disabled", calls: "ListWorkers", run: disabledWorkers},
			{name: "a queue is not empty although its worker is idle", traps: []int{2}, run: idleIsNotEmpty},
			{name: "variables are read and set, or refused with status 200", calls: "GetWorkerVariable SetWorkerVariable", traps: []int{21}, run: variables},
			{name: "repairs start a worker of their name, which ends", calls: "LaunchRepairOperation", run: repairs},
			{name: "the other repairs start none", run: repairsWithoutWorker},
			{name: "a throttled worker's state is an object", run: throttledWorker},
			{name: "no block fails", calls: "ListBlockErrors", run: noBlockErrors},
			{name: "dead nodes cannot be skipped at rest", calls: "ClusterLayoutSkipDeadNodes", run: skippingAtRest},
			{name: "an Apply of nothing makes a version", traps: []int{8}, run: emptyApply},
			{name: "a staged role that is as it was is not staged", run: unchangedRole},
			{name: "another role without movement", run: otherTags},
		}},
		{name: "without scrub", setup: setup{nodes: 1, factor: 1, noScrub: true, laidOut: true, objects: 1}, rows: []row{
			{name: "there is no scrub worker, and its commands are refused", run: withoutScrub},
			{name: "a block that is lost fails, and is listed", calls: "ListBlockErrors", run: lostBlock},
		}},
		{name: "consistency mode degraded", setup: setup{nodes: 2, factor: 2, degraded: true, laidOut: true}, rows: []row{
			{name: "nothing ever drains", traps: []int{14}, run: degradedHidesDraining},
		}},
		{name: "one node", setup: setup{nodes: 1, factor: 1, laidOut: true}, rows: []row{
			{name: "the second layout stays draining", traps: []int{19}, run: singleNodeNeverSettles},
		}},
	}
}

func connecting(l lab) {
	results := must[[]adminapi.Connection](l)(l.client(0).ConnectClusterNodes(l.Context(),
		l.id(0)+"@"+l.rpc(0), l.id(1)+"@"+l.rpc(1), string(nobody)+"@127.0.0.1:1", "nonsense"))
	for i, want := range []bool{true, true, false, false} {
		if results[i].Connected != want || want != (results[i].Problem == "") {
			l.Errorf("node %d: %+v", i, results[i])
		}
	}
}

func snapshots(l lab) {
	if node := must[adminapi.NodeID](l)(l.client(1).CreateMetadataSnapshot(l.Context())); node != l.node(1) {
		l.Errorf("node %s made it, want %s", node, l.node(1))
	}
	_, reply := l.raw(1, http.MethodPost, "/v2/CreateMetadataSnapshot?node=self", "", "")
	if success, there := reply["success"].(map[string]any)[l.id(1)]; !there || success != nil {
		l.Errorf("%v", reply)
	}
}

func disabledWorkers(l lab) {
	l.eventually("all workers are there", func() bool { _, there := l.workers(0)[adminapi.ResyncWorker+"8"]; return there })
	for i := 1; i <= 8; i++ {
		worker, there := l.workers(0)[fmt.Sprint(adminapi.ResyncWorker, i)]
		_, queue := worker.QueueLength.Get()
		_, errors := worker.PersistentErrors.Get()
		if !there || queue != (i == 1) || errors != (i == 1) || (len(worker.Freeform) > 0) == (i == 1) {
			l.Errorf("worker %d: %t, %+v", i, there, worker)
		}
	}
	if _, there := l.workers(0)["Block scrub worker"]; !there {
		l.Error("no scrub worker")
	}
}

// idleIsNotEmpty has the checks of blocks that were just written, which are due later.
func idleIsNotEmpty(l lab) {
	l.eventually("the worker is idle", func() bool { return l.workers(0)[adminapi.ResyncWorker+"1"].State == adminapi.WorkerIdle })
	worker := l.workers(0)[adminapi.ResyncWorker+"1"]
	if length, _ := worker.QueueLength.Get(); length == 0 || worker.Errors > 0 {
		l.Errorf("%+v", worker)
	}
	if _, queue, known := l.rows(0); known && queue == 0 {
		l.Error("the node's statistics have no queue")
	}
}

func repairs(l lab) {
	for _, repair := range []adminapi.Repair{
		adminapi.RepairBlocks, adminapi.RepairVersions, adminapi.RepairMultipartUploads, adminapi.RepairBlockRefs,
		adminapi.RepairBlockRC, adminapi.RepairRebalance,
	} {
		if worker := l.repaired(0, repair); worker.Errors > 0 || worker.LastError != nil {
			l.Errorf("%s: %+v", repair, worker)
		}
	}
}

func repairsWithoutWorker(l lab) {
	before := l.workers(0)
	for _, repair := range []adminapi.Repair{
		adminapi.RepairTables, adminapi.RepairAliases,
		adminapi.ScrubStart, adminapi.ScrubPause, adminapi.ScrubResume, adminapi.ScrubCancel, adminapi.ScrubCancel,
	} {
		if _, err := l.client(0).LaunchRepairOperation(l.Context(), repair); err != nil {
			l.Errorf("%s: %v", repair, err)
		}
	}
	if after := l.workers(0); len(after) != len(before) {
		l.Errorf("%d workers before and %d after", len(before), len(after))
	}
}

// throttledWorker has a resync worker go so easy that it is seen to.
func throttledWorker(l lab) {
	set := func(value string) {
		must[adminapi.NodeID](l)(l.client(0).SetWorkerVariable(l.Context(), "resync-tranquility", value))
	}
	set("1000")
	must[adminapi.NodeID](l)(l.client(0).LaunchRepairOperation(l.Context(), adminapi.RepairBlocks))
	l.eventually("the worker is throttled", func() bool {
		return l.workers(0)[adminapi.ResyncWorker+"1"].State == adminapi.WorkerThrottled
	})
	set("0")
	l.eventually("the worker is idle again", func() bool {
		return l.workers(0)[adminapi.ResyncWorker+"1"].State == adminapi.WorkerIdle
	})
}

func variables(l lab) {
	c := l.client(0)
	get := func(name string) string {
		answer := must[adminapi.Answer[string]](l)(c.GetWorkerVariable(l.Context(), name))
		if answer.Node != l.node(0) {
			l.Errorf("node %s answers", answer.Node)
		}
		return answer.Value
	}
	if got := get("resync-worker-count"); got != "1" {
		l.Errorf("resync-worker-count is %q", got)
	}
	must[adminapi.NodeID](l)(c.SetWorkerVariable(l.Context(), "resync-tranquility", "0"))
	if got := get("resync-tranquility"); got != "0" {
		l.Errorf("resync-tranquility is %q", got)
	}
	if got := get("scrub-last-completed"); (got == "never") == l.before(before24) {
		l.Errorf("scrub-last-completed is %q", got)
	}
	_, err := c.GetWorkerVariable(l.Context(), "nonsense")
	l.refused(err, "variable does not exist")
	for name, value := range map[string]string{"nonsense": "1", "scrub-last-completed": "1", "resync-worker-count": "9", "resync-tranquility": "x"} {
		if _, err := c.SetWorkerVariable(l.Context(), name, value); err == nil {
			l.Errorf("%s can be set to %s", name, value)
		} else {
			l.refused(err, "")
		}
	}
	status, reply := l.raw(0, http.MethodPost, "/v2/GetWorkerVariable?node=self", "", `{"variable":"nonsense"}`)
	text, _ := reply["error"].(map[string]any)[l.id(0)].(string)
	if status != http.StatusOK || !strings.HasPrefix(text, "InternalError (500): ") || len(reply["success"].(map[string]any)) > 0 {
		l.Errorf("%d %v", status, reply)
	}
}

func noBlockErrors(l lab) {
	answer := must[adminapi.Answer[[]adminapi.BlockError]](l)(l.client(0).ListBlockErrors(l.Context()))
	if answer.Node != l.node(0) || len(answer.Value) > 0 {
		l.Errorf("%+v", answer)
	}
}

func lostBlock(l lab) {
	l.check(l.loseBlock(0))
	l.repaired(0, adminapi.RepairBlocks)
	var failed []adminapi.BlockError
	l.eventually("the block is listed", func() bool {
		failed = must[adminapi.Answer[[]adminapi.BlockError]](l)(l.client(0).ListBlockErrors(l.Context())).Value
		return len(failed) == 1
	})
	if e := failed[0]; len(e.Hash) != 64 || e.References != 1 || e.Errors != 1 || e.NextTryIn.Seconds() > 60 || e.NextTryIn == 0 {
		l.Errorf("%+v", e)
	}
	// The list of workers is as of the worker's last step, of which there may be none for a while.
	l.eventually("the worker counts it", func() bool {
		errors, _ := l.workers(0)[adminapi.ResyncWorker+"1"].PersistentErrors.Get()
		return errors == 1
	})
}

func skippingAtRest(l lab) {
	_, err := l.client(0).ClusterLayoutSkipDeadNodes(l.Context(), adminapi.SkipDeadNodes{Version: 1})
	l.refused(err, "only one live cluster layout version")
}

func emptyApply(l lab) {
	before := l.layout(0)
	applied := l.apply(0)
	if applied.Layout.Version != before.Version+1 || len(applied.Layout.Roles) != len(before.Roles) {
		l.Errorf("%+v", applied.Layout)
	}
	if moved, known := applied.MovedPartitions.Get(); known == l.before(before24) || moved != 0 {
		l.Errorf("%d partitions move, known: %t", moved, known)
	}
	l.agreed(before.Version+1, l.all()...)
	l.settled(l.all()...)
	versions := l.history(0).Versions
	if len(versions) != 2 || versions[0].Status != adminapi.Current || versions[1].Status != adminapi.Historical {
		l.Errorf("%+v", versions)
	}
}

func unchangedRole(l lab) {
	if layout := l.stage(0, adminapi.Assign(l.node(1), storage("z"))); len(layout.Staged) != 0 {
		l.Errorf("%+v", layout.Staged)
	}
}

func otherTags(l lab) {
	role := storage("z")
	role.Tags = []string{"a", "b"}
	l.stage(0, adminapi.Assign(l.node(1), role))
	version := l.apply(0).Layout.Version
	l.agreed(version, l.all()...)
	l.settled(l.all()...)
	node, _ := l.seen(2, l.node(1))
	if node.Role == nil || !cmp.Equal(node.Role.Tags, role.Tags) {
		l.Errorf("%+v", node)
	}
}

func withoutScrub(l lab) {
	if worker, there := l.workers(0)["Block scrub worker"]; there {
		l.Errorf("%+v", worker)
	}
	_, err := l.client(0).LaunchRepairOperation(l.Context(), adminapi.ScrubStart)
	l.refused(err, "scrub worker is not running")
	_, err = l.client(0).GetWorkerVariable(l.Context(), "scrub-tranquility")
	l.refused(err, "variable does not exist")
}

func degradedHidesDraining(l lab) {
	for range 2 {
		version := l.apply(0).Layout.Version
		if history := l.history(0); !history.Settled() || history.CurrentVersion != version {
			l.Errorf("%+v", history)
		}
		l.agreed(version, l.all()...)
	}
}

// singleNodeNeverSettles has the one node know that it is in step, and nobody tell it so. Only the next Apply does.
func singleNodeNeverSettles(l lab) {
	stuck := func(version uint64) {
		l.Helper()
		want := adminapi.Tracker{Ack: version, Sync: version, SyncAck: version - 1}
		l.eventually("the node is in step", func() bool { return l.history(0).Trackers[l.node(0)] == want })
		l.always(patience/20, "the older layout stays", func() bool {
			history := l.history(0)
			return history.Trackers[l.node(0)] == want && !history.Settled() &&
				slices.ContainsFunc(history.Versions, func(v adminapi.LayoutVersion) bool {
					return v.Version == version-1 && v.Status == adminapi.Draining
				})
		})
	}
	l.apply(0)
	stuck(2)
	l.restart(0)
	stuck(2)
	l.apply(0)
	stuck(3)
}

// restart stops a node, starts it, and waits until it answers.
func (l lab) restart(i int) {
	l.Helper()
	l.check(l.stop(i))
	l.startAgain(i)
}

func (l lab) startAgain(i int) {
	l.Helper()
	l.check(l.start(i))
	l.eventually("the node answers", func() bool {
		_, err := l.client(i).GetNodeInfo(l.Context())
		return err == nil
	})
}
