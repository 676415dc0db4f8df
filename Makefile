# Builds, tests and runs Martlet. `make help` lists the targets.
SHELL := /bin/bash
.DEFAULT_GOAL := help

SWIFT ?= swift
DEBUG := .build/debug
RELEASE := .build/release
# Swift is linked statically, so the programs need no RUNPATH, in which others could place a library.
RELEASE_FLAGS := -c release --static-swift-stdlib --disable-local-rpath -Xswiftc -no-toolchain-stdlib-rpath
SOURCES := Package.swift Sources Tests Tools clients

.PHONY: help deps build build-debug docs check core build-chaos build-tests image deb release release-check install uninstall test-deploy chaos demo up down bench bench-peers soak screenshots bench-dashboard test test-api test-browser test-engines test-producers test-matrix test-migration test-linking test-quick lint format fuzz sanitize clean

help: ## List the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{ printf "  make %-14s %s\n", $$1, $$2 }'

deps: ## Install the Debian packages that are missing
	@deploy/scripts/install-dependencies

build: deps ## Build martlet and apns-simulator, optimised, into .build/release
	$(SWIFT) build $(RELEASE_FLAGS) --product martlet
	$(SWIFT) build $(RELEASE_FLAGS) --product apns-simulator

# As the tests need them: in a third of the time of `make build`, and `make test` does not build them again.
build-debug: deps
	$(SWIFT) build --product martlet
	$(SWIFT) build --product apns-simulator

image: ## Build the container image, with Docker or buildah; TAG names it
	@deploy/scripts/build-image $(or $(TAG),martlet)

install: build ## Install programs, units, man pages and completions; PREFIX and DESTDIR set where
	@DESTDIR='$(DESTDIR)' PREFIX='$(PREFIX)' deploy/scripts/install $(RELEASE)

deb: build ## Make the Debian package, into .build/packages
	@deploy/scripts/build-package $(RELEASE) .build/packages

release: deps ## Make a release of the commit that is checked out, into .build/releases; VERSION names it
	@deploy/scripts/release '$(VERSION)'

release-check: ## Run what a release must pass, two hours; PREVIOUS names the package of the last release
	@.ci/release-check $(PREVIOUS)

uninstall: ## Remove what `make install` has installed
	@DESTDIR='$(DESTDIR)' PREFIX='$(PREFIX)' deploy/scripts/install --uninstall

demo: build-debug ## Send 20,000 jobs from redis-cli to a simulated APNs and print a table
	@deploy/scripts/demo $(DEBUG)

up: build-debug ## Start Redis, a simulated APNs, a worker, a sidecar and a dashboard, and leave them running
	@deploy/scripts/up $(DEBUG)

down: ## Stop what `make up` started
	@deploy/scripts/down

build-tests: deps ## Build the tests, and the programs that they start
	$(SWIFT) build --build-tests

test: build-tests ## Run every test: pure, integration, chaos
	@Tests/run

docs: build-tests ## Make what is made from declarations: manual pages, completions, tables of pages
	@MAKE_DOCS=1 .build/debug/martletPackageTests.xctest --testing-library swift-testing --filter MadeFilesTests > .build/docs.log 2>&1 || { cat .build/docs.log; exit 1; }

check: ## Run every check there is: what a change must pass (.ci/run), then all others; about an hour
	@.ci/check

test-api: build ## Run the commands of the pages, and schemathesis on every route of /openapi.json; EXAMPLES=100 tries more
	@Tests/API/check-api $(RELEASE) $(EXAMPLES)

test-browser: build ## Try the dashboard in a browser: pages, actions, keyboard, axe, hostile requests; NAMES='hostile proxy' runs some
	@Tests/Browser/check-browser $(RELEASE) $(NAMES)

test-engines: build-tests ## Run the tests of queue, registry and sidecar on Redis 6.2 and Valkey 8.1
	@SWIFT=$(SWIFT) Tests/Engines/run

test-producers: build ## Run every example of docs/producers.md and docs/testing.md in its language
	@Tests/Producers/check-producers $(RELEASE)

