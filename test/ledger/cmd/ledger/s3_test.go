package main

import (
	"encoding/pem"
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
)

// TestS3 runs the program against a service with TLS, with what it needs from a folder. What it finds is tested where
// the workload is.
func TestS3(t *testing.T) {
	backend := s3mem.New()
	must(t, backend.CreateBucket("shop"))
	server := httptest.NewTLSServer(gofakes3.New(backend).Server())
	t.Cleanup(server.Close)
	access := t.TempDir()
	for name, content := range map[string]string{
		"ca.crt":        string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})),
		"access-key-id": "somebody\n", "secret-access-key": "secret\n",
	} {
		must(t, os.WriteFile(filepath.Join(access, name), []byte(content), 0o600))
	}

	client := startProgram(t, []string{"S3_URL=" + server.URL}, "s3", "--name", "shop", "--bucket", "shop", "--access", access,
		"--writers", "2", "--keys", "50", "--rate", "50", "--minimum", "10")
	eventually(t, time.Minute, "ledger ready", client.Ready)
	must(t, client.Mark(t.Context(), "busy"))
	awaitAcknowledged(t, client, 10)
	report := finish(t, client)
	expect(t, report, nil)
	if report.Unit != "writes" || report.Changes[0].Acknowledged < 20 || report.Whole.Count("objects read back") == 0 {
		t.Errorf("%+v", report)
	}
	table, err := exec.CommandContext(t.Context(), program, "report", "--url", client.BaseURL).Output()
	must(t, err)
	if want := fmt.Sprintf("%d\nobjects created ", report.Acknowledged); !strings.Contains(string(table), want) {
		t.Errorf("the table lacks %q:\n%s", want, table)
	}

	out, err := exec.CommandContext(t.Context(), program, "s3", "--url", server.URL, "--name", "shop", "--bucket", "shop", "--access", access, "--http", "127.0.0.1:0").CombinedOutput()
	if err == nil || !strings.Contains(string(out), "bucket shop, under shop/, already holds objects") {
		t.Errorf("a second ledger of the same name: %v\n%s", err, out)
	}
}
