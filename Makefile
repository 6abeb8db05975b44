# SPDX-License-Identifier: Apache-2.0
# Every target installs the packages it needs and can be interrupted at any time.
MAKEFLAGS += --no-print-directory
SHELL := /bin/bash
export LONGSHORE_CACHE ?= $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/longshore
# Objects of the three builds are kept outside the checkout, if ccache is installed. Relative paths, so that every clone finds them.
ifneq ($(shell command -v ccache),)
export CMAKE_C_COMPILER_LAUNCHER ?= ccache
export CCACHE_DIR ?= $(LONGSHORE_CACHE)/ccache
export CCACHE_BASEDIR ?= $(CURDIR)
export CCACHE_NOHASHDIR ?= 1
endif
# Debian's own interpreter: the one that Debian's python3-pytest goes with.
PYTHON := /usr/bin/python3
# Of the two that releases are made for.
OTHER_ARCHITECTURE = $(filter-out $(shell dpkg --print-architecture),amd64 arm64)

.DEFAULT_GOAL := build
.PHONY: help build build-clang build-asan demo test unit lint format reference e2e bench mutants images release release-check fuzz coverage clean \
        fleet cluster-up cluster-down

help: ## this list
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

build: ## the three programs, in build/dev
	@.ci/packages build
	@cmake --preset dev --log-level=WARNING >/dev/null
	@cmake --build --preset dev -- --quiet

build-clang: ## the same with the second compiler, in build/clang
	@.ci/packages build lint
	@cmake --preset clang --log-level=WARNING >/dev/null
	@cmake --build --preset clang -- --quiet

build-asan: ## the same under AddressSanitizer and UBSan, in build/asan
	@.ci/packages build
	@cmake --preset asan --log-level=WARNING >/dev/null
	@cmake --build --preset asan -- --quiet

demo: build ## an example DeployItem, run on this machine without a cluster
	@.ci/packages run
	@e2e/examples/demo

test: lint unit e2e ## lint, unit tests (also under ASan and UBSan) and e2e tests; not fuzz, coverage, mutants and bench

unit: build build-asan build-clang ## unit tests and replayed fuzzing corpora, plain and under ASan+UBSan
	@echo "unit tests"
	@ctest --test-dir build/dev --output-on-failure --progress -j2
	@echo "unit tests under ASan and UBSan"
	@ctest --test-dir build/asan --output-on-failure --progress -j2

lint: build ## clang-format, clang-tidy, cppcheck, gcc -fanalyzer, pyflakes, shellcheck, links, our own rules
	@.ci/packages lint
	@.ci/lint build/dev

format: ## reformats all C files with clang-format
	@.ci/packages lint
	@git ls-files --cached --others --exclude-standard '*.c' '*.h' | xargs clang-format -i

reference: build ## writes docs/schemas (JSON Schemas, for editors) and the tables of the reference and troubleshooting pages
	@for name in $$(build/dev/deployer/longshore schema); do \
	    build/dev/deployer/longshore schema $$name >docs/schemas/$$name.schema.json || exit 1; \
	done
	@.ci/reference build/dev/deployer/longshore

e2e: build ## tests against the real parts: API server, registry, kubelet and containerd, OCI runtime (KUBERNETES=1.31: that release)
	@.ci/packages run test
	@e2e/bench/tools packages
	@e2e/bench/tools kubernetes
	@e2e/bench/tools helm
	@e2e/bench/tools helm4
	@e2e/bench/tools kustomize-controller
	@e2e/bench/tools source-controller
	@images/release packages
	@e2e/run

bench: build ## benchmarks: counts and ratios, one table
	@.ci/packages run test
	@e2e/bench/tools packages
	@e2e/bench/tools kubernetes
	@e2e/bench/tools helm
	@e2e/bench/tools helm4
	@e2e/bench/tools kustomize-controller
	@images/release packages
	@images/build
	@LONGSHORE_ARCHITECTURE=$(OTHER_ARCHITECTURE) LONGSHORE_OUT=out/$(OTHER_ARCHITECTURE) images/build
	@$(PYTHON) e2e/perf/run.py
	@LONGSHORE_FLUX_JOBS=50 e2e/run --lane rest e2e/api/flux/test_landscaper_control.py
	@LONGSHORE_HELM=4 $(PYTHON) -m pytest -c e2e/pytest.ini e2e/api/helm e2e/local/test_helm.py

mutants: build ## applies deliberate bugs (.ci/mutants) and checks that the named test detects each one
	@.ci/packages run test
	@e2e/bench/tools packages
	@e2e/bench/tools kubernetes
	@e2e/bench/tools helm
	@.ci/mutate

images: ## static release build and the OCI archives, in out/
	@.ci/packages build
	@images/build
	@images/build helm

release: ## all files of a release for amd64 and arm64, in out/ (VERSION=x.y.z SIGNING_KEY=file); see docs/release.md
	@.ci/packages build
	@images/release packages
	@images/release build "$(or $(VERSION),$(file <images/version))"

release-check: build ## builds a release for both architectures with a new key, checks every file, and builds it again to compare
	@.ci/packages run test
	@e2e/bench/tools packages
	@e2e/bench/tools helm
	@images/build packages
	@images/release packages
	@LONGSHORE_RELEASE_CHECK=1 LONGSHORE_ARCHITECTURES="amd64 arm64" $(PYTHON) -m pytest -c e2e/pytest.ini e2e/ship/test_release_files.py \
	    e2e/ship/test_release_again.py

fuzz: ## every fuzzer for 60 s (FUZZ_SECONDS=n)
	@.ci/packages build lint fuzz
	@cmake --preset fuzz --log-level=WARNING >/dev/null
	@cmake --build --preset fuzz -- --quiet
	@.ci/fuzz build/fuzz

coverage: ## which lines the unit tests reach; fails if an error path of common/ is not among them
	@.ci/packages build coverage
	@cmake --preset coverage --log-level=WARNING >/dev/null
	@cmake --build --preset coverage -- --quiet
	@find build/coverage -name '*.gcda' -delete
	@ctest --test-dir build/coverage --output-on-failure --progress -j2
	@.ci/coverage build/coverage

fleet: build ## CLUSTERS=100 simulated clusters for manual use, with a control plane (CONTROL_PLANE=kubeconfig: a real one); prints how to use them
	@e2e/bench/tools packages
	@$(PYTHON) e2e/fleet/start --clusters $(or $(CLUSTERS),100) $(if $(CONTROL_PLANE),--control-plane $(CONTROL_PLANE))

cluster-up: ## a real one-node Kubernetes on this machine; prints its kubeconfig
	@e2e/bench/tools packages
	@e2e/bench/tools kubernetes
	@e2e/bench/cluster up

cluster-down: ## ends that cluster and removes what it left
	@e2e/bench/cluster down

clean: ## removes build/ and out/ (the cache outside the checkout stays)
	@rm -rf build out
