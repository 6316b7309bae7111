package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/holdfast-dev/holdfast/internal/nats/sysapi/minted"
	"github.com/holdfast-dev/holdfast/test/ledger"
)

var program string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "ledger")
	if err != nil {
		panic(err)
	}
	program = filepath.Join(dir, "ledger")
	build := exec.Command("go", "build", "-o", program, ".")
	build.Stderr = os.Stderr
	if err := build.Run(); err != nil {
		fmt.Fprintln(os.Stderr, "build the program:", err)
		os.Exit(1)
	}
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

// startLedger runs the program and waits until it is ready.
func startLedger(t *testing.T, all servers, name string, args ...string) ledger.Client {
	t.Helper()
	client := launch(t, all, name, args...)
	eventually(t, time.Minute, "ledger ready", client.Ready)
	return client
}

// launch runs the program against those servers.
func launch(t *testing.T, all servers, name string, args ...string) ledger.Client {
	t.Helper()
	return startProgram(t, []string{"NATS_URL=" + all.url()}, append([]string{
		"nats", "--name", name, "--streams", "2", "--counters", "1", "--minimum", "20",
	}, args...)...)
}

// startProgram runs the program until the test ends.
func startProgram(t *testing.T, environment []string, args ...string) ledger.Client {
	t.Helper()
	address := fmt.Sprintf("127.0.0.1:%d", ports(t, 1)[0])
	process := exec.CommandContext(t.Context(), program, append(args, "--http", address)...)
	process.Env = append(os.Environ(), environment...)
	process.Stderr = t.Output()
	process.Cancel = func() error { return process.Process.Signal(syscall.SIGTERM) }
	if err := process.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := process.Wait(); err != nil && process.ProcessState.ExitCode() != 0 {
			t.Errorf("the ledger ended badly: %v", err)
		}
	})
	return ledger.Client{BaseURL: "http://" + address}
}

