# SPDX-License-Identifier: Apache-2.0
# The front door. `make help` lists what it opens.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := build
MAKEFLAGS += --no-print-directory

JOBS ?= $(shell nproc)
PROGRAM := build/release/mainspring
SOURCES = $$(find src fuzz -name '*.h' -o -name '*.cc')

configure = test -f build/$(1)/build.ninja || cmake --preset $(1)
ctest = ctest --preset $(1) --parallel $(JOBS)

.PHONY: help build demo test test-long bench lint format sanitize tsan fuzz coverage clean
.PHONY: controlplane bench-kube test-kube test-kube-1.37
.PHONY: setup setup-lint setup-coverage setup-go configured

help: ## list the targets
	@echo "Mainspring. Every target first installs what it misses (tools/setup)."
	@awk -F ':.*## ' '/^[a-z0-9.-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

build: configured ## build build/release/mainspring (the default)
	@cmake --build --preset release --parallel $(JOBS) --target mainspring

demo: build ## a busy day on a generated cluster of 512 nodes x 8 GPUs, with reasons
	@$(PROGRAM) demo

test: configured controlplane ## build everything, run all tests, on a real Kubernetes included
	@cmake --build --preset release --parallel $(JOBS)
	@$(call ctest,release) --label-exclude '^long$$'

test-long: configured controlplane ## the same without sampling: every small world and scenario
	@cmake --build --preset release --parallel $(JOBS)
	@MAINSPRING_LONG=1 $(call ctest,release) --timeout 36000

# The control plane of the tests is built once, into the cache of the user.
KUBE = 1.36
KUBE_TEST_FLAGS =
controlplane: setup-go ## build the real Kubernetes that the tests run on (etcd, API server, ...)
	@tests/e2e/controlplane/build $(KUBE) > /dev/null

test-kube: setup-go controlplane ## all tests on a real control plane of Kubernetes 1.36
	@cd tests/e2e && MAINSPRING_KUBE=$(KUBE) ../../tools/go test -count=1 -timeout 60m \
	  $(KUBE_TEST_FLAGS) ./...

test-kube-1.37: ## the same on Kubernetes 1.37
	@$(MAKE) test-kube KUBE=1.37

bench: build ## measure the budgets of the core on this machine
	@$(PROGRAM) bench

BENCH_KUBE_FLAGS =
bench-kube: ## measure on a real API server, beside kube-scheduler: one JSON document
	@$(MAKE) build controlplane >&2
	@cd bench/kube && ../../tools/go build -o ../../build/kube-bench .
	@MAINSPRING_CONTROLPLANE=$$(tests/e2e/controlplane/build) MAINSPRING=$(CURDIR)/$(PROGRAM) \
	  build/kube-bench -suite -logs build/kube-bench-logs $(BENCH_KUBE_FLAGS)

lint: setup-lint configured ## formatting, clang-tidy and the repository's own rules
	@cmake --build --preset release --target mainspring_version
	@clang-format-19 --dry-run -Werror $(SOURCES)
	@tools/tidy
	@run-clang-tidy-19 -quiet -p build/release -j $(JOBS) '/src/mainspring/.*\.cc$$' '/fuzz/.*\.cc$$'

format: setup-lint ## rewrite all C++ files in the house format
	@clang-format-19 -i $(SOURCES)

sanitize: setup ## all tests of a build that is wholly under ASan and UBSan
	@$(call configure,asan-ubsan)
	@cmake --build --preset asan-ubsan --parallel $(JOBS)
	@$(call ctest,asan-ubsan) --label-exclude '^long$$'

tsan: setup ## all tests of a build under ThreadSanitizer
	@$(call configure,tsan)
	@cmake --build --preset tsan --parallel $(JOBS)
	@$(call ctest,tsan) --label-exclude '^long$$'

FUZZ_SECONDS ?= 60
fuzz: setup-lint ## libFuzzer on every parser, FUZZ_SECONDS=60 each
	@$(call configure,fuzz)
	@cmake --build --preset fuzz --parallel $(JOBS)
	@for program in build/fuzz/*_fuzz; do \
	  name=$$(basename $$program _fuzz); mkdir -p build/fuzz/found/$$name; \
	  echo "== $$name"; \
	  $$program -max_total_time=$(FUZZ_SECONDS) -artifact_prefix=build/fuzz/$$name- \
	    build/fuzz/found/$$name fuzz/corpus/$$name; \
	done

coverage: setup-coverage ## tests with coverage, report in build/coverage/report.html
	@$(call configure,coverage)
	@cmake --build --preset coverage --parallel $(JOBS)
	@$(call ctest,coverage) --label-exclude '^long$$'
	@gcovr --root . --filter 'src/mainspring/' --exclude '.*_test\.cc' --print-summary \
	  --html-details build/coverage/report.html build/coverage

clean: ## remove all that was built
	@rm -rf build

setup:
	@tools/setup

setup-lint:
	@tools/setup --lint

setup-coverage:
	@tools/setup --coverage

setup-go:
	@tools/setup --go

configured: setup
	@$(call configure,release)
