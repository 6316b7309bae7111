package certificates

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

// Thirty years of renewals, looked at every fifth day, one server restarted each time while there is something to
// bring: at each moment every server trusts every other one.
func TestDecadesOfRenewals(t *testing.T) {
	l := running(t)
	renewals := map[ActionKind]int{}
	for day := 0; day < 30*365; day += 5 {
		done, plan := l.settle()
		for _, kind := range done {
			renewals[kind]++
		}
		restarted := false
		for i := range l.servers {
			if l.servers[i].digest != plan.Named.Routes.Digest && !restarted {
				l.start(i)
				restarted = true
			}
		}
		if why := l.distrust(); why != "" {
			t.Fatalf("%s, after %v: %s", l.now, done, why)
		}
		l.now = l.now.Add(5 * 24 * time.Hour)
	}
	// A certificate each 245 days (two thirds of a year, and the day after that is looked at); a CA with the first
	// certificate after two thirds of ten years.
	if renewals[Issue] != 44 || renewals[RenewCA] != 4 || len(renewals) != 2 {
		t.Errorf("renewals in thirty years: %v", renewals)
	}
}

// Whatever a user does to one of the Secrets, however late the controller and the rollout come: no server that runs
// is ever cut off from the others.
func TestServersAlwaysTrustEachOther(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := running(t)
		check := func() {
			if why := l.distrust(); why != "" {
				t.Fatalf("%s: %s", l.now, why)
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"": func(*rapid.T) { check() },
			"controller": func(*rapid.T) {
				l.step()
			},
			"restart": func(t *rapid.T) {
				if l.tls == nil || !l.world().shownIn(l.tls, l.now).usable {
					t.Skip("a Pod would not start")
				}
				l.start(rapid.IntRange(0, 2).Draw(t, "server"))
			},
			"lose the CA": func(t *rapid.T) {
				if !l.whole() {
					t.Skip("one loss at a time")
				}
				l.ca = nil
			},
			"lose the pair": func(t *rapid.T) {
				if !l.whole() {
					t.Skip("one loss at a time")
				}
				l.tls = nil
			},
			"damage the pair": func(t *rapid.T) {
				if !l.whole() {
					t.Skip("one loss at a time")
				}
				key := rapid.SampledFrom([]string{"tls.crt", "tls.key", "ca.crt"}).Draw(t, "key")
				l.tls = secret(tlsName, map[string][]byte{"tls.crt": l.tls.Data["tls.crt"], "tls.key": l.tls.Data["tls.key"], "ca.crt": l.tls.Data["ca.crt"]})
				l.tls.Data[key] = []byte("x")
			},
			"time": func(t *rapid.T) {
				// The controller and a rollout come around within this time.
				l.now = l.now.Add(time.Duration(rapid.IntRange(1, 60).Draw(t, "days")) * 24 * time.Hour)
				l.settle()
				if l.tls != nil && l.world().shownIn(l.tls, l.now).usable {
					for i := range l.servers {
						l.start(i)
						check()
					}
				}
			},
		})
	})
}
