# The README's two commands: `make bench` and `make test`. Everything else is a part of them.

SHELL := /bin/bash
.DEFAULT_GOAL := help
TOUCHSTONE := target/release/touchstone
KIT_RUST := kits/rust/Cargo.toml
KIT_CIPHER := kits/rust/cipher/Cargo.toml
KIT_NATIVE_DB := kits/rust/native-db/Cargo.toml
KIT_POOL := kits/rust/pool/Cargo.toml
KIT_STORE := kits/rust/store/Cargo.toml
PACKAGE_PYTHON := python/Cargo.toml
PYTHON ?= python3
# The kits and the package for Python are workspaces of their own, and their tests and lints take from the lab's folder what has been compiled
# there. Their programs have a folder apart: a kit's driver has the name of its subject, as the lab's own programs may have.
TESTED := --target-dir '$(CURDIR)/target/kits' --config 'build.build-dir="$(CURDIR)/target"'
# The package is built by pip in a folder of its own.
PYTHON_TARGET := $(CURDIR)/target/python
# Clippy's driver compiles what it lints, and as the compiler is without optimisation: where it stands in the compiler's place for a workspace's
# own crates, the tests and the lints have one build.
LINTS := CLIPPY_ARGS=-Dwarnings__CLIPPY_HACKERY__
LINTING := $(LINTS) CARGO_BUILD_RUSTC_WORKSPACE_WRAPPER=clippy-driver
# The same where tests build more themselves, which has the compiler.
LINTED := $(LINTS) cargo --config 'build.rustc-workspace-wrapper="clippy-driver"'
# Drivers and packages that tests build to run them once are not optimised: most of their time would be that of compiling. What the lab
# builds to measure it is, as its manifest says.
UNOPTIMISED := CARGO_PROFILE_RELEASE_OPT_LEVEL=0 CARGO_PROFILE_RELEASE_CODEGEN_UNITS=2
# What is only built has it otherwise.
NO_RUN :=

.PHONY: help bench test serve sync fio mutations sanitize simulator tools tools-python tools-cpp tools-java tools-go tools-sanitize browser build format lint lint-small documentation unit unit-built targets ahead hand-offs hand-offs-built kits kits-built kits-cpp kits-java kits-go python python-built clean

help:
	@echo "make build   target/release/touchstone alone, to be put on the PATH"
	@echo "make bench   re-test the published claims on this machine, suite by suite: each is built, run and told of before the next"
	@echo "make test    everything that must pass: format, lints, unit, other systems, hand-offs, kits, drivers, Python, browser, docs, tidy"
	@echo "make serve   the sync service, built quickly and started at http://127.0.0.1:8080 on the file sync.db of this folder; it has no TLS, PostgreSQL, metrics, packed bodies, completions or colours"
	@echo "make sync    the sync service as it is deployed, target/deploy/touchstone-sync (some minutes)"
	@echo "make fio     the subject page-file beside fio, asked for the same pages of the same file (some minutes)"
	@echo "make mutations   whether tests of the store find mistakes that are made on purpose (some minutes)"
	@echo "make sanitize SECONDS=600   the store's tests and its engine under sanitizers of addresses and threads; needs nightly Rust"
	@echo "make simulator   the buffer pool's policies beside those of libCacheSim, on the lab's own orders of gets"

bench: tools build
	$(TOUCHSTONE) bench

# The last of them take nothing that another one has compiled, and much of it is one thread's work: two at a time, each told when it is done.
test: tools tools-python tools-cpp tools-java tools-go browser format lint-small documentation targets unit-built
	@$(MAKE) --no-print-directory --jobs 2 unit ahead
	@$(MAKE) --no-print-directory kits
	@$(MAKE) --no-print-directory --jobs 2 --output-sync=target hand-offs kits-cpp kits-java kits-go python
	@echo "All of it passed."

# A missing piece is named with its remedy, before anything is built.
tools:
	@command -v cargo >/dev/null || { echo "cargo is missing: install Rust 1.95 or later with rustup" >&2; exit 69; }
	@command -v cc >/dev/null || { echo "a C compiler is missing: apt-get install build-essential" >&2; exit 69; }
	@echo '#include <openssl/evp.h>' | cc -E - >/dev/null 2>&1 || { \
	  echo "OpenSSL's headers are missing, which SQLCipher is built with: apt-get install libssl-dev" >&2; exit 69; }

