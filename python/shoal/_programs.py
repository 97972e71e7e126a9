"""The commands shoal-trace, shoal-top and shoal-explore."""

import os
import pathlib
import shutil
import sys

from . import _errors

_FOLDER = pathlib.Path(__file__).parent / "bin"


def find_tool(name):
    """Path of a tool: that of the wheel, or else of PATH."""
    path = _FOLDER / name
    found = str(path) if path.exists() else shutil.which(name)
    if found is None:
        raise _errors.Error(f"there is no {name}: it comes with the wheel of shoal, or put the one "
                            "of a build into PATH")
    return found


def _start(name):
    program = find_tool(name)
    os.execv(program, [program, *sys.argv[1:]])


def trace():
    _start("shoal-trace")


def top():
    _start("shoal-top")


def explore():
    program = find_tool("shoal-explore")
    os.execv(sys.executable, [sys.executable, program, *sys.argv[1:]])
