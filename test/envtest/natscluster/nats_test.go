package natscluster

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// messages is how many a test keeps in a stream.
const messages = 100

// connect gives a JetStream context that the test ends itself, so that no server has a client to move as it stops.
func connect(t *testing.T, url string) (jetstream.JetStream, func()) {
	t.Helper()
	connection, err := nats.Connect(url, nats.Timeout(10*time.Second))
	if err != nil {
		t.Fatal(err)
	}
	js, err := jetstream.New(connection, jetstream.WithDefaultTimeout(20*time.Second))
	if err != nil {
		t.Fatal(err)
	}
	return js, connection.Close
}

// fill makes the stream KEEP with so many copies and puts messages into it.
func fill(t *testing.T, url string, copies int) {
	t.Helper()
	js, end := connect(t, url)
	defer end()
	ctx, cancel := context.WithTimeout(t.Context(), wait)
	defer cancel()
	config := jetstream.StreamConfig{Name: "KEEP", Subjects: []string{"keep"}, Storage: jetstream.FileStorage, Replicas: copies}
	if _, err := js.CreateStream(ctx, config); err != nil {
		t.Fatal("making the stream:", err)
	}
	for i := range messages {
		if _, err := js.Publish(ctx, "keep", fmt.Append(nil, i), jetstream.WithMsgID(fmt.Sprint(i))); err != nil {
			t.Fatalf("message %d: %v", i, err)
		}
	}
}

// kept fails unless every message is in the stream, in order.
func kept(t *testing.T, url string) {
	t.Helper()
	js, end := connect(t, url)
	defer end()
	ctx, cancel := context.WithTimeout(t.Context(), wait)
	defer cancel()
	stream, err := js.Stream(ctx, "KEEP")
	if err != nil {
		t.Fatal(err)
	}
	if state := stream.CachedInfo().State; state.Msgs != messages || state.FirstSeq != 1 || state.LastSeq != messages {
		t.Fatalf("the stream holds %+v", state)
	}
	for i := range messages {
		message, err := stream.GetMsg(ctx, uint64(i)+1)
		if err != nil || string(message.Data) != fmt.Sprint(i) {
			t.Fatalf("message %d: %q %v", i, message.Data, err)
		}
	}
}