# Only the store's package and the kit for Python are tested with it: `make bench` needs no Python.
tools-python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
	  echo "Python 3.11 or later is missing, which the Python kit's services need: apt-get install python3, or set PYTHON to its program" >&2; exit 69; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { \
	  echo "Python's venv is missing: apt-get install python3-venv" >&2; exit 69; }

# The report is tested in a real browser; as root on Debian it is installed where it is missing.
browser:
	@command -v chromium >/dev/null || [ -n "$$CHROMIUM" ] || { \
	  if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	    apt-get update -qq && apt-get install -y -qq chromium >/dev/null; \
	  else echo "chromium is missing: install it, or set CHROMIUM to its program" >&2; exit 69; fi; }

# The other languages' kits have tools of their own. Who measures none of their subjects needs none of those.
# Of the C++ kit the libraries' headers are two packages; as root on Debian they are installed where they are missing.
tools-cpp:
	@printf '#include <nlohmann/json.hpp>\n#include <zlib.h>\n' | g++ -E -x c++ - >/dev/null 2>&1 || { \
	  if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	    apt-get update -qq && apt-get install -y -qq g++ nlohmann-json3-dev zlib1g-dev >/dev/null; \
	  else echo "a C++ compiler, or the headers of nlohmann-json or zlib are missing, which the C++ kit is built with:" \
	    "apt-get install g++ nlohmann-json3-dev zlib1g-dev" >&2; exit 69; fi; }

tools-java:
	@for tool in java mvn; do command -v $$tool >/dev/null || { \
	  echo "$$tool is missing, which the Java kit is built with: apt-get install openjdk-17-jdk-headless maven" >&2; \
	  exit 69; }; done

tools-go:
	@for tool in go gofmt; do command -v $$tool >/dev/null || { \
	  echo "$$tool is missing, which the Go kit is built with: install Go 1.25 or later" >&2; exit 69; }; done

# Nightly Rust alone has sanitizers; what its own runtime needs of the C compiler is that it instruments.
tools-sanitize: tools
	@rustup run $(NIGHTLY) rustc --version >/dev/null 2>&1 || { \
	  echo "nightly Rust is missing, which alone has sanitizers: rustup toolchain install $(NIGHTLY)" >&2; exit 69; }
	@[ -d "$$(rustup run $(NIGHTLY) rustc --print sysroot)/lib/rustlib/src/rust/library/std" ] || { \
	  echo "the standard library's source is missing, which is built with the sanitizer of threads:" \
	    "rustup component add rust-src --toolchain $(NIGHTLY)" >&2; exit 69; }
	@for sanitizer in address thread; do \
	  echo 'int main(void) { return 0; }' | $(SANITIZE_CC) -fsanitize=$$sanitizer -x c -S -o - - >/dev/null 2>&1 || { \
	    echo "$(SANITIZE_CC) has no -fsanitize=$$sanitizer: apt-get install clang, and set SANITIZE_CC to clang" >&2; exit 69; }; \
	done
	@command -v llvm-symbolizer >/dev/null || { \
	  echo "llvm-symbolizer is missing, which names the functions of a report: apt-get install llvm" >&2; exit 69; }

sync:
	cargo build --profile deploy --locked --target-dir target --package touchstone-sync

# In a fresh clone nearly all of the time to a first answer is the build: nothing of it is optimised, and it has
# none of the crate's features, which are metrics, PostgreSQL, TLS, packed bodies, completions and colours. The store's own build optimises
# its C a little, for encryption, which nothing here asks for: `-O0` comes after that and counts, and so does the rest, which spares the
# C compiler a tenth of its work.
serve:
	CFLAGS="$$CFLAGS -O0 -fno-asynchronous-unwind-tables -fno-function-sections -fno-data-sections" \
	  cargo build --profile try --no-default-features --locked --target-dir target --package touchstone-sync
	target/try/touchstone-sync serve

build:
	cargo build --release --locked --target-dir target --package touchstone-cli

