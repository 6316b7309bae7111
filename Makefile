# Every verb is one line; what has logic lives in tools/dev, test/cluster and test/stories.
# Variables: COUNT (e2e: how often in a row), RUN (tests or benchmarks by pattern), PACKAGE (mutate: one folder),
# SYSTEM (demo, e2e, images: nats or garage alone), SHOW (unit, envtest: lines of the tests' output to pass on, by pattern), ARGS (up, down, demo: flags of the command, see ARGS=-h), CLEAN_CACHE=1 (clean: the built tools too).
MAKEFLAGS += --no-print-directory
.DEFAULT_GOAL := help
COUNT ?= 1
# Every build of one kind: whether a C compiler happens to be installed would otherwise decide how the standard
# library is built, and its installation half-way would have everything built twice. And a checkout that belongs to
# another user cannot be asked for its revision.
export CGO_ENABLED ?= 0
export GOFLAGS := $(GOFLAGS) -buildvcs=false
dev := go -C tools/dev run .

.PHONY: help demo up down test verify generate lint unit envtest crash e2e bench mutate images chart clean

help: ## list the verbs
	@awk -F ':.*## ' '/^[a-z0-9]+:.*## / { printf "  make %-9s %s\n", $$1, $$2 }' Makefile

demo: ## a Kubernetes of three nodes; NATS, then Garage on it, changed under load; tables; leaves nothing behind
	@go -C test/stories run ./cmd/demo $(if $(SYSTEM),-system $(SYSTEM)) $(ARGS)

up: ## a local Kubernetes to play with
	@go -C test/cluster run ./cmd/holdfast-cluster up $(ARGS)

down: ## take it down
	@go -C test/cluster run ./cmd/holdfast-cluster down $(ARGS)

test: ## every test: L0, L3, L4 and L5, with counts
	@$(dev) test -count $(COUNT)

verify: ## generate, format, lint, vet, tidy; then the tree must be clean
	@$(dev) verify

generate: ## deep copies and CRDs from the types, and the charts' copies
	@$(dev) generate

lint: ## the linters, in every module
	@$(dev) lint

unit: ## L0: functions, decisions, builders, tools
	@$(dev) test -level L0 -run '$(RUN)' -show '$(SHOW)'

envtest: ## L3 and L4: CRDs and controllers on a real API server
	@$(dev) test -level L3,L4 -run '$(RUN)' -show '$(SHOW)'

crash: ## the controller is ended before and after every call of a rollout, and each time another one goes on
	@$(dev) test -level L4 -run '^(TestKilledAtEveryCall|TestCrashRunFindsSeededBugs)$$' -show '^(crash |[0-9]+ calls|seeded bug )'

e2e: ## L5: the stories, on local clusters
	@$(dev) test -level L5 -count $(COUNT) -run '$(RUN)' -system '$(SYSTEM)'

bench: ## the benchmarks, one figure a line
	@$(dev) bench -run '$(or $(RUN),.)'

mutate: ## mutation testing of every decide.go
	@$(dev) mutate -package '$(PACKAGE)'

images: ## the images as OCI archives, in out/images
	@go -C test/cluster run ./cmd/images $(if $(SYSTEM),--system $(SYSTEM)) $(ARGS)

chart: ## check the charts and pack them into out/charts
	@$(dev) chart

clean: ## remove out/; says where built tools lie
	@$(dev) clean $(if $(CLEAN_CACHE),-cache)
