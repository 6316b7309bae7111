package whole

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

func TestMemory(t *testing.T) {
	var m Memory
	at := func(seconds int) time.Time { return time.Unix(int64(seconds), 0) }
	for _, look := range []struct {
		cluster, lives string
		whole          bool
		now            int
		want           time.Time
	}{
		{"a", "1", false, 0, time.Time{}},
		{"a", "1", true, 1, at(1)},
		{"b", "1", true, 2, at(2)},
		{"a", "1", true, 5, at(1)},
		{"a", "2", true, 6, at(6)},
		{"a", "2", false, 7, time.Time{}},
		{"a", "2", true, 8, at(8)},
		{"b", "1", true, 9, at(2)},
	} {
		if got := m.Look(types.UID(look.cluster), look.lives, look.whole, at(look.now)); !got.Equal(look.want) {
			t.Errorf("%+v: since %v", look, got)
		}
	}
}
