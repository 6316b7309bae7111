package chart

import (
	"encoding/pem"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-dev/holdfast/api/nats/cluster/v1beta1"
	"github.com/holdfast-dev/holdfast/internal/nats/monitorapi/monitorfake"
	"github.com/holdfast-dev/holdfast/test/envtest/env"
	"github.com/holdfast-dev/holdfast/test/sim/atrest"
)

// BenchmarkAtRest counts what 1, 50 and 500 NatsClusters of three servers cost while nothing changes, and when the program
// starts anew: the memory of the shipped program, and what it asks. Their servers are replies of their monitoring ports alone.
func BenchmarkAtRest(b *testing.B) {
	r := startResting(b)
	for _, size := range []struct {
		clusters int
		watched  time.Duration
	}{
		{1, 2 * time.Minute}, // in one minute it may or may not be looked at
		{50, time.Minute},
		{500, time.Minute},
	} {
		b.Run(strconv.Itoa(size.clusters), func(b *testing.B) {
			r.grow(b, size.clusters)
			r.measure(b, size.watched)
		})
	}
	b.Run("restarted", r.restart)
}

// resting is an installation whose NatsClusters have no processes.
type resting struct {
	*installation
	namespace string // of the NatsClusters
	requests  env.Requests
	servers   monitorfake.Transport
	replica   *replica
	token     string
	clusters  int
}

// startResting runs one replica, which reaches the API server through a proxy that counts.
func startResting(b *testing.B) *resting {
	b.Helper()
	e := env.Start(b)
	r := &resting{installation: install(b, natsChart(), e.Namespace(b), map[string]any{}), namespace: e.Namespace(b)}
	target, err := url.Parse(e.Config.Host)
	r.must(err)
	// Without the administrator's certificate: the program says who it is.
	transport, err := rest.TransportFor(&rest.Config{Host: e.Config.Host, TLSClientConfig: rest.TLSClientConfig{CAData: e.Config.CAData}})
	r.must(err)
	proxy := httptest.NewUnstartedServer(&httputil.ReverseProxy{
		Rewrite:   func(request *httputil.ProxyRequest) { request.SetURL(target) },
		Transport: r.requests.Through(transport),
	})
	proxy.EnableHTTP2 = true
	proxy.StartTLS()
	b.Cleanup(proxy.Close)
	r.reach(proxy.URL, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: proxy.Certificate().Raw}))
	r.token = r.installation.token(r.scraper())
	r.replica = r.run()
	return r
}

// grow makes NatsClusters until there are so many, and returns when all of them are at rest.
func (r *resting) grow(b *testing.B, to int) {
	b.Helper()
	begin := time.Now()
	var made []*v1beta1.NatsCluster
	for number := r.clusters; number < to; number++ {
		cluster := newCluster(r.namespace, fmt.Sprintf("n%d", number))
		cluster.Spec.JetStream = &v1beta1.JetStream{VolumeClaimTemplate: &v1beta1.VolumeClaimTemplate{
			Spec: corev1.PersistentVolumeClaimSpec{Resources: corev1.VolumeResourceRequirements{
				Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("20Gi")},
			}},
		}}
		r.must(r.env.Client.Create(b.Context(), cluster))
		made = append(made, cluster)
	}
	for _, cluster := range made {
		addresses := r.listen()
		r.Eventually(func() error {
			return atrest.Pretend(b.Context(), r.env.Client, &r.servers, cluster, addresses...)
		}).Should(gomega.Succeed())
	}
	r.Eventually(func() (int, error) {
		var list v1beta1.NatsClusterList
		err := r.env.Client.List(b.Context(), &list, client.InNamespace(r.namespace))
		atRest := 0
		for _, cluster := range list.Items {
			if atrest.Holds(&cluster) {
				atRest++
			}
		}
		return atRest, err
	}).Should(gomega.Equal(to))
	b.ReportMetric(time.Since(begin).Seconds(), "until-at-rest-s")
}

