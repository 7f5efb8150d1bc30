# SPDX-License-Identifier: Apache-2.0 OR MIT
# The commands of the house; each is about one line over a preset of CMakePresets.json. `make help` lists them.
.DEFAULT_GOAL := release
MAKEFLAGS += --no-print-directory
.PHONY: notes_server release test test-real test-asan test-kernels check lint format fuzz bench demo cast docs install deb static clean help

JOBS ?= $(shell nproc)
T ?= 60
PREFIX ?= /usr/local
configure = .ci/deps build $(2) && cmake --preset $(1) --log-level=WARNING >/dev/null
build = $(call configure,$(1),$(2)) && cmake --build --preset $(1) -j $(JOBS)

release: ## build/aegis, what users run
	@$(call build,release)

test: ## unit, fuzz-corpus, session and documentation tests
	@$(call build,dev,test) && ctest --preset dev -j $(JOBS)

test-real: ## real MCP servers and clients from the npm registry, direct and wrapped
	@$(call build,dev,test) && PATH="$$(.ci/node build-dev/node):$$PATH" ctest --preset real

test-asan: ## the tests under AddressSanitizer and UndefinedBehaviorSanitizer
	@$(call build,asan,test) && ctest --preset asan -j $(JOBS)

test-kernels: release ## other kernels under qemu (needs qemu-system-x86, busybox-static, cpio)
	@tests/kernels/run build/aegis $(KERNELS)

lint: ## format, clang-tidy, includes, headers, prose: everything that a reviewer need not look at
	@$(call configure,clang,test clang bench lint) && tests/lint/all build-clang -j $(JOBS)

format: ## let clang-format have its way
	@.ci/deps lint && git ls-files -z '*.cc' '*.h' | xargs -0 clang-format-14 -i

check: lint test test-asan ## what to run before a push

fuzz: ## each fuzz target for T seconds (default 60)
	@$(call build,fuzz,clang) && tests/fuzz/run build-fuzz $(T)

bench: ## benchmarks of the parts, then of whole sessions
	@$(call build,bench,bench) && tests/bench/run build-bench

demo: notes_server ## wrap a server, see one call refused, verify the record
	@tests/demo/demo

cast: notes_server ## record the demo into cast/demo.cast
	@tests/demo/cast

notes_server: release
	@cmake --build build --target notes_server

docs: ## check the manual pages and put them, as text, under build/docs
	@.ci/deps docs && tests/docs/render build/docs

install: release ## into PREFIX (default /usr/local), DESTDIR honoured
	@cmake --install build --prefix $(PREFIX)

deb: release ## build/aegis_<version>_<arch>.deb
	@.ci/deps deb && cd build && cpack -G DEB

static: ## build-static/aegis, which needs no library at all
	@$(call build,static)
	@echo "build-static/aegis is ready; docs/decisions/0014 says what the linker's word about getpwuid_r means"

clean: ## remove every build folder
	rm -rf build build-*

help:
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' Makefile | expand -t 14
