package fact_test

import (
	"testing"

	"github.com/holdfast-dev/holdfast/internal/kit/fact"
)

func TestFact(t *testing.T) {
	for name, c := range map[string]struct {
		fact  fact.Fact[int]
		value int
		known bool
		why   string
	}{
		"known":            {fact.Known(7), 7, true, ""},
		"known zero value": {fact.Known(0), 0, true, ""},
		"unknown":          {fact.Unknown[int]("the server did not answer"), 0, false, "the server did not answer"},
		"never set":        {fact.Fact[int]{}, 0, false, "not read"},
	} {
		t.Run(name, func(t *testing.T) {
			value, known := c.fact.Get()
			if value != c.value || known != c.known || c.fact.Why() != c.why {
				t.Errorf("got %d, %t, %q; want %d, %t, %q", value, known, c.fact.Why(), c.value, c.known, c.why)
			}
		})
	}
}
