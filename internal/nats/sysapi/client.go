package sysapi

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"strings"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/holdfast-dev/holdfast/internal/nats/monitorapi"
)

const (
	// requestTimeout covers one request, as in monitorapi: a server that does not answer must not hold up the judgement of
	// the others.
	requestTimeout = 2 * time.Second
	// reloadTimeout is longer: a server answers when it has applied the whole of its configuration.
	reloadTimeout = 10 * time.Second
	// maxReply bounds the memory one reply may take once it is unpacked.
	maxReply = 128 << 20
	// inbox is where replies go: the only subject that the preset lets the user subscribe to.
	inbox = "_INBOX.cluster-controller"
)

// A Client asks the servers of one NATS cluster over one connection.
type Client struct {
	conn *nats.Conn
	// cluster narrows requests to the NATS cluster of that name; empty for a server that runs alone.
	cluster string
	// refused is what a server last said that the user may not do, as *string.
	refused atomic.Pointer[string]
}

// Varz reads what the server of that name says about its process.
func (c *Client) Varz(ctx context.Context, server string) (monitorapi.Varz, error) {
	var reply monitorapi.Varz
	err := c.ask(ctx, server, "VARZ", nil, &reply)
	if err == nil && (reply.ID == "" || reply.Name == "") {
		err = fmt.Errorf("ask %s over $SYS: the reply to VARZ names no server", server)
	}
	return reply, err
}

// Jsz reads one page of the Raft groups that the server of that name holds: those of at most limit accounts from offset
// on, in the order of their IDs.
func (c *Client) Jsz(ctx context.Context, server string, offset, limit int) (monitorapi.Jsz, error) {
	var reply monitorapi.Jsz
	err := c.ask(ctx, server, "JSZ", map[string]any{
		"accounts": true, "streams": true, "consumer": true, "config": true, "offset": offset, "limit": limit,
	}, &reply)
	if err == nil && reply.ServerID == "" {
		err = fmt.Errorf("ask %s over $SYS: the reply to JSZ names no server", server)
	}
	return reply, err
}

// Reload asks the process with that ID to read its configuration again. The error is the server's own where it refused,
// and it runs on with what it had. A nil error says that it applied what it read, not what that was: the kubelet may
// not have brought the new text yet.
func (c *Client) Reload(ctx context.Context, id string) error {
	ctx, cancel := context.WithTimeout(ctx, reloadTimeout)
	defer cancel()
	return c.request(ctx, "$SYS.REQ.SERVER."+id+".RELOAD", nil, id, nil)
}

// ask sends a request to every server, of which the named one alone answers.
func (c *Client) ask(ctx context.Context, server, what string, options map[string]any, reply any) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	body := map[string]any{"server_name": server, "exact_match": true}
	if c.cluster != "" {
		body["cluster"] = c.cluster
	}
	maps.Copy(body, options)
	return c.request(ctx, "$SYS.REQ.SERVER.PING."+what, body, server, reply)
}

// request sends one request and decodes the data of its reply.
func (c *Client) request(ctx context.Context, subject string, body map[string]any, to string, reply any) error {
	failed := func(err error) error { return fmt.Errorf("ask %s over $SYS: %s: %w", to, subject, err) }
	message := nats.NewMsg(subject)
	message.Header.Set("Accept-Encoding", "gzip")
	if body != nil {
		data, err := json.Marshal(body)
		if err != nil {
			return failed(err)
		}
		message.Data = data
	}
	answer, err := c.conn.RequestMsgWithContext(ctx, message)
	if err != nil {
		return failed(c.explain(subject, err))
	}
	data, err := unpack(answer)
	if err != nil {
		return failed(err)
	}
	var envelope struct {
		Data  json.RawMessage `json:"data"`
		Error *struct {
			Description string `json:"description"`
		} `json:"error"`
	}
	if err := json.Unmarshal(data, &envelope); err != nil {
		return failed(fmt.Errorf("read the reply: %w", err))
	}
	if envelope.Error != nil {
		return failed(fmt.Errorf("%w: %s", ErrRefused, envelope.Error.Description))
	}
	if reply == nil {
		return nil
	}
	if err := json.Unmarshal(envelope.Data, reply); err != nil {
		return failed(fmt.Errorf("read the reply: %w", err))
	}
	return nil
}

var (
	// ErrRefused is in an error that is a server's own, in reply to a request that it understood, and not the want of a reply.
	ErrRefused  = errors.New("the server refused")
	errTooLarge = errors.New("the reply is too large to be read")
	errSilent   = errors.New("no answer")
)

// explain says what stands behind a request without a reply. A request that the user may not send is refused
// asynchronously, and runs into its time-out.
func (c *Client) explain(subject string, err error) error {
	if refused := c.refused.Load(); refused != nil && strings.Contains(*refused, subject) {
		return errors.New(*refused)
	}
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, nats.ErrNoResponders) {
		return errSilent
	}
	return err
}

// Denied is what a server last said that the user may not do, empty when none has. A request that is denied is answered by
// nobody, so whoever asks finds out here why.
func (c *Client) Denied() string {
	if refused := c.refused.Load(); refused != nil {
		return *refused
	}
	return ""
}

// unpack is the message's content, of at most maxReply bytes.
func unpack(message *nats.Msg) ([]byte, error) {
	switch encoding := message.Header.Get("Content-Encoding"); encoding {
	case "":
		return message.Data, nil
	case "gzip":
		zipped, err := gzip.NewReader(bytes.NewReader(message.Data))
		if err != nil {
			return nil, fmt.Errorf("unpack the reply: %w", err)
		}
		data, err := io.ReadAll(io.LimitReader(zipped, maxReply+1))
		if err != nil {
			return nil, fmt.Errorf("unpack the reply: %w", err)
		}
		if len(data) > maxReply {
			return nil, errTooLarge
		}
		return data, nil
	default:
		return nil, fmt.Errorf("the reply is encoded as %q, which was not asked for", encoding)
	}
}

// Close ends the connection.
func (c *Client) Close() { c.conn.Close() }
