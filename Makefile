# make demo    set up, build, and factor a matrix on 4 ranks, in one process and over MPI
# make check   set up, build and run the tests that find most for their time: 15 minutes on 2 cores
# make check-all    every test: with gcc, and with clang under sanitizers
# make bench   set up, build and run the benchmarks, beside the runtime systems of others
# make build   build with the dev preset        make lint    clang-tidy over everything
# make docs    the documentation: build/site    make format  apply clang-format
# make clean   remove build/

JOBS ?= $(shell nproc 2>/dev/null || echo 2)
export JOBS
# Paths relative to the checkout: another clone of the same sources hits the compiler cache.
export CCACHE_BASEDIR = $(CURDIR)
export CCACHE_NOHASHDIR = 1
# python3 of a version manager is a script that takes 0.2 s to find the interpreter, whose folder is
# not in PATH.
export PATH := $(shell python3 -c 'import os, sys; folder = os.path.dirname(sys.executable); \
  print("" if folder in sys.argv[1].split(":") else folder + ":")' "$(PATH)" 2>/dev/null)$(PATH)

.DEFAULT_GOAL := build
.NOTPARALLEL:
.PHONY: demo build check check-all bench docs lint format clean
.PHONY: setup-demo setup-check setup-check-all setup-bench setup-docs

setup-demo:
	@tools/setup demo

setup-check:
	@tools/setup check

setup-check-all:
	@tools/setup check-all

setup-bench:
	@tools/setup bench

setup-docs:
	@tools/setup docs

demo: setup-demo
	cmake --preset release --log-level=NOTICE
	cmake --build --preset release --parallel $(JOBS) --target cholesky shoal-trace
	@tools/demo

build: setup-check-all
	cmake --preset dev
	cmake --build --preset dev --parallel $(JOBS)

# The first test that fails ends the check, behind the others of its phase.
check: setup-check
	@tools/check

check-all: check setup-check-all
	@tools/check rest

# BENCH: further options of tools/shoal-bench, such as BENCH="--group tasks --rounds 3".
bench: setup-bench
	cmake --preset release -DSHOAL_PYTHON=AUTO --log-level=NOTICE
	-bench/python/peers build/release
	cmake --build --preset release --parallel $(JOBS)
	tools/shoal-bench --build build/release --json build/release/bench.json $(BENCH)

docs: setup-docs
	@tools/site/build

lint: setup-check-all
	cmake --preset asan-ubsan --log-level=NOTICE
	tools/check_layers
	tools/check_docs
	tools/lint spelling
	tools/lint format
	tools/lint bad
	tools/lint tidy-all build/asan-ubsan

format:
	tools/lint format-fix

clean:
	rm -rf build