// listen has the monitoring ports of another three servers answer.
func (r *resting) listen() (addresses []string) {
	r.Helper()
	for i := range 3 {
		n := r.clusters*3 + i
		addresses = append(addresses, fmt.Sprintf("127.%d.%d.%d", 128+os.Getpid()%100, n/250, n%250+1))
		listener, err := net.Listen("tcp", addresses[i]+":8222")
		r.must(err)
		server := &http.Server{Handler: &r.servers, ReadHeaderTimeout: time.Minute}
		go func() { _ = server.Serve(listener) }()
		r.Cleanup(func() { _ = server.Close() })
	}
	r.clusters++
	return addresses
}

// measure watches for so long, and reports by the minute.
func (r *resting) measure(b *testing.B, watched time.Duration) {
	b.Helper()
	const cycles = "go_gc_cycles_total_gc_cycles_total"
	collected := r.gauge(cycles)
	r.requests.Take()
	asked := r.servers.Requests()
	<-time.After(watched)
	counts := r.counted(asked)
	for what, n := range counts {
		b.ReportMetric(float64(n)/watched.Minutes(), what+"/min")
	}
	// Once it has been collected, which the runtime does every two minutes if nothing else makes it.
	r.Eventually(func() float64 { return r.gauge(cycles) }).Should(gomega.BeNumerically(">", collected))
	b.ReportMetric(r.gauge("go_gc_heap_live_bytes")/(1<<20), "heap-MiB")
	b.ReportMetric(r.kilobytes("VmRSS")/1024, "rss-MiB")
	b.ReportMetric(r.peak(), "peak-MiB")
}

// restart has the program end and start again, and look at every NatsCluster.
func (r *resting) restart(b *testing.B) {
	r.replica.stop(syscall.SIGTERM)
	begin := time.Now()
	r.requests.Take()
	asked := r.servers.Requests()
	r.replica = r.run()
	r.Eventually(func() int { return r.servers.Requests() - asked }).Should(gomega.BeNumerically(">=", 2*3*r.clusters))
	b.ReportMetric(time.Since(begin).Seconds(), "until-looked-at-s")
	counts := r.counted(asked)
	for what, n := range counts {
		b.ReportMetric(float64(n), what)
	}
	b.ReportMetric(r.peak(), "peak-MiB")
}

// peak is the most memory that the program had so far and that the kernel could not have taken back: without the pages of
// its file.
func (r *resting) peak() float64 { return (r.kilobytes("VmHWM") - r.kilobytes("RssFile")) / 1024 }

// counted is what was asked since the last call, and of the servers since they had been asked so often.
func (r *resting) counted(asked int) map[string]int {
	counts := map[string]int{"get": 0, "list": 0, "watch": 0, "writes": 0, "lease": 0, "servers": r.servers.Requests() - asked}
	for what, n := range r.requests.Take() {
		switch {
		case what.Resource == "leases":
			counts["lease"] += n
		case what.Writes():
			counts["writes"] += n
		default:
			counts[what.Verb] += n
		}
	}
	return counts
}

// kilobytes reads what the kernel says of the program's memory.
func (r *resting) kilobytes(name string) float64 {
	r.Helper()
	content, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", r.replica.cmd.Process.Pid))
	r.must(err)
	for line := range strings.Lines(string(content)) {
		if words := strings.Fields(line); len(words) > 1 && words[0] == name+":" {
			number, err := strconv.ParseFloat(words[1], 64)
			r.must(err)
			return number
		}
	}
	r.Fatalf("the kernel does not say %s", name)
	return 0
}

// gauge reads one of the program's metrics.
func (r *resting) gauge(name string) float64 {
	r.Helper()
	status, body := r.scrape(r.replica, r.token)
	for line := range strings.Lines(body) {
		if value, ok := strings.CutPrefix(line, name+" "); ok {
			number, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
			r.must(err)
			return number
		}
	}
	r.Fatalf("%d, and no metric %s", status, name)
	return 0
}