# `--all` takes each crate that a path leads to, and where there is one package it is not needed.
format:
	cargo fmt --all --check
	cargo fmt --all --check --manifest-path $(KIT_RUST)
	cargo fmt --check --manifest-path $(KIT_CIPHER)
	cargo fmt --check --manifest-path $(KIT_NATIVE_DB)
	cargo fmt --check --manifest-path $(KIT_POOL)
	cargo fmt --all --check --manifest-path $(KIT_STORE)
	cargo fmt --check --manifest-path $(PACKAGE_PYTHON)

# While working: the lints alone, of everything that `make test` lints as it builds it.
lint: lint-small documentation
	cargo clippy --workspace --all-targets --locked -- -D warnings
	cargo clippy --workspace --all-targets --all-features --locked --manifest-path $(KIT_RUST) $(TESTED) -- -D warnings
	cargo clippy --all-targets --locked --manifest-path $(KIT_CIPHER) $(TESTED) -- -D warnings
	cargo clippy --all-targets --locked --manifest-path $(KIT_NATIVE_DB) $(TESTED) -- -D warnings
	cargo clippy --all-targets --locked --manifest-path $(KIT_POOL) $(TESTED) -- -D warnings
	cargo clippy --workspace --all-targets --locked --manifest-path $(KIT_STORE) $(TESTED) -- -D warnings
	PYO3_NO_PYTHON=1 PYO3_BUILD_EXTENSION_MODULE=1 cargo clippy --all-targets --locked --manifest-path $(PACKAGE_PYTHON) $(TESTED) -- -D warnings

# What no test builds: the sync service as `make serve` has it, and a library that is loaded before a program's own.
lint-small:
	cargo clippy --package touchstone-sync --package touchstone-flush --no-default-features --locked -- -D warnings

documentation:
	RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --locked --quiet

# The command is built first: the tests of the whole pipeline run it as a user would.
unit-built: NO_RUN := --no-run
unit-built unit: build
	$(UNOPTIMISED) $(LINTED) test $(NO_RUN) --workspace --locked

# Tests of the lab wait for drivers, flushes and clocks half of the time. What is tested after them is built meanwhile, and gives way to them. Last
# what is built in the lab's folder, where one build waits for another.
ahead:
	@nice -n 19 $(MAKE) --no-print-directory hand-offs-built
	@nice -n 19 $(MAKE) --no-print-directory python-built
	@nice -n 19 $(MAKE) --no-print-directory kits-built

# The store for other systems, as far as Rust's compiler can tell. No C is compiled: `true` stands for its compiler, so that no cross
# compiler is needed. A system whose standard library is not installed is named and passed over, for no test reaches the network.
STORE_TARGETS := x86_64-pc-windows-gnu aarch64-apple-darwin aarch64-linux-android aarch64-unknown-linux-gnu
targets:
	@for target in $(STORE_TARGETS); do \
	  rustup target list --installed 2>/dev/null | grep -qx $$target || { \
	    echo "not checked: the store for $$target, whose standard library is not installed (rustup target add $$target)" >&2; continue; }; \
	  env "CC_$${target//-/_}=true" "AR_$${target//-/_}=true" cargo clippy --quiet --locked --package touchstone-store --lib \
	    --target $$target --target-dir target/targets -- -D warnings || exit 1; \
	done

# The orders in which the store's threads may meet, explored: a build of its own, whose primitives a model checker has.
hand-offs-built: NO_RUN := --no-run --quiet
hand-offs-built hand-offs:
	RUSTFLAGS="--cfg shuttle" cargo test $(NO_RUN) --locked --package touchstone-store --lib --target-dir target/shuttle models

# How page-file stands to fio, the field's own tool, on the same file system: FIO_DIRECTORY=/mnt chooses another, and WORDS="direct random"
# some of the patterns. Nothing is asserted: a busy machine would decide it.
FIO_DIRECTORY ?= .
fio:
	cd kits/rust/pool && FIO_DIRECTORY="$(abspath $(FIO_DIRECTORY))" cargo bench --quiet --locked --bench fio -- $(WORDS)

# What is wrong in each mutation, and how it is found. OPTIONS="--only 3,7" makes some of them; --help tells of the others.
mutations:
	cargo run --quiet --locked --package xtask --bin mutate -- $(OPTIONS)

