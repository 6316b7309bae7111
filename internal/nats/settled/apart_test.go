package settled

import (
	"testing"

	"github.com/holdfast-dev/holdfast/api/nats/cluster/v1beta1"
)

func TestSettledApart(t *testing.T) {
	behind := func(servers ...string) []Unsettled {
		return []Unsettled{{Group: "meta", Reason: v1beta1.ReasonGroupsCatchingUp, Servers: servers}}
	}
	cases := map[string]struct {
		verdict Verdict
		apart   string
		want    bool
	}{
		"settled":                       {Verdict{Known: true, Settled: true}, "demo-1", true},
		"settled, apart from none":      {Verdict{Known: true, Settled: true}, "", true},
		"nothing known":                 {Verdict{}, "demo-1", false},
		"it is silent":                  {Verdict{Known: true, Silent: []string{"demo-1"}}, "demo-1", true},
		"it is silent, apart from none": {Verdict{Known: true, Silent: []string{"demo-1"}}, "", false},
		"another is silent too":         {Verdict{Known: true, Silent: []string{"demo-1", "demo-2"}}, "demo-1", false},
		"its JetStream is down":         {Verdict{Known: true, Down: []string{"demo-1"}}, "demo-1", true},
		"another's JetStream is down":   {Verdict{Known: true, Down: []string{"demo-0"}}, "demo-1", false},
		"it is behind":                  {Verdict{Known: true, Groups: behind("demo-1")}, "demo-1", true},
		"another is behind too":         {Verdict{Known: true, Groups: behind("demo-1", "demo-2")}, "demo-1", false},
		"a group that only it holds has no leader": {
			Verdict{Known: true, Groups: []Unsettled{{Reason: v1beta1.ReasonGroupsLeaderless, Servers: []string{"demo-1"}}}}, "demo-1", false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := tc.verdict.SettledApart(tc.apart); got != tc.want {
				t.Errorf("got %v, want %v", got, tc.want)
			}
		})
	}
}
