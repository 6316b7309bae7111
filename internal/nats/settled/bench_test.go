package settled

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/internal/nats/monitorapi"
	"github.com/holdfast-dev/holdfast/internal/nats/monitorapi/monitorfake"
)

// kept is a MonitorAPI that decodes replies kept in memory.
type kept map[string]struct{ varz, jsz []byte }

func (k kept) Varz(_ context.Context, base string) (reply monitorapi.Varz, err error) {
	return reply, json.Unmarshal(k[base].varz, &reply)
}

func (k kept) Jsz(_ context.Context, base string, _, _ int) (reply monitorapi.Jsz, err error) {
	return reply, json.Unmarshal(k[base].jsz, &reply)
}

// large is what 100 servers answer that hold 10,000 streams of three copies, each with a consumer, in ten accounts.
func large(b *testing.B) (replies kept, targets []Target, size int) {
	b.Helper()
	var cluster monitorfake.Cluster
	for i := range 100 {
		name := fmt.Sprintf("demo-%d", i)
		url := fmt.Sprintf("http://%s:8222", name)
		cluster.Servers = append(cluster.Servers, monitorfake.Server{Name: name, URL: url, Version: "2.15.3"})
		targets = append(targets, Target{Name: name, At: url})
	}
	for i := range 10_000 {
		cluster.Streams = append(cluster.Streams, monitorfake.Stream{
			Account: fmt.Sprintf("A%d", i%10), Name: fmt.Sprintf("STREAM-%d", i), Replicas: 3, Consumers: 1,
		})
	}
	transport := &monitorfake.Transport{}
	if err := transport.Serve(cluster); err != nil {
		b.Fatal(err)
	}
	fetch := func(address string) []byte {
		request, err := http.NewRequestWithContext(b.Context(), http.MethodGet, address, nil)
		if err != nil {
			b.Fatal(err)
		}
		response, err := transport.RoundTrip(request)
		if err != nil {
			b.Fatal(err)
		}
		defer func() { _ = response.Body.Close() }()
		body, err := io.ReadAll(response.Body)
		if err != nil {
			b.Fatal(err)
		}
		return body
	}
	replies = kept{}
	for _, target := range targets {
		reply := replies[target.At]
		reply.varz, reply.jsz = fetch(target.At+"/varz"), fetch(target.At+"/jsz?offset=0&limit=1024")
		replies[target.At] = reply
		size += len(reply.varz) + len(reply.jsz)
	}
	return replies, targets, size
}

// rounds is how often a verdict is measured.
const rounds = 9

// BenchmarkVerdict compares a verdict with its part that no judgement can be had without: the decoding of the replies. The
// two take turns, each on a heap without rubbish, so that what else the machine does is in both. Its figures are medians.
func BenchmarkVerdict(b *testing.B) {
	replies, targets, size := large(b)
	var decoding, judging, ratios []float64
	for range rounds {
		runtime.GC()
		begin := time.Now()
		replies.decode(b, targets)
		decode := time.Since(begin).Seconds()
		runtime.GC()
		begin = time.Now()
		replies.judge(b, targets)
		judge := time.Since(begin).Seconds()
		decoding, judging, ratios = append(decoding, decode), append(judging, judge), append(ratios, judge/decode)
	}
	b.ReportMetric(float64(size)/1e6, "replies-MB")
	for unit, figures := range map[string][]float64{"decoding-s": decoding, "verdict-s": judging, "verdict/decoding": ratios} {
		slices.Sort(figures)
		b.ReportMetric(figures[rounds/2], unit)
	}
}

func (k kept) decode(b *testing.B, targets []Target) {
	b.Helper()
	for _, target := range targets {
		if _, err := k.Varz(b.Context(), target.At); err != nil {
			b.Fatal(err)
		}
		if _, err := k.Jsz(b.Context(), target.At, 0, accountsPerPage); err != nil {
			b.Fatal(err)
		}
	}
}

// judge decodes the same one after the other, and judges.
func (k kept) judge(b *testing.B, targets []Target) {
	b.Helper()
	r := reader{api: k, jetstream: true, page: accountsPerPage}
	o := Observation{JetStream: true}
	for _, target := range targets {
		o.Servers = append(o.Servers, Server{Name: target.Name, Answer: r.ask(b.Context(), target)})
	}
	if v := Judge(o); !v.Settled {
		b.Fatalf("%s: %s", v.Reason, v.Message)
	}
}
