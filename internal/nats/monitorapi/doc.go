// Package monitorapi reads the monitoring port of a nats-server: /varz and /jsz.
//
// The port answers over HTTP without authentication, so it can be asked before anything else about a server works.
// The types hold only the fields that Holdfast uses, under the names that nats-server 2.15 gives them; unknown fields
// are ignored, so a newer server is read too. Nothing is retried and nothing is cached: one call is one request, and a
// reply that is late, too large, not JSON or not 200 is an error that names the server.
package monitorapi
