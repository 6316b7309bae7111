package serving

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast/internal/garage/adminapi"
	"github.com/holdfast-dev/holdfast/internal/kit/fact"
)

func TestDecide(t *testing.T) {
	id := adminapi.NodeID(strings.Repeat("a", 64))
	with := fact.Known(Says{Layout: adminapi.Layout{Roles: []adminapi.NodeRole{{ID: id}}}})
	without := fact.Known(Says{})
	moving := fact.Known(Says{
		Layout:  adminapi.Layout{Roles: []adminapi.NodeRole{{ID: id}}},
		History: adminapi.LayoutHistory{CurrentVersion: 2, Trackers: map[adminapi.NodeID]adminapi.Tracker{id: {Sync: 1}}},
	})
	silent := fact.Unknown[Says]("no answer")
	in, out, rests := Plan{In: []string{"a"}}, Plan{Out: []string{"a"}}, Plan{}
	for name, c := range map[string]struct {
		node Node
		want Plan
	}{
		"with a role it comes in":                  {Node{Current: true, Says: with}, in},
		"and stays":                                {Node{Current: true, Serves: true, Says: with}, rests},
		"not before the layout has settled":        {Node{Current: true, Says: moving}, rests},
		"but it does not leave for that":           {Node{Current: true, Serves: true, Says: moving}, rests},
		"not without a role":                       {Node{Current: true, Says: without}, rests},
		"and it leaves without":                    {Node{Current: true, Serves: true, Says: without}, out},
		"a Pod that has not said who it is waits":  {Node{Says: with}, rests},
		"one of which that is not known yet stays": {Node{Serves: true, Says: without}, rests},
		"a source leaves":                          {Node{Current: true, Serves: true, Source: true, Says: with}, out},
		"also when it is silent":                   {Node{Serves: true, Source: true, Says: silent}, out},
		"and does not come in":                     {Node{Current: true, Source: true, Says: with}, rests},
		"another disk leaves":                      {Node{Serves: true, Held: true, Says: with}, out},
		"and does not come in either":              {Node{Current: true, Held: true, Says: with}, rests},
		"who is silent stays":                      {Node{Current: true, Serves: true, Says: silent}, rests},
		"and does not come in while silent":        {Node{Current: true, Says: silent}, rests},
	} {
		t.Run(name, func(t *testing.T) {
			c.node.Name, c.node.ID = "a", id
			if diff := cmp.Diff(c.want, Decide([]Node{c.node})); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
