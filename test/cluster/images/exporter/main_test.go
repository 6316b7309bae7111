package main

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseTakesTheRealProgramsArguments(t *testing.T) {
	got, err := parse([]string{"-connz", "-routez", "-subz", "-varz", "-healthz", "-jsz=all", "-port", "7777", "http://localhost:8222"})
	want := options{listen: "0.0.0.0:7777", server: "http://localhost:8222"}
	if err != nil || got != want {
		t.Errorf("parse = %+v, %v; want %+v", got, err, want)
	}
	for name, args := range map[string][]string{"no server": {"-varz"}, "unknown flag": {"-nosuch", "http://localhost:8222"}} {
		if _, err := parse(args); err == nil {
			t.Errorf("%s was taken", name)
		}
	}
}

func TestMetricsShowTheServerAndSayWhatServesThem(t *testing.T) {
	nats := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/varz" {
			http.NotFound(w, r)
			return
		}
		_, _ = w.Write([]byte(`{"server_name":"demo-0","version":"2.15.3","connections":3,"subscriptions":7,"mem":11,"in_msgs":13,"out_msgs":17,"slow_consumers":19}`))
	}))
	want := []string{
		"# " + banner, `gnatsd_standin_up{server_name="demo-0",version="2.15.3"} 1`,
		"gnatsd_standin_connections 3", "gnatsd_standin_subscriptions 7", "gnatsd_standin_mem_bytes 11",
		"gnatsd_standin_in_msgs_total 13", "gnatsd_standin_out_msgs_total 17", "gnatsd_standin_slow_consumers_total 19", "",
	}
	if diff := cmp.Diff(want, strings.Split(scrape(t, nats.URL), "\n")); diff != "" {
		t.Errorf("metrics (-want +got):\n%s", diff)
	}
	nats.Close()
	if got := scrape(t, nats.URL); !strings.HasSuffix(got, "\ngnatsd_standin_up 0\n") {
		t.Errorf("metrics of a server that is down: %s", got)
	}
}

func scrape(t *testing.T, server string) string {
	t.Helper()
	w := httptest.NewRecorder()
	metrics(server).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	if w.Code != http.StatusOK {
		t.Fatalf("the scrape answered %d", w.Code)
	}
	return w.Body.String()
}