test-matrix: build ## Let a real Synapse from PyPI send through the Matrix push gateway to a simulated APNs
	@Tests/Matrix/check-matrix $(RELEASE)

test-migration: build ## Run the recipe of docs/migrating.md for two senders, with differences that it must find
	@Tests/Migration/check-migration $(RELEASE)

test-linking: build ## Check how martlet and apns-simulator are linked
	@Tests/Linking/check-linking $(RELEASE)

test-deploy: build ## Check everything under deploy/: image, compose, Kubernetes, systemd, alerts, recovery, installer
	@for check in install package compose systemd kubernetes watching recovery image; do Tests/Deploy/check-$$check $(RELEASE) || exit; done

build-chaos: build ## Build what make chaos runs
	$(SWIFT) build $(RELEASE_FLAGS) --product martlet-chaos

chaos: build-chaos ## Inject faults into a fleet and judge whether it keeps its promises; SEED=n repeats a run, FAULTS=n sets their number, CLUSTER=1 runs on a Redis Cluster, LOAD=live-activities SEEDS=n judges Live Activities
ifeq ($(LOAD),live-activities)
	@Tests/LiveActivities/check-live-activities $(RELEASE) $(or $(SEEDS),20) $(SEED)
else
	@$(RELEASE)/martlet-chaos $(if $(SEED),--seed $(SEED)) $(if $(FAULTS),--faults $(FAULTS)) $(if $(CLUSTER),--cluster)
endif

core: deps ## Build and test Martlet without its parts, in .build/parts
	@Tests/Parts/check-parts core

test-quick: build-tests ## Run the tests that start no server: a minute if they are built
	@Tests/run --quick

bench: build ## Measure every budget into docs/bench.md; QUICK=1 takes under two minutes
	@bench/install-dependencies
	$(SWIFT) build $(RELEASE_FLAGS) --product martlet-bench
	@QUICK=$(QUICK) PRIORITY=$(PRIORITY) bench/run $(RELEASE)

bench-dashboard: build ## Measure what each page of the dashboard costs at full size, into docs/dashboard.md; QUICK=1 takes a tenth of the size
	@QUICK=$(QUICK) bench/dashboard $(RELEASE)

screenshots: build ## Make the pictures of the dashboard in docs/images
	@Tests/Browser/install
	@PYTHONDONTWRITEBYTECODE=1 .build/browser/bin/python Tests/Browser/screenshots.py $(RELEASE) docs/images

bench-peers: build ## Measure other workers with the same work into docs/bench.md
	@bench/peers/install-dependencies
	@bench/peers/run $(RELEASE) $(if $(QUICK),--rounds 1)

soak: build ## Run a worker and a sidecar under load and faults, and fail if they grow; MINUTES sets how long, 30 by default
	@bench/soak $(RELEASE) $(MINUTES)

lint: ## Check the style
	$(SWIFT) format lint --strict --recursive $(SOURCES)

format: ## Correct the style
	$(SWIFT) format format --in-place --recursive $(SOURCES)

fuzz: deps ## Try inputs from outside at random; SECONDS for each, TARGET names one, KEEP=1 keeps inputs that reach new code
ifneq ($(TARGET),state)
	@MARTLET_BUILD=fuzz $(SWIFT) build -c release --product martlet-fuzz --scratch-path .build/fuzz \
	  -Xswiftc -sanitize=fuzzer,address -Xswiftc -enable-testing -Xswiftc -use-ld=lld
endif
ifneq ($(filter state,$(or $(TARGET),state)),)
	@$(MAKE) --no-print-directory build
endif
	@KEEP=$(KEEP) Tests/Fuzz/run .build/fuzz/release/martlet-fuzz $(or $(SECONDS),60) $(TARGET)

sanitize: deps ## Run the tests of what calls C with sanitizers; SANITIZER=address or thread runs one
	@for sanitizer in $(or $(SANITIZER),address thread); do Tests/Sanitizers/run $$sanitizer || exit; done

clean: ## Remove the build directory
	rm -rf .build
