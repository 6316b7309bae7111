module github.com/holdfast-dev/holdfast/test/ledger

go 1.26.0

require (
	github.com/google/go-cmp v0.7.0
	github.com/holdfast-dev/holdfast v0.0.0
	github.com/nats-io/nats.go v1.55.0
	pgregory.net/rapid v1.3.0
)

require (
	github.com/klauspost/compress v1.20.1 // indirect
	github.com/nats-io/jwt/v2 v2.8.3 // indirect
	github.com/nats-io/nkeys v0.4.17 // indirect
	github.com/nats-io/nuid v1.0.1 // indirect
	golang.org/x/crypto v0.57.0 // indirect
	golang.org/x/sys v0.50.0 // indirect
)

replace github.com/holdfast-dev/holdfast => ../..
