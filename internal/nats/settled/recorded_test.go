package settled

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/holdfast-dev/holdfast/api/nats/cluster/v1beta1"
	"github.com/holdfast-dev/holdfast/internal/nats/monitorapi"
)

// recorded is a MonitorAPI that replies with the files of one folder of testdata. They were recorded by testdata/record
// from three nats-servers 2.15.3 with one stream of three copies and one of a single copy in each of two accounts. Each
// stream has a consumer "all", of as many copies as it, and a consumer "one" of a single copy.
type recorded string

func (r recorded) Varz(_ context.Context, base string) (monitorapi.Varz, error) {
	return load[monitorapi.Varz](string(r), base+".varz.json")
}

func (r recorded) Jsz(_ context.Context, base string, _, _ int) (monitorapi.Jsz, error) {
	return load[monitorapi.Jsz](string(r), base+".jsz.json")
}

func load[T any](state, file string) (reply T, err error) {
	text, err := os.ReadFile(filepath.Join("testdata", state, file))
	if err != nil {
		return reply, err
	}
	return reply, json.Unmarshal(text, &reply)
}

func TestRecordedReplies(t *testing.T) {
	all, last := []string{"demo-0", "demo-1", "demo-2"}, []string{"demo-2"}
	// each is the verdict on the groups named, all for the same reason and with the same servers.
	each := func(reason string, servers []string, names ...string) (groups []Unsettled) {
		for _, name := range names {
			groups = append(groups, Unsettled{Group: name, Reason: reason, Servers: servers})
		}
		return groups
	}
	replicated := []string{"meta", "stream ALPHA/ORDERS", "stream BRAVO/ORDERS", "consumer ALPHA/ORDERS/all", "consumer BRAVO/ORDERS/all"}
	for state, want := range map[string]Verdict{
		"settled": {
			Settled: true, Reason: v1beta1.ReasonAllGroupsCurrent, Message: "every Raft group has a leader and every member is current",
		},
		// demo-2 was killed. For minutes its neighbours call it not current, but not offline.
		"killed": {
			Reason: v1beta1.ReasonServersSilent, Message: "demo-2 does not answer", Silent: last,
			Groups: each(v1beta1.ReasonGroupsCatchingUp, last, replicated...),
		},
		// demo-2 was stopped cleanly, and said good-bye.
		"stopped": {
			Reason: v1beta1.ReasonServersSilent, Message: "demo-2 does not answer", Silent: last,
			Groups: each(v1beta1.ReasonMembersOffline, last, replicated...),
		},
		// demo-2 is back and lacks what was published meanwhile.
		"catching-up": {
			Reason: v1beta1.ReasonGroupsCatchingUp, Message: "2 Raft groups have a member on demo-2 that is not current",
			Groups: each(v1beta1.ReasonGroupsCatchingUp, last, "stream ALPHA/ORDERS", "stream BRAVO/ORDERS"),
		},
		// All were killed and have just been started; none has read its disk to the end.
		"starting": {
			Reason: v1beta1.ReasonGroupsLeaderless, Message: "2 Raft groups have no leader", Down: all,
			Groups: each(v1beta1.ReasonGroupsLeaderless, []string{"demo-0"}, "consumer BRAVO/NOTES/all", "consumer BRAVO/NOTES/one"),
		},
		// A little later the meta group has its leader, and the others have none yet.
		"leaderless": {
			Reason: v1beta1.ReasonGroupsLeaderless, Message: "4 Raft groups have no leader",
			Groups: each(v1beta1.ReasonGroupsLeaderless, all, replicated[1:]...),
		},
	} {
		t.Run(state, func(t *testing.T) {
			var targets []Target
			for _, name := range all {
				targets = append(targets, Target{Name: name, At: name})
			}
			got := Judge(Observe(t.Context(), recorded(state), targets, true))
			want.Known = true
			if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(Verdict{}, "MetaLeader", "Servers")); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
			if (got.MetaLeader == "") != (state == "starting") {
				t.Errorf("the meta leader is %q", got.MetaLeader)
			}
			for name, server := range got.Servers {
				if server.ID == "" || server.Version != "2.15.3" || server.ConfigRevision != "0123456789" || server.Start.IsZero() {
					t.Errorf("%s is %+v", name, server)
				}
			}
		})
	}
}
