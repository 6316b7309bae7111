// Command ledger runs a workload that keeps account of what was acknowledged (package natsload or s3load), or
// prints the report of one that runs.
//
//	ledger nats --url nats://demo:4222 --name demo --http :8090
//	ledger s3 --url http://demo:3900 --members http://demo-0.demo:3900,http://demo-1.demo:3900 --bucket demo
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
	"github.com/holdfast-dev/holdfast/test/ledger/natsload"
	"github.com/holdfast-dev/holdfast/test/ledger/run"
	"github.com/holdfast-dev/holdfast/test/ledger/s3load"
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
		case "nats":
			return runNATS(ctx, args[1:])
		case "s3":
			return runS3(ctx, args[1:])
		case "report":
			return report(ctx, args[1:])
		}
	}
	return errors.New("say what to do: ledger nats --help, ledger s3 --help, or ledger report --help")
}

func runNATS(ctx context.Context, args []string) error {
	config := natsload.Config{}
	o := newOptions("ledger nats", &config.Config, "messages", "names of streams and bucket", 50)
	o.flags.StringVar(&config.URL, "url", os.Getenv("NATS_URL"), "NATS URLs, comma separated (default $NATS_URL)")
	o.flags.StringVar(&config.Access, "access", "", "folder that may hold user.creds, to sign in with, and ca.crt, the authority for tls:// URLs")
	o.flags.IntVar(&config.Streams, "streams", 5, "number of streams")
	o.flags.IntVar(&config.Replicas, "replicas", 3, "replicas of each stream and of the bucket; 1 for a standalone server")
	o.flags.IntVar(&config.Counters, "counters", 2, "number of counters in the key-value bucket, two writers each, as fast as the publishers; 0 for none")
	return o.run(ctx, args, func(log *slog.Logger) (*run.Book, error) { return natsload.New(config, log) })
}

func runS3(ctx context.Context, args []string) error {
	config := s3load.Config{}
	o := newOptions("ledger s3", &config.Config, "writes", "keys", 10)
	o.flags.StringVar(&config.URL, "url", os.Getenv("S3_URL"), "endpoints to write through, comma separated; each attempt takes the next (default $S3_URL)")
	o.flags.StringVar(&config.Members, "members", os.Getenv("S3_MEMBERS"), "endpoints to read through, comma separated, each address of each for itself, such as those of a headless Service (default $S3_MEMBERS, or those of --url)")
	o.flags.StringVar(&config.Access, "access", "", "folder with access-key-id and secret-access-key, and perhaps ca.crt, the authority for https:// URLs (default $AWS_ACCESS_KEY_ID and $AWS_SECRET_ACCESS_KEY)")
	o.flags.StringVar(&config.Bucket, "bucket", "ledger", "bucket, which must exist")
	o.flags.StringVar(&config.Region, "region", "garage", "region that requests are signed for")
	o.flags.IntVar(&config.Writers, "writers", 4, "number of writers")
	o.flags.IntVar(&config.Keys, "keys", 1000, "keys of each writer")
	return o.run(ctx, args, func(log *slog.Logger) (*run.Book, error) { return s3load.New(config, log) })
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

// options are what the workloads have in common on the command line.
type options struct {
	flags            *flag.FlagSet
	config           *run.Config
	rate             *float64
	address, journal *string
	debug            *bool
}

func newOptions(name string, config *run.Config, unit, names string, rate float64) *options {
	flags := flag.NewFlagSet(name, flag.ExitOnError)
	flags.StringVar(&config.Name, "name", "ledger", "begin of the "+names)
	flags.IntVar(&config.Minimum, "minimum", 100, unit+" that must be acknowledged during each change")
	flags.DurationVar(&config.Bound, "bound", time.Minute, "how long each part of the finish may take")
	return &options{
		flags: flags, config: config,
		rate:    flags.Float64("rate", rate, unit+" per second and writer"),
		address: flags.String("http", ":8090", "address of the HTTP endpoint"),
		journal: flags.String("journal", "", "file that gets one line per acknowledgement; empty for none"),
		debug:   flags.Bool("debug", false, "log each failed request"),
	}
}

// run runs a workload and its endpoint until one of them fails or ctx ends.
func (o *options) run(ctx context.Context, args []string, begin func(*slog.Logger) (*run.Book, error)) error {
	if err := o.flags.Parse(args); err != nil {
		return err
	}
	if *o.rate <= 0 {
		return errors.New("--rate must be above zero")
	}
	o.config.Interval = time.Duration(float64(time.Second) / *o.rate)
	if *o.journal != "" {
		file, err := os.OpenFile(*o.journal, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			return fmt.Errorf("open the journal: %w", err)
		}
		defer file.Close()
		o.config.Journal = file
	}
	level := slog.LevelInfo
	if *o.debug {
		level = slog.LevelDebug
	}
	book, err := begin(slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: level})))
	if err != nil {
		return err
	}
	return serve(ctx, book, *o.address)
}

func serve(ctx context.Context, book *run.Book, address string) error {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return fmt.Errorf("serve HTTP: %w", err)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	server := &http.Server{Handler: book.Handler(), ReadHeaderTimeout: 5 * time.Second}
	go func() { cancel(server.Serve(listener)) }()
	defer server.Close()
	if err := book.Run(ctx); err != nil && !errors.Is(err, context.Canceled) {
		return err
	}
	if cause := context.Cause(ctx); !errors.Is(cause, context.Canceled) {
		return fmt.Errorf("serve HTTP: %w", cause)
	}
	return nil
}
