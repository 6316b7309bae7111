package monitorapi

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// answering serves one status and body to every request and records what was asked.
func answering(t *testing.T, status int, body string) (base string, asked *[]url.URL) {
	t.Helper()
	asked = &[]url.URL{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		*asked = append(*asked, *r.URL)
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body))
	}))
	t.Cleanup(server.Close)
	return server.URL, asked
}

func TestJszAsksForOnePageOfEverything(t *testing.T) {
	base, asked := answering(t, http.StatusOK, `{"server_id":"A","total":3,"unheard_of":{}}`)
	got, err := Client{}.Jsz(t.Context(), base+"/", 1024, 512)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(Jsz{ServerID: "A", Total: 3}, got); diff != "" {
		t.Error(diff)
	}
	want := url.Values{"accounts": {"true"}, "streams": {"true"}, "consumers": {"true"}, "config": {"true"}, "offset": {"1024"}, "limit": {"512"}}
	if got := (*asked)[0]; got.Path != "/jsz" || !cmp.Equal(want, got.Query()) {
		t.Errorf("asked %s, want /jsz with %v", got.String(), want)
	}
}

func TestErrorsNameTheServer(t *testing.T) {
	varz := func(c Client, base string) error { _, err := c.Varz(t.Context(), base); return err }
	jsz := func(c Client, base string) error { _, err := c.Jsz(t.Context(), base, 0, 1); return err }
	for name, tc := range map[string]struct {
		status int
		body   string
		client Client
		call   func(Client, string) error
		want   string
	}{
		"not 200":                 {status: 400, body: "boolean wanted", call: jsz, want: `400 Bad Request: "boolean wanted"`},
		"not JSON":                {status: 200, body: "<html>", call: varz, want: "read the reply of /varz"},
		"cut off":                 {status: 200, body: `{"server_id":"A"`, call: jsz, want: "unexpected EOF"},
		"one byte too large":      {status: 200, body: `{"server_id":"A"}`, client: Client{maxReply: 16}, call: jsz, want: errTooLarge.Error()},
		"another service's /varz": {status: 200, body: `{"server_id":"A"}`, call: varz, want: "names no server"},
		"a /varz without an ID":   {status: 200, body: `{"server_name":"a"}`, call: varz, want: "names no server"},
		"another service's /jsz":  {status: 200, body: `{}`, call: jsz, want: "names no server"},
	} {
		t.Run(name, func(t *testing.T) {
			base, _ := answering(t, tc.status, tc.body)
			err := tc.call(tc.client, base)
			if err == nil || !strings.Contains(err.Error(), tc.want) || !strings.Contains(err.Error(), base) {
				t.Errorf("got %v, want an error with %q and %s", err, tc.want, base)
			}
		})
	}
}

func TestReplyOfExactlyTheLargestSizeIsRead(t *testing.T) {
	base, _ := answering(t, http.StatusOK, `{"server_id":"A"}`)
	if _, err := (Client{maxReply: 17}).Jsz(t.Context(), base, 0, 1); err != nil {
		t.Error(err)
	}
}

func TestServerThatHangsIsGivenUp(t *testing.T) {
	hung := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-hung }))
	t.Cleanup(server.Close)
	t.Cleanup(func() { close(hung) }) // before Close, which waits for the handler
	_, err := Client{timeout: 10 * time.Millisecond}.Varz(t.Context(), server.URL)
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v, want the deadline", err)
	}
}

func TestWantedReplicas(t *testing.T) {
	three := &StreamConfig{Replicas: 3, Retention: "limits"}
	for name, tc := range map[string]struct {
		stream         *StreamConfig
		consumer       *ConsumerConfig
		wantStream     int
		wantOfConsumer int
	}{
		"durable inherits":                   {stream: three, consumer: &ConsumerConfig{Durable: "d"}, wantStream: 3, wantOfConsumer: 3},
		"ephemeral has one":                  {stream: three, consumer: &ConsumerConfig{}, wantStream: 3, wantOfConsumer: 1},
		"ephemeral of a queue inherits":      {stream: &StreamConfig{Replicas: 3, Retention: "workqueue"}, consumer: &ConsumerConfig{}, wantStream: 3, wantOfConsumer: 3},
		"own number":                         {stream: three, consumer: &ConsumerConfig{Durable: "d", Replicas: 1}, wantStream: 3, wantOfConsumer: 1},
		"ephemeral with an own number":       {stream: three, consumer: &ConsumerConfig{Replicas: 2}, wantStream: 3, wantOfConsumer: 2},
		"never more than the stream":         {stream: &StreamConfig{Replicas: 1, Retention: "limits"}, consumer: &ConsumerConfig{Replicas: 3}, wantStream: 1, wantOfConsumer: 1},
		"standalone servers write no number": {stream: &StreamConfig{Retention: "limits"}, consumer: &ConsumerConfig{Durable: "d"}, wantStream: 1, wantOfConsumer: 1},
		"stream not read":                    {consumer: &ConsumerConfig{Durable: "d", Replicas: 3}},
		"consumer not read":                  {stream: three, wantStream: 3},
	} {
		t.Run(name, func(t *testing.T) {
			stream := Stream{Config: tc.stream}
			if got := stream.WantedReplicas(); got != tc.wantStream {
				t.Errorf("stream: got %d, want %d", got, tc.wantStream)
			}
			if got := (Consumer{Config: tc.consumer}).WantedReplicas(stream); got != tc.wantOfConsumer {
				t.Errorf("consumer: got %d, want %d", got, tc.wantOfConsumer)
			}
		})
	}
}
