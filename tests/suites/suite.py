"""What the suites of this folder share: they run programs of a build as a user would, and look at what those print.

A suite is a file <kind>_<name>.py with classes derived from Suite; tests/CMakeLists.txt makes the ctest test <kind>.<name> of it.
By hand, for one case:

    python3 tests/suites/apps_cholesky.py --build build/dev -k random_blocks
"""

import argparse
import functools
import json
import os
import pathlib
import re
import shlex
import signal
import subprocess
import sys
import tempfile
import unittest
from dataclasses import dataclass


@dataclass
class Result:
    """How a command ended, and what it printed."""

    code: int
    output: str
    errors: str


class Build:
    """The build whose programs the suites run: what tests/CMakeLists.txt wrote down of it (suites.json)."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder).resolve()
        known = json.loads((self.folder / "tests" / "suites.json").read_text())
        self.source = pathlib.Path(known["source"])
        self.data = pathlib.Path(known["data"])  # matrices and graphs that need not be there
        self.mpis = known["mpis"]  # the first one is tested in most layouts
        self.launchers = known["launchers"]  # of each MPI, up to the number of processes
        self.mpi_environment = dict(word.split("=", 1) for word in known["mpi_environment"])
        self.sanitize = known["sanitize"]
        self.prefix = known["prefix"]  # of a program without a launcher
        self.variables = known["variables"]  # of CMake, by their names
        self.timeout_scale = known["timeout_scale"]

    def find(self, name):
        """The program `name`, or None where this build has none."""
        for folder in ("apps", "tests", "bench", "src"):
            path = self.folder / folder / name
            if path.is_file() and os.access(path, os.X_OK):
                return path
        return None


@functools.cache
def build():
    return Build(os.environ["SHOAL_SUITE_BUILD"])


class Suite(unittest.TestCase):
    """Cases of one kind. A program that this build has not skips its case."""

    timeout = 120  # seconds of one command, stretched by sanitizers

    def program(self, name):
        path = build().find(name)
        if path is None:
            self.skipTest(f"{name} is not built")
        return str(path)

    def on_mpi(self, name, mpi):
        """A program that calls MPI itself has one for each MPI but the first (apps/CMakeLists.txt)."""
        return str(build().find(f"{name}_{mpi}") or self.program(name))

    def run_command(self, command, *, code=0, environment=None, folder=None, timeout=None, stdin=None):
        """Runs a list of words, which must end with `code` (None: with any but that of a signal)."""
        limit = (timeout or self.timeout) * build().timeout_scale
        with tempfile.TemporaryDirectory(prefix="shoal-suite-") as sessions:
            # Open MPI fails to start where another launch removes the folder of sessions at that moment.
            own = {"OMPI_MCA_orte_tmpdir_base": sessions, **build().mpi_environment, **(environment or {})}
            process = subprocess.Popen([str(word) for word in command], env={**os.environ, **own}, cwd=folder, text=True,
                                       errors="replace", stdin=stdin or subprocess.DEVNULL, stdout=subprocess.PIPE,
                                       stderr=subprocess.PIPE, start_new_session=True)
            try:
                output, errors = process.communicate(timeout=limit)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                output, errors = process.communicate()
                self.fail(f"{shlex.join(map(str, command))}\ndid not end within {limit} s\n{output}{errors}")
        said = f"{shlex.join(map(str, command))}\nended with {process.returncode}\n{output}{errors}"
        if code is None:
            self.assertTrue(0 <= process.returncode <= 120, f"a plain exit code was expected: {said}")
        else:
            self.assertEqual(process.returncode, code, said)
        return Result(process.returncode, output, errors)

    def embedded(self, name, arguments="", *, code=0, **options):
        """Runs a program without a launcher. `arguments` are words in one string, or a list."""
        words = shlex.split(arguments) if isinstance(arguments, str) else list(arguments)
        return self.run_command([*build().prefix, self.program(name), *words], code=code, **options)

    def launched(self, name, mpi, processes, arguments="", **options):
        """Runs a program on processes of an MPI."""
        words = shlex.split(arguments) if isinstance(arguments, str) else list(arguments)
        return self.run_command([*build().launchers[mpi], processes, self.on_mpi(name, mpi), *words], **options)

    def prints(self, result, pattern, times=None):
        """The output has a line that matches, or just so many matches; returns the first line that does."""
        lines = [line for line in result.output.splitlines() if re.search(pattern, line)]
        self.assertTrue(lines, f"no line matches {pattern!r}:\n{result.output}{result.errors}")
        if times is not None:
            self.assertEqual(len(re.findall(pattern, result.output)), times, result.output)
        return lines[0]

    def everywhere(self, name, arguments="", *, ranks=(1, 4), processes=(2, 4), prints=None):
        """Runs an application, which verifies its result: embedded on each number of ranks, on each number of
        processes over the first MPI, and over the others on the last of them."""
        for count in ranks:
            with self.subTest(ranks=count):
                result = self.embedded(name, f"{arguments} --ranks {count}")
                prints and self.prints(result, prints)
        for mpi in build().mpis:
            for count in processes if mpi == build().mpis[0] else processes[-1:]:
                with self.subTest(mpi=mpi, processes=count):
                    result = self.launched(name, mpi, count, arguments)
                    prints and self.prints(result, prints)

    def refused(self, name, arguments, pattern, *, times=1, code=None, **options):
        """A program fails in an orderly way and says why, `times` times, on standard error."""
        result = self.embedded(name, arguments, code=code, **options)
        self.assertNotEqual(result.code, 0, f"it did not fail:\n{result.output}{result.errors}")
        self.assertEqual(len(re.findall(pattern, result.errors)), times,
                         f"matches of {pattern!r} in:\n{result.output}{result.errors}")
        return result


def main():
    """Runs the cases of the file that calls it: --build BUILD names the build, -k PATTERN chooses cases."""
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("--build", default=os.environ.get("SHOAL_SUITE_BUILD", "build/dev"))
    given, others = parser.parse_known_args()
    os.environ["SHOAL_SUITE_BUILD"] = given.build
    unittest.main(module="__main__", argv=[sys.argv[0], "-v", *others])
