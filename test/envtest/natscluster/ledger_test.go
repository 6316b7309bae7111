package natscluster

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"

	"github.com/onsi/gomega"
)

// A book is the ledger (test/ledger), as a process: it publishes, and knows what was acknowledged.
type book struct {
	l    *lab
	base string
	stop func()
}

// ledgerReport is what is read of the ledger's report.
type ledgerReport struct {
	OK      bool
	Reasons []string
	Changes []change
}

// change is what the ledger counted between a mark and its end.
type change struct {
	Gaps gaps
}

// gaps are the times between two acknowledgements of a stream.
type gaps struct{ LongestMillis, P99Millis float64 }

// buildLedger is the path of the ledger's program.
func (l *lab) buildLedger() string {
	l.Helper()
	program := filepath.Join(l.TempDir(), "ledger")
	build := exec.CommandContext(l.Context(), "go", "-C", filepath.Join("..", "..", "ledger"), "build", "-o", program, "./cmd/ledger")
	if said, err := build.CombinedOutput(); err != nil {
		l.Fatalf("%v\n%s", err, said)
	}
	return program
}

// startLedger runs the ledger on the servers of demo until it has finished. It returns when every stream had its first
// acknowledgement. So many streams that hardly a server has no client.
func (l *lab) startLedger(program, name string) *book {
	l.Helper()
	address := fmt.Sprintf("127.0.0.1:%d", freePorts(l.TB, 1)[0])
	var output bytes.Buffer
	cmd := exec.Command(program, "nats", "--url", l.clientURL(trio...), "--http", address, "--name", name, "--streams", "11", "--rate", "20")
	cmd.Stdout, cmd.Stderr = &output, &output
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		l.Fatal(err)
	}
	b := &book{l: l, base: "http://" + address}
	b.stop = sync.OnceFunc(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait()
	})
	l.Cleanup(func() {
		b.stop()
		if l.Failed() {
			l.Logf("%v wrote:\n%s", cmd.Args, output.String())
		}
	})
	l.Eventually(func() error { return b.ask(http.MethodGet, "/ready", nil) }).Should(gomega.Succeed())
	return b
}

// during marks what happens while do runs, and gives what the ledger counted meanwhile.
func (b *book) during(name string, do func()) gaps {
	b.l.Helper()
	b.must(b.ask(http.MethodPost, "/mark?name="+url.QueryEscape(name), nil))
	do()
	b.must(b.ask(http.MethodPost, "/mark/end", nil))
	var so ledgerReport
	b.must(b.ask(http.MethodGet, "/report", &so))
	return so.Changes[len(so.Changes)-1].Gaps
}

// finish ends the ledger, and fails unless everything that was acknowledged is there.
func (b *book) finish() {
	b.l.Helper()
	var last ledgerReport
	b.must(b.ask(http.MethodPost, "/finish", &last))
	b.stop()
	if !last.OK {
		b.l.Fatalf("the ledger is not content: %v", last.Reasons)
	}
}

func (b *book) must(err error) {
	b.l.Helper()
	if err != nil {
		b.l.Fatal("the ledger:", err)
	}
}

func (b *book) ask(method, path string, into any) error {
	request, err := http.NewRequestWithContext(b.l.Context(), method, b.base+path, nil)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s %s: %s", method, path, response.Status)
	}
	if into == nil {
		return nil
	}
	return json.NewDecoder(response.Body).Decode(into)
}
