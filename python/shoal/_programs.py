"""The commands shoal-trace, shoal-top and shoal-explore."""

import os
import pathlib
import sys

_FOLDER = pathlib.Path(__file__).parent / "bin"


def _start(name):
    program = str(_FOLDER / name)
    os.execv(program, [program, *sys.argv[1:]])


def trace():
    _start("shoal-trace")


def top():
    _start("shoal-top")


def explore():
    program = str(_FOLDER / "shoal-explore")
    os.execv(sys.executable, [sys.executable, program, *sys.argv[1:]])
