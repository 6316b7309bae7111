// Command prometheus-nats-exporter is a STAND-IN for the program of that name, for the local cluster only:
// the real one can be had from no Go module proxy. It takes the flags and the argument that a NATS server's
// sidecar passes to the real one, and serves a few figures of /varz on the same port. Its names of metrics
// carry "standin", so that nobody takes them for the real ones.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"time"
)

const banner = "stand-in for prometheus-nats-exporter, for the local test cluster only"

type options struct {
	listen, server string
}

func main() {
	o, err := parse(os.Args[1:])
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	if err == nil {
		err = serve(o)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// parse takes the real program's flags. Those that choose what the real one collects are accepted and change
// nothing here.
func parse(args []string) (options, error) {
	flags := flag.NewFlagSet("prometheus-nats-exporter ("+banner+")", flag.ContinueOnError)
	for _, name := range []string{"connz", "connz_detailed", "routez", "subz", "varz", "healthz", "healthz_js_enabled_only", "healthz_js_server_only", "gatewayz", "leafz", "accstatz"} {
		flags.Bool(name, false, "accepted, changes nothing")
	}
	flags.String("jsz", "", "accepted, changes nothing")
	port := flags.Int("port", 7777, "port to serve metrics on")
	addr := flags.String("addr", "0.0.0.0", "address to serve metrics on")
	if err := flags.Parse(args); err != nil {
		return options{}, err
	}
	if flags.NArg() != 1 {
		return options{}, fmt.Errorf("give the server's monitoring URL as the only argument, not %q", flags.Args())
	}
	return options{listen: net.JoinHostPort(*addr, strconv.Itoa(*port)), server: flags.Arg(0)}, nil
}

func serve(o options) error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	fmt.Printf("%s: reading %s, serving on %s\n", banner, o.server, o.listen)
	server := &http.Server{Addr: o.listen, Handler: metrics(o.server), ReadHeaderTimeout: 5 * time.Second}
	go func() {
		<-ctx.Done()
		_ = server.Close()
	}()
	if err := server.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

type varz struct {
	ServerName    string `json:"server_name"`
	Version       string `json:"version"`
	Connections   int    `json:"connections"`
	Subscriptions int    `json:"subscriptions"`
	Mem           int64  `json:"mem"`
	InMsgs        int64  `json:"in_msgs"`
	OutMsgs       int64  `json:"out_msgs"`
	SlowConsumers int64  `json:"slow_consumers"`
}

// metrics answers /metrics with what the server says at that moment. A server that does not answer is shown
// as down, not as an error: the scrape itself succeeded.
func metrics(server string) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, r *http.Request) {
		v, err := read(r.Context(), server)
		fmt.Fprintf(w, "# %s\n", banner)
		if err != nil {
			fmt.Fprintf(w, "# %v\ngnatsd_standin_up 0\n", err)
			return
		}
		fmt.Fprintf(w, "gnatsd_standin_up{server_name=%q,version=%q} 1\n", v.ServerName, v.Version)
		for _, figure := range []struct {
			name  string
			value int64
		}{
			{"connections", int64(v.Connections)}, {"subscriptions", int64(v.Subscriptions)}, {"mem_bytes", v.Mem},
			{"in_msgs_total", v.InMsgs}, {"out_msgs_total", v.OutMsgs}, {"slow_consumers_total", v.SlowConsumers},
		} {
			fmt.Fprintf(w, "gnatsd_standin_%s %d\n", figure.name, figure.value)
		}
	})
	return mux
}

func read(ctx context.Context, server string) (varz, error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, server+"/varz", nil)
	if err != nil {
		return varz{}, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return varz{}, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return varz{}, fmt.Errorf("%s/varz answered %s", server, response.Status)
	}
	var v varz
	return v, json.NewDecoder(response.Body).Decode(&v)
}
