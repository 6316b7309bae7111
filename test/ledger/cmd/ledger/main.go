// Command ledger runs the workload of package workload, or prints the report of one that runs.
//
//	ledger run --url nats://demo:4222 --name demo --http :8090
//	ledger report --url http://127.0.0.1:8090
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/holdfast-dev/holdfast/test/ledger"
	"github.com/holdfast-dev/holdfast/test/ledger/workload"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := command(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "ledger:", err)
		stop()
		os.Exit(1)
	}
}

func command(ctx context.Context, args []string) error {
	if len(args) > 0 {
		switch args[0] {
		case "run":
			return run(ctx, args[1:])
		case "report":
			return report(ctx, args[1:])
		}
	}
	return errors.New("say what to do: ledger run --help, or ledger report --help")
}

func run(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("ledger run", flag.ExitOnError)
	var (
		config  workload.Config
		rate    = flags.Float64("rate", 50, "messages per second and stream, and increments per second and writer")
		address = flags.String("http", ":8090", "address of the HTTP endpoint")
		journal = flags.String("journal", "", "file that gets one line per acknowledgement; empty for none")
		debug   = flags.Bool("debug", false, "log each failed request of consumers and counters")
	)
	flags.StringVar(&config.URL, "url", os.Getenv("NATS_URL"), "NATS URLs, comma separated (default $NATS_URL)")
	flags.StringVar(&config.Access, "access", "", "folder that may hold user.creds, to sign in with, and ca.crt, the authority for tls:// URLs")
	flags.StringVar(&config.Name, "name", "ledger", "begin of the names of streams and bucket")
	flags.IntVar(&config.Streams, "streams", 5, "number of streams")
	flags.IntVar(&config.Replicas, "replicas", 3, "replicas of each stream and of the bucket; 1 for a standalone server")
	flags.IntVar(&config.Counters, "counters", 2, "number of counters in the key-value bucket, two writers each; 0 for none")
	flags.IntVar(&config.Minimum, "minimum", 100, "messages that must be acknowledged during each change")
	flags.DurationVar(&config.Bound, "bound", time.Minute, "how long each part of the finish may take")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *rate <= 0 {
		return errors.New("--rate must be above zero")
	}
	config.Interval = time.Duration(float64(time.Second) / *rate)
	if *journal != "" {
		file, err := os.OpenFile(*journal, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			return fmt.Errorf("open the journal: %w", err)
		}
		defer file.Close()
		config.Journal = file
	}
	level := slog.LevelInfo
	if *debug {
		level = slog.LevelDebug
	}
	l, err := workload.New(config, slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: level})))
	if err != nil {
		return err
	}
	return serve(ctx, l, *address)
}

// serve runs the ledger and its endpoint until one of them fails or ctx ends.
func serve(ctx context.Context, l *workload.Ledger, address string) error {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return fmt.Errorf("serve HTTP: %w", err)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	server := &http.Server{Handler: l.Handler(), ReadHeaderTimeout: 5 * time.Second}
	go func() { cancel(server.Serve(listener)) }()
	defer server.Close()
	if err := l.Run(ctx); err != nil && !errors.Is(err, context.Canceled) {
		return err
	}
	if cause := context.Cause(ctx); !errors.Is(cause, context.Canceled) {
		return fmt.Errorf("serve HTTP: %w", cause)
	}
	return nil
}

func report(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("ledger report", flag.ExitOnError)
	url := flags.String("url", "http://127.0.0.1:8090", "HTTP endpoint of the ledger")
	if err := flags.Parse(args); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	r, err := ledger.Client{BaseURL: *url}.Report(ctx)
	if err != nil {
		return err
	}
	return ledger.WriteTable(os.Stdout, r)
}
