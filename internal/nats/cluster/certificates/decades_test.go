package certificates

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

// Thirty years of renewals, looked at every day, one server restarted a day while there is something to bring: at
// each moment every server trusts every other one.
func TestDecadesOfRenewals(t *testing.T) {
	l := running(t)
	renewals := map[ActionKind]int{}
	for day := 0; day < 30*365; day++ {
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
		if restarted || day%60 == 0 { // the check is what takes the time
			if why := l.distrust(); why != "" {
				t.Fatalf("%s, after %v: %s", l.now, done, why)
			}
		}
		l.now = l.now.Add(24 * time.Hour)
	}
	// Two thirds of a year are 244 days, of ten years 2433: a certificate each 244 days, and with the first one after
	// 2433 days a CA.
	if renewals[Issue] < 43 || renewals[Issue] > 45 || renewals[RenewCA] != 4 || len(renewals) != 2 {
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
