package ledger

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
)

// Client speaks to a running ledger.
type Client struct {
	// BaseURL is the endpoint without a path, such as http://127.0.0.1:8090.
	BaseURL string
	// HTTP may have no time-out of its own shorter than the ledger's bound for finishing; nil is http.DefaultClient.
	HTTP *http.Client
}

// Ready returns nil when every stream and counter had its first acknowledgement, else an error that says what
// is waited for.
func (c Client) Ready(ctx context.Context) error {
	return c.call(ctx, http.MethodGet, "/ready", nil)
}

// Mark begins a change. It fails while another change is open.
func (c Client) Mark(ctx context.Context, name string) error {
	return c.call(ctx, http.MethodPost, "/mark?name="+url.QueryEscape(name), nil)
}

// End ends the open change.
func (c Client) End(ctx context.Context) error {
	return c.call(ctx, http.MethodPost, "/mark/end", nil)
}

// Report returns what is known now.
func (c Client) Report(ctx context.Context) (Report, error) {
	var report Report
	err := c.call(ctx, http.MethodGet, "/report", &report)
	return report, err
}

// Finish stops the publishers, drains the consumers, re-reads, compares, and returns the last report. An open
// change ends with it. Asked again it returns the same report.
func (c Client) Finish(ctx context.Context) (Report, error) {
	var report Report
	err := c.call(ctx, http.MethodPost, "/finish", &report)
	return report, err
}

func (c Client) call(ctx context.Context, method, path string, into any) error {
	request, err := http.NewRequestWithContext(ctx, method, strings.TrimSuffix(c.BaseURL, "/")+path, nil)
	if err != nil {
		return fmt.Errorf("ask the ledger: %w", err)
	}
	client := c.HTTP
	if client == nil {
		client = http.DefaultClient
	}
	response, err := client.Do(request)
	if err != nil {
		return fmt.Errorf("ask the ledger: %w", err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(response.Body, 1024))
		return fmt.Errorf("ledger: %s %s: %s: %s", method, path, response.Status, strings.TrimSpace(string(text)))
	}
	if into == nil {
		return nil
	}
	if err := json.NewDecoder(response.Body).Decode(into); err != nil {
		return fmt.Errorf("ledger: %s %s: read the answer: %w", method, path, err)
	}
	return nil
}
