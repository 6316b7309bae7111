package contract

import (
	"errors"

	"github.com/holdfast-dev/holdfast/internal/garage/adminapi"
)

// processRows are about processes that end and start.
func processRows() []group {
	return []group{{name: "processes", setup: setup{nodes: 4, laidOut: true}, rows: []row{
		{name: "a dead node does not answer, and nothing has happened", run: deadNode},
		{name: "a restart forgets repairs and counts workers anew", traps: []int{24}, run: restartForgets},
		{name: "a restart keeps the variables of resync", run: restartKeepsVariables},
		{name: "neighbours notice a death late", run: deathIsNoticed},
		{name: "a node that starts does not know who is dead", run: unseenNode},
		{name: "a node whose disk is empty is another node", traps: []int{11}, run: emptyDisk},
	}}}
}

func deadNode(l lab) {
	l.check(l.stop(3))
	for name, call := range map[string]func(*adminapi.Client) error{
		"read":   func(c *adminapi.Client) error { _, err := c.GetNodeInfo(l.Context()); return err },
		"effect": func(c *adminapi.Client) error { _, err := c.ApplyClusterLayout(l.Context(), 2); return err },
	} {
		err := call(l.client(3))
		if e, ok := errors.AsType[*adminapi.Error](err); !ok || e.Class != adminapi.Unavailable || e.MayHaveHappened() {
			l.Errorf("%s: %v", name, err)
		}
	}
	l.startAgain(3)
	l.connected()
}

func restartForgets(l lab) {
	before := l.repaired(2, adminapi.RepairBlocks)
	l.restart(2)
	l.eventually("the workers are there", func() bool { _, there := l.workers(2)[adminapi.ResyncWorker+"8"]; return there })
	workers := l.workers(2)
	if worker, there := workers[before.Name]; there {
		l.Errorf("still there: %+v", worker)
	}
	lowest := ^uint64(0)
	for _, worker := range workers {
		lowest = min(lowest, worker.ID)
	}
	if after := l.repaired(2, adminapi.RepairBlocks); lowest > 1 || after.ID > before.ID+1 {
		l.Errorf("ids start at %d, and the repair has %d after %d", lowest, after.ID, before.ID)
	}
	l.connected()
}

func restartKeepsVariables(l lab) {
	must[adminapi.NodeID](l)(l.client(2).SetWorkerVariable(l.Context(), "resync-tranquility", "7"))
	l.restart(2)
	if got := must[adminapi.Answer[string]](l)(l.client(2).GetWorkerVariable(l.Context(), "resync-tranquility")).Value; got != "7" {
		l.Errorf("resync-tranquility is %s", got)
	}
	l.connected()
}

// deathIsNoticed counts how often the neighbours call the cluster healthy although a node is dead.
func deathIsNoticed(l lab) {
	l.eventually("everybody calls the cluster healthy", func() bool { return l.health(0).Status == adminapi.Healthy })
	l.check(l.kill(3))
	stale := 0
	l.eventually("the neighbours notice", func() bool {
		noticed := true
		for i := range 3 {
			health := l.health(i)
			if health.Status == adminapi.Healthy {
				stale++
			}
			noticed = noticed && health.Status == adminapi.Degraded && health.ConnectedNodes == 3 && health.StorageNodes == 4 && health.StorageNodesUp == 3
		}
		return noticed
	})
	l.Logf("%d times a neighbour of a dead node said healthy", stale)
	node, _ := l.seen(0, l.node(3))
	if _, known := node.LastSeenSecondsAgo.Get(); node.Up || node.Role == nil || !known {
		l.Errorf("%+v", node)
	}
}

// unseenNode finds node 3 dead.
func unseenNode(l lab) {
	l.restart(0)
	l.eventually("node 0 is connected", func() bool { return l.sees(0, l.node(1)) && l.sees(0, l.node(2)) })
	node, known := l.seen(0, l.node(3))
	_, seen := node.LastSeenSecondsAgo.Get()
	_, version := node.GarageVersion.Get()
	_, hostname := node.Hostname.Get()
	_, space := node.Data.Get()
	if !known || node.Up || node.Role == nil || seen || version || hostname || space {
		l.Errorf("known %t: %+v", known, node)
	}
	l.startAgain(3)
	l.connected()
	l.each("everybody calls the cluster healthy", l.all(), func(i int) bool { return l.health(i).Status == adminapi.Healthy })
}

func emptyDisk(l lab) {
	old := l.node(3)
	l.check(l.stop(3))
	l.check(l.wipe(3))
	l.startAgain(3)
	answer := must[adminapi.Answer[adminapi.NodeInfo]](l)(l.client(3).GetNodeInfo(l.Context()))
	if answer.Node == old || answer.Node != l.node(3) {
		l.Errorf("the node is %s, and was %s", answer.Node, old)
	}
	l.eventually("the new node is up, without a role, and the old one is not up, with its role", func() bool {
		is, known := l.seen(0, answer.Node)
		was, _ := l.seen(0, old)
		return known && is.Up && is.Role == nil && !was.Up && was.Role != nil
	})
	l.eventually("the new node takes the layout over", func() bool { return l.layout(3).Version == l.layout(0).Version })
	if health := l.health(0); health.Status != adminapi.Degraded || health.StorageNodesUp != 3 || health.ConnectedNodes != 4 {
		l.Errorf("%+v", health)
	}
}