# SECONDS is for how long the tests run, half of it under each sanitizer. The store and its engine's C are both instrumented, and
# mistakes on purpose in each show that they are. OPTIONS="--only thread --seed 2" and others: --help tells.
SECONDS ?= 600
NIGHTLY ?= nightly
SANITIZE_CC ?= cc
sanitize: tools-sanitize
	cargo run --quiet --locked --package xtask --bin sanitize -- --seconds $(SECONDS) --toolchain $(NIGHTLY) --compiler $(SANITIZE_CC) $(OPTIONS)

# The pool's policies beside a simulator's, on the orders that the lab makes of the suite `sqlcc`. OPTIONS="--seed 7" makes others.
SIMULATOR := $(CURDIR)/target/simulator
simulator: tools-python build
	mkdir -p $(SIMULATOR)
	$(TOUCHSTONE) plan --suite sqlcc --out $(SIMULATOR)/plan.json $(OPTIONS)
	cargo run --quiet --locked --package xtask --bin orders -- $(SIMULATOR)/plan.json $(SIMULATOR)/orders
	cargo build --release --locked --manifest-path $(KIT_POOL) --example hits
	$(PYTHON) -m venv $(SIMULATOR)/venv
	$(SIMULATOR)/venv/bin/pip install --quiet --disable-pip-version-check --requirement kits/rust/pool/simulator/requirements.txt
	$(SIMULATOR)/venv/bin/python kits/rust/pool/simulator/simulate.py $(SIMULATOR)/orders kits/rust/pool/target/release/examples/hits

kits-built: NO_RUN := --no-run --quiet
kits-built kits:
	$(LINTED) test $(NO_RUN) --workspace --all-features --locked --manifest-path $(KIT_RUST) $(TESTED)
	$(LINTED) test $(NO_RUN) --locked --manifest-path $(KIT_CIPHER) $(TESTED)
	$(LINTED) test $(NO_RUN) --locked --manifest-path $(KIT_NATIVE_DB) $(TESTED)
	$(LINTED) test --no-run --bench fio --locked --manifest-path $(KIT_POOL) $(TESTED)
	$(LINTED) test $(NO_RUN) --locked --manifest-path $(KIT_POOL) $(TESTED)
	$(LINTED) test $(NO_RUN) --workspace --locked --manifest-path $(KIT_STORE) $(TESTED)

kits-cpp: tools-cpp
	$(MAKE) --silent --directory kits/cpp test

kits-java: tools-java
	$(MAKE) --silent --directory kits/java test

# The tests run a program that they do not import, so Go cannot know whether an earlier result still holds.
kits-go: tools-go
	@unformatted=$$(gofmt -l kits/go); [ -z "$$unformatted" ] || { echo "not as gofmt has it: $$unformatted" >&2; exit 1; }
	cd kits/go && go vet ./... && go test -count=1 ./...

# The package as a user installs it, in an environment of its own, but for the optimisation. The kit's tests mostly wait for a service
# that each starts, so they run in as many processes as there are processors.
python-built python: export CARGO_TARGET_DIR := $(PYTHON_TARGET)
python-built: tools-python
	$(PYTHON) -m venv $(PYTHON_TARGET)/venv
	$(UNOPTIMISED) $(LINTING) $(PYTHON_TARGET)/venv/bin/pip install --quiet --disable-pip-version-check './python[test]'

python: python-built
	cd python && $(UNOPTIMISED) $(LINTING) $(PYTHON_TARGET)/venv/bin/pytest --quiet
	cd kits/python && $(UNOPTIMISED) $(PYTHON_TARGET)/venv/bin/pytest --quiet --numprocesses auto -p no:cacheprovider tests

clean:
	rm -rf kits/cpp/target kits/objc/target kits/go/target kits/java/target kits/java/*/target kits/java/drivers/*/target
	cargo clean
	cargo clean --manifest-path $(KIT_RUST)
	cargo clean --manifest-path $(KIT_CIPHER)
	cargo clean --manifest-path $(KIT_NATIVE_DB)
	cargo clean --manifest-path $(KIT_POOL)
	cargo clean --manifest-path $(KIT_STORE)
