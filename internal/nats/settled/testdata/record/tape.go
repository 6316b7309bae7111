package main

import (
	"bytes"
	"io"
	"net/http"
	"sync"
)

// tape is a transport that keeps every reply.
type tape struct {
	mu   sync.Mutex
	kept []reply
}

type reply struct {
	url  string
	body []byte
}

func (t *tape) replies() []reply {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.kept
}

// RoundTrip implements http.RoundTripper.
func (t *tape) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := http.DefaultTransport.RoundTrip(request)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, err
	}
	t.mu.Lock()
	t.kept = append(t.kept, reply{url: request.URL.String(), body: body})
	t.mu.Unlock()
	response.Body = io.NopCloser(bytes.NewReader(body))
	return response, nil
}
