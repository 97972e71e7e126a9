# make demo    set up, build, and factor a matrix on 4 ranks, in one process and over MPI
# make check   set up, build and run every test: with gcc, and with clang under sanitizers
# make bench   set up, build and run the benchmarks, beside the runtime systems of others
# make build   build with the dev preset        make lint    clang-tidy over everything
# make docs    the documentation: build/site    make format  apply clang-format
# make clean   remove build/

JOBS ?= $(shell nproc 2>/dev/null || echo 2)
# Tests wait more than they compute.
TEST_JOBS ?= $(shell echo $$(($(JOBS) * 2)))
export JOBS TEST_JOBS
# Paths relative to the checkout: another clone of the same sources hits the compiler cache.
export CCACHE_BASEDIR = $(CURDIR)
export CCACHE_NOHASHDIR = 1
# python3 of a version manager is a script that takes 0.2 s to find the interpreter, whose folder is
# not in PATH.
export PATH := $(shell python3 -c 'import os, sys; folder = os.path.dirname(sys.executable); \
  print("" if folder in sys.argv[1].split(":") else folder + ":")' "$(PATH)" 2>/dev/null)$(PATH)

.DEFAULT_GOAL := build
.NOTPARALLEL:
.PHONY: demo build check check-dev check-asan check-tsan bench docs lint format clean
.PHONY: setup-demo setup-check setup-bench setup-docs

setup-demo:
	@tools/setup demo

setup-check:
	@tools/setup check

setup-bench:
	@tools/setup bench

setup-docs:
	@tools/setup docs

demo: setup-demo
	cmake --preset release --log-level=NOTICE
	cmake --build --preset release --parallel $(JOBS) --target cholesky
	@tools/demo

build: setup-check
	cmake --preset dev
	cmake --build --preset dev --parallel $(JOBS)

# Each phase ends with a run of ctest; the first one that fails ends the check.
check: setup-check check-dev check-asan check-tsan

check-dev: PRESET = dev
check-asan: PRESET = asan-ubsan
check-tsan: PRESET = tsan
check-dev check-asan check-tsan: setup-check
	cmake --preset $(PRESET) --log-level=NOTICE
	cmake --build --preset $(PRESET) --parallel $(JOBS)
	ctest --preset $(PRESET) --parallel $(TEST_JOBS)

# BENCH: further options of tools/shoal-bench, such as BENCH="--group tasks --rounds 3".
bench: setup-bench
	cmake --preset release --log-level=NOTICE
	cmake --build --preset release --parallel $(JOBS)
	tools/shoal-bench --build build/release --json build/release/bench.json $(BENCH)

docs: setup-docs
	@tools/site/build

lint: setup-check
	cmake --preset asan-ubsan --log-level=NOTICE
	tools/check_layers
	tools/check_docs
	tools/lint prose
	tools/lint format
	tools/lint bad
	tools/lint tidy-all build/asan-ubsan

format:
	tools/lint format-fix

clean:
	rm -rf build
