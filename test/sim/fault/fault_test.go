package fault

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-dev/holdfast/test/sim/apimodel"
)

// TestFates: what each fate leaves behind, and what the instance hears of it.
func TestFates(t *testing.T) {
	refused := errors.New("refused")
	for kind, want := range map[Kind]struct {
		effect, late, alive bool
		err                 error
	}{
		GoOn:         {effect: true, alive: true},
		CrashBefore:  {},
		CrashAfter:   {effect: true},
		CrashSending: {late: true},
		LoseReply:    {effect: true, alive: true, err: context.DeadlineExceeded},
		Delay:        {late: true, alive: true, err: context.DeadlineExceeded},
		Refuse:       {alive: true, err: refused},
	} {
		t.Run(string(kind), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var s Scheduler
				var happened, delivered bool
				var heard error
				i := s.Start(t.Context(), "i", func(_ context.Context, i *Instance) {
					heard = i.Do(Call{Verb: "do"}, func() (func(), error) { happened = true; return func() { delivered = true }, nil })
					_ = i.Do(Call{Verb: "rest"}, nil)
				})
				s.Settle()
				fate := Fate{Kind: kind}
				if kind == Refuse {
					fate.Err = refused
				}
				s.Resume(i, fate)
				if happened != want.effect || i.Alive() != want.alive || s.Late() == 1 != want.late || !errors.Is(heard, want.err) || delivered != (kind == GoOn) {
					t.Errorf("effect %t, alive %t, late %d, delivered %t, heard %v", happened, i.Alive(), s.Late(), delivered, heard)
				}
				if want.late {
					if _, err := s.Arrive(0); err != nil || !happened || delivered {
						t.Errorf("it arrives: %t, delivered %t, %v", happened, delivered, err)
					}
				}
				s.Kill(i)
			})
		})
	}
}

// TestPanic: an instance that panics is reported, and ends.
func TestPanic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s Scheduler
		i := s.Start(t.Context(), "i", func(context.Context, *Instance) { panic("no") })
		s.Settle()
		if s.Err() == nil || i.Alive() {
			t.Errorf("alive %t, %v", i.Alive(), s.Err())
		}
	})
}

// TestSeveralCallsAtOnce: an instance that asks several at a time comes in the same order each time.
func TestSeveralCallsAtOnce(t *testing.T) {
	for range 20 {
		synctest.Test(t, func(t *testing.T) {
			var s Scheduler
			i := s.Start(t.Context(), "i", func(_ context.Context, i *Instance) {
				for _, name := range []string{"c", "a", "b"} {
					go func() { _ = i.Do(Call{Name: name}, func() (func(), error) { return nil, nil }) }()
				}
				_ = i.Do(Call{Name: "d"}, func() (func(), error) { return nil, nil })
			})
			s.Settle()
			got := ""
			for s.Next(i) != nil {
				got += s.Next(i).Name
				s.Resume(i, Fate{Kind: GoOn})
			}
			if got != "abcd" {
				t.Errorf("the calls came as %s", got)
			}
		})
	}
}

// TestCache: a cached read is as far behind as it is told, never goes back, and shows the instance's own writes; a live read
// is never behind.
func TestCache(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api, err := apimodel.New(scheme.Scheme)
		if err != nil {
			t.Fatal(err)
		}
		config := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "one"}, Data: map[string]string{"v": "1"}}
		write := func(value string) {
			config.Data["v"], config.ResourceVersion = value, ""
			if _, err := api.Update("user", config); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := api.Create("user", "user", config); err != nil {
			t.Fatal(err)
		}
		var s Scheduler
		var cached, live corev1.ConfigMap
		i := s.Start(t.Context(), "i", func(ctx context.Context, i *Instance) {
			c := NewClient(api, scheme.Scheme, i, Options{ReadYourWrites: true, Now: time.Now})
			for {
				_ = c.Get(ctx, client.ObjectKeyFromObject(config), &cached)
				_ = c.Live().Get(ctx, client.ObjectKeyFromObject(config), &live)
				patch := client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"labels":{"own":"write"}}}`))
				_ = c.Patch(ctx, live.DeepCopy(), patch)
			}
		})
		s.Settle()
		look := func(wantCached, wantLive, wantLabel string) {
			t.Helper()
			s.Resume(i, Fate{Kind: GoOn})
			s.Resume(i, Fate{Kind: GoOn})
			if cached.Data["v"] != wantCached || live.Data["v"] != wantLive || cached.Labels["own"] != wantLabel {
				t.Errorf("cached %v %v, live %v", cached.Data, cached.Labels, live.Data)
			}
			s.Resume(i, Fate{Kind: Refuse, Err: errors.New("no")})
		}
		look("1", "1", "")
		i.SetLag(Lag{Frozen: true})
		write("2")
		look("1", "2", "")
		i.SetLag(Lag{Frozen: true, Except: "ConfigMap"})
		look("2", "2", "")
		i.SetLag(Lag{Writes: 1})
		write("3")
		look("2", "3", "")
		i.SetLag(Lag{Frozen: true})
		s.Resume(i, Fate{Kind: GoOn})
		s.Resume(i, Fate{Kind: GoOn})
		s.Resume(i, Fate{Kind: GoOn}) // its own write, which it sees from then on
		look("3", "3", "write")
		s.Kill(i)
	})
}
