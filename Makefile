# kruise-rollout: `make` alone lists what there is.
SHELL := bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

BIN   := $(CURDIR)/bin
# -trimpath everywhere: what is built once on a machine serves all its clones.
PLANE := go run -trimpath ./test/controlplane/cmd/plane
# Where `make up` keeps its control plane.
UP    := $(CURDIR)/.local/up
FOCUS ?= .
# Tests of these have a control plane to themselves, one after the other.
ALONE := demo|e2e|mechanism

##@ Try it

.PHONY: help
help: ## List the targets
	@awk 'BEGIN {FS = ":.*## "} /^##@/ {printf "\n%s\n", substr($$0, 5)} /^[a-z0-9-]+:.*## / {printf "  %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: demo
demo: ## Watch two real releases on a real control plane
	@echo "building the operator and the demo (minutes if Kubernetes was never compiled on this machine)"
	@$(MAKE) build
	@go build -trimpath -o $(BIN)/demo ./test/demo
	@$(BIN)/demo --operator $(BIN)/manager

.PHONY: up
up: build ## Start a control plane with the operator and leave it running
	@$(PLANE) up --dir $(UP) --operator $(BIN)/manager

.PHONY: down
down: ## Take down what `make up` started
	@$(PLANE) down --dir $(UP)

##@ Build and test

.PHONY: build
build: ## Build the operator into bin/manager
	@go build -trimpath -o $(BIN)/manager .

.PHONY: test
test: programs ## Run every test, as CI does
	@all=$$(go list ./...); go test -race -shuffle=on -timeout 20m $$(grep -vE '/test/($(ALONE))' <<<"$$all")
	@all=$$(go list ./test/...); go test -count=1 -p 1 -timeout 40m $$(grep -E '/test/($(ALONE))' <<<"$$all")

.PHONY: test-unit
test-unit: ## Run the tests that need no control plane
	@go test -race -shuffle=on ./apis/... ./pkg/... ./webhooks/...

.PHONY: test-e2e
test-e2e: programs ## Run the end-to-end tests; FOCUS=… picks by name
	@go test -count=1 -v -timeout 40m ./test/e2e/... -run '$(FOCUS)'

.PHONY: programs
programs: ## Build the control plane's programs, once per machine
	@$(PLANE) programs

##@ Change it

.PHONY: generate
generate: tools ## Write deepcopy, CRDs, RBAC, webhooks and apply configurations
	@config/tools/generate

.PHONY: verify
verify: tools ## Check that generated files are fresh and the code is clean
	@.ci/verify

.PHONY: tools
tools: ## Build the generators and linters, once per machine
	@config/tools/install