// awaitAcknowledged waits until the open change, the last one, has at least n messages acknowledged in every stream.
func awaitAcknowledged(t *testing.T, client ledger.Client, n uint64) ledger.Report {
	t.Helper()
	var report ledger.Report
	eventually(t, time.Minute, "messages acknowledged", func(ctx context.Context) error {
		var err error
		if report, err = client.Report(ctx); err != nil {
			return err
		}
		span := report.Whole
		if len(report.Changes) > 0 {
			span = report.Changes[len(report.Changes)-1]
		}
		for _, s := range span.Streams {
			if s.Acknowledged < n {
				return fmt.Errorf("%s: %d of %d", s.Stream, s.Acknowledged, n)
			}
		}
		return nil
	})
	return report
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func finish(t *testing.T, client ledger.Client) ledger.Report {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	report, err := client.Finish(ctx)
	must(t, err)
	if !report.Finished {
		t.Fatal("the report after the finish says that it is not finished")
	}
	return report
}

// expect compares what is wrong, and requires that each finding is explained.
func expect(t *testing.T, report ledger.Report, reasons []string, findings ...ledger.Finding) {
	t.Helper()
	if diff := cmp.Diff(findings, report.Findings, cmpopts.IgnoreFields(ledger.Finding{}, "Detail")); diff != "" {
		t.Errorf("findings (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(reasons, report.Reasons); diff != "" {
		t.Errorf("reasons (-want +got):\n%s", diff)
	}
	if report.OK != (len(reasons) == 0) {
		t.Errorf("ok is %t", report.OK)
	}
}

// The ledger is believed because of these: it reports nothing where nothing is wrong, and exactly what was done
// behind its back where something is.
func TestThreeServers(t *testing.T) {
	all := startServers(t, 3, nil)
	js := all.client(t)

	t.Run("clean run", func(t *testing.T) { cleanRun(t, all) })
	t.Run("a deleted message is lost", func(t *testing.T) {
		client := startLedger(t, all, "deleted")
		awaitAcknowledged(t, client, 10)
		stream, err := js.Stream(t.Context(), "deleted-1")
		must(t, err)
		must(t, stream.DeleteMsg(t.Context(), 7))
		expect(t, finish(t, client), []string{"1 lost"},
			ledger.Finding{Kind: ledger.Lost, Stream: "deleted-1", Sequence: 7, ID: "deleted-1/7", Count: 1})
	})
	t.Run("a deleted stream is all lost", func(t *testing.T) {
		client := startLedger(t, all, "vanished", "--streams", "1", "--bound", "7s")
		awaitAcknowledged(t, client, 10)
		must(t, js.DeleteStream(t.Context(), "vanished-0"))
		report := finish(t, client)
		if report.Acknowledged < 10 || report.Faults[ledger.Lost] != report.Acknowledged {
			t.Errorf("%d acknowledged, faults %v", report.Acknowledged, report.Faults)
		}
	})
	t.Run("copies are doubled, a stranger is foreign", func(t *testing.T) {
		client := startLedger(t, all, "copied")
		awaitAcknowledged(t, client, 10)
		publish := func(body string, options ...jetstream.PublishOpt) uint64 {
			ack, err := js.Publish(t.Context(), "ledger.copied.0", []byte(body), options...)
			must(t, err)
			return ack.Sequence
		}
		without, another, stranger := publish("copied-0/3"), publish("copied-0/4", jetstream.WithMsgID("x")), publish("hello")
		if same := publish("copied-0/5", jetstream.WithMsgID("copied-0/5")); same != 5 {
			t.Fatalf("the server did not recognise the message id: stored at %d", same)
		}
		expect(t, finish(t, client), []string{"2 doubled", "1 foreign"},
			ledger.Finding{Kind: ledger.Doubled, Stream: "copied-0", Sequence: without, ID: "copied-0/3", Count: 1},
			ledger.Finding{Kind: ledger.Doubled, Stream: "copied-0", Sequence: another, ID: "copied-0/4", Count: 1},
			ledger.Finding{Kind: ledger.Foreign, Stream: "copied-0", Sequence: stranger, ID: "hello", Count: 1})
	})
	t.Run("a counter set back has lost increments", func(t *testing.T) {
		client := startLedger(t, all, "setback")
		awaitAcknowledged(t, client, 10)
		setBack(t, js, "setback-counters", "counter-0", "a", 3)
		expect(t, finish(t, client), []string{"3 lost"},
			ledger.Finding{Kind: ledger.Lost, Stream: "setback-counters", ID: "counter-0/a", Count: 3})
	})
	t.Run("rolling restart under load", func(t *testing.T) { rollingRestart(t, all, js) })
}

func cleanRun(t *testing.T, all servers) {
	t.Helper()
	journal := filepath.Join(t.TempDir(), "journal")
	client := startLedger(t, all, "clean", "--journal", journal)
	markTwoChanges(t, client)

	report := finish(t, client)
	blink := report.Changes[1].Acknowledged
	expect(t, report, []string{fmt.Sprintf("change blink: %d messages acknowledged, at least 20 are needed to say anything", blink)})
	if report.Changes[0].Acknowledged < 60 || report.Acknowledged < report.Changes[0].Acknowledged+blink || report.Whole.Count("counter increments") < 20 {
		t.Errorf("acknowledged %d, of these %d in the change; %d increments", report.Acknowledged, report.Changes[0].Acknowledged, report.Whole.Count("counter increments"))
	}
	if gaps := report.Changes[0].Gaps; gaps.LongestMillis < gaps.P99Millis || gaps.P99Millis < 15 {
		t.Errorf("gaps %+v cannot be: messages are sent every 20 ms", gaps)
	}
	again := finish(t, client)
	if diff := cmp.Diff(report, again); diff != "" {
		t.Errorf("asked again, the finish says something else:\n%s", diff)
	}
	lines, err := os.ReadFile(journal)
	must(t, err)
	if n := strings.Count(string(lines), "\n"); uint64(n) != report.Acknowledged || !strings.Contains(string(lines), "clean-0\t1\tclean-0/1\t") {
		t.Errorf("the journal has %d lines for %d acknowledged messages", n, report.Acknowledged)
	}
	table, err := exec.CommandContext(t.Context(), program, "report", "--url", client.BaseURL).Output()
	must(t, err)
	if want := fmt.Sprintf("messages acknowledged   %d\n", report.Acknowledged); !strings.HasPrefix(string(table), want) {
		t.Errorf("the table does not begin with %q:\n%s", want, table)
	}

	// A ledger that was restarted has forgotten what it was promised: it must not go on as if nothing had been.
	out, err := exec.CommandContext(t.Context(), program, "nats", "--url", all.url(), "--name", "clean", "--http", "127.0.0.1:0").CombinedOutput()
	if err == nil || !strings.Contains(string(out), "stream clean-0 already holds messages") {
		t.Errorf("a second ledger of the same name: %v\n%s", err, out)
	}
}

// markTwoChanges marks one that is long enough and one that is over at once.
func markTwoChanges(t *testing.T, client ledger.Client) {
	t.Helper()
	refused := func(err error, because string) {
		t.Helper()
		if err == nil || !strings.Contains(err.Error(), because) {
			t.Errorf("want it refused because %q, got %v", because, err)
		}
	}
	refused(client.Mark(t.Context(), ""), "a change needs a name")
	must(t, client.Mark(t.Context(), "long enough"))
	refused(client.Mark(t.Context(), "second"), "change long enough is still open")
	if running := awaitAcknowledged(t, client, 30); running.OK || running.Finished || !running.Changes[0].Open {
		t.Errorf("running: ok %t, finished %t, change %+v", running.OK, running.Finished, running.Changes[0])
	}
	must(t, client.End(t.Context()))
	refused(client.End(t.Context()), "no change is open")
	must(t, client.Mark(t.Context(), "blink"))
	must(t, client.End(t.Context()))
}

// setBack takes n increments of one writer away.
func setBack(t *testing.T, js jetstream.JetStream, bucket, counter, writer string, n uint64) {
	t.Helper()
	kv, err := js.KeyValue(t.Context(), bucket)
	must(t, err)
	eventually(t, 20*time.Second, "counter set back", func(ctx context.Context) error {
		entry, err := kv.Get(ctx, counter)
		if err != nil {
			return err
		}
		var numbers map[string]uint64
		if err := json.Unmarshal(entry.Value(), &numbers); err != nil {
			return err
		}
		if numbers[writer] < n {
			return fmt.Errorf("only %d so far", numbers[writer])
		}
		numbers[writer] -= n
		value, err := json.Marshal(numbers)
		if err != nil {
			return err
		}
		_, err = kv.Update(ctx, counter, value, entry.Revision())
		return err
	})
}

// rollingRestart takes the servers down one after the other, the middle one without any warning.
func rollingRestart(t *testing.T, all servers, js jetstream.JetStream) {
	t.Helper()
	client := startLedger(t, all, "rolling")
	all.awaitSettled(t, js)
	for i, signal := range []syscall.Signal{syscall.SIGUSR2, syscall.SIGKILL, syscall.SIGUSR2} { // SIGUSR2 is lame duck
		must(t, client.Mark(t.Context(), all[i].name))
		all[i].end(t, signal)
		all[i].start(t)
		all.awaitSettled(t, js)
		awaitAcknowledged(t, client, 20)
		must(t, client.End(t.Context()))
	}
	report := finish(t, client)
	expect(t, report, nil)
	if len(report.Changes) != 3 {
		t.Errorf("%d changes in the report", len(report.Changes))
	}
	var table strings.Builder
	must(t, ledger.WriteTable(&table, report))
	t.Log("\n" + table.String())
}

// TestGuardedServer runs it against a server with TLS that trusts an operator. The account is made known to the server
// only when the ledger has been refused for a while.
func TestGuardedServer(t *testing.T) {
	certificate, key := selfSigned(t)
	operator := minted.NewOperator("main")
	account := operator.Account("orders", minted.WithJetStream())
	extra := operator.Settings(t.TempDir())
	extra["tls"] = map[string]any{"cert_file": certificate, "key_file": key}
	extra["resolver"].(map[string]any)["timeout"] = "50ms" // there is nobody to ask for an account
	all := startServers(t, 1, extra)

	access := t.TempDir()
	authority, err := os.ReadFile(certificate)
	must(t, err)
	must(t, os.WriteFile(filepath.Join(access, "ca.crt"), authority, 0o600))
	must(t, os.WriteFile(filepath.Join(access, "user.creds"), account.User("ledger"), 0o600))
	client := launch(t, all, "guarded", "--replicas", "1", "--access", access)
	eventually(t, time.Minute, "refused again and again", func(ctx context.Context) error {
		var refused struct{ Total int }
		if err := all[0].ask(ctx, "connz?state=closed", &refused); err != nil {
			return err
		}
		waits := fmt.Sprint(client.Ready(ctx))
		if refused.Total < 3 || !strings.Contains(waits, "Authorization Violation") {
			return fmt.Errorf("%d times so far, and the ledger says: %s", refused.Total, waits)
		}
		return nil
	})

	system, err := nats.Connect(all.url(), nats.UserCredentialBytes(operator.System.User("test")), nats.RootCAs(certificate))
	must(t, err)
	defer system.Close()
	must(t, minted.Push(t.Context(), system, 1, account))
	eventually(t, time.Minute, "ledger ready", client.Ready)
	awaitAcknowledged(t, client, 20)
	expect(t, finish(t, client), nil)
}

func TestAccessIsAFolder(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), program, "nats", "--url", "nats://127.0.0.1:1", "--access", filepath.Join(t.TempDir(), "none")).CombinedOutput()
	if err == nil || !strings.Contains(string(out), "read the folder with the credentials") {
		t.Errorf("%v\n%s", err, out)
	}
}
