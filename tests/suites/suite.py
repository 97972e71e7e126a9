"""What the suites of this folder share: they run programs of a build as a user would, and look at
what those print.

A suite is a file <kind>_<name>.py with classes derived from Suite; tests/CMakeLists.txt makes the
ctest test <kind>.<name> of it.
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
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest
from dataclasses import dataclass

SKIPPED = 77
FAILURE = range(1, 256)  # exit codes of a launcher whose program failed


@dataclass
class Result:
    """How a command ended, and what it printed."""

    code: int
    output: str
    errors: str


class Build:
    """The build whose programs the suites run: what cmake/ShoalSuites.cmake wrote down of it."""

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
        self.includes = known["includes"].split()  # folders of headers, of shoal and what it needs
        self.targets = known["targets"].split()  # programs that the build has

    def scratch(self, name):
        """An empty folder, the same one each time, as the compiler cache needs it."""
        path = self.folder / "tests" / name
        shutil.rmtree(path, ignore_errors=True)
        path.mkdir()
        return path

    def find(self, name):
        """The program `name`, or None where this build has none."""
        for folder in ("apps", "tests", "bench", "src"):
            path = self.folder / folder / name
            if path.is_file() and os.access(path, os.X_OK):
                return path
        return None


@functools.cache
def build():
    return Build(os.environ["SUITE_BUILD"])


class Suite(unittest.TestCase):
    """Cases of one kind. A program that this build does not have skips its case."""

    timeout = 120  # seconds of one command, stretched by sanitizers

    def program(self, name):
        path = build().find(name)
        if path is None and name in build().targets:
            self.fail(f"{name} is not built: build it first")
        if path is None:
            self.skipTest(f"this build has no {name}")
        return str(path)

    def on_mpi(self, name, mpi):
        """A program that calls MPI itself has one for each MPI (apps/CMakeLists.txt)."""
        return str(build().find(f"{name}_{mpi}") or self.program(name))

    def run_command(self, command, *, code=0, environment=None, folder=None, timeout=None,
                    stdin=None):
        """Runs a list of words, which must end with `code`, or with one of several (None: any but
        that of a signal)."""
        limit = (timeout or self.timeout) * build().timeout_scale
        line = shlex.join(map(str, command))
        with tempfile.TemporaryDirectory(prefix="shoal-suite-") as sessions:
            # Open MPI fails to start where another launch removes the folder of sessions meanwhile.
            own = {"OMPI_MCA_orte_tmpdir_base": sessions, **build().mpi_environment}
            process = subprocess.Popen([str(word) for word in command], text=True, errors="replace",
                                       env={**os.environ, **own, **(environment or {})}, cwd=folder,
                                       stdin=stdin or subprocess.DEVNULL, stdout=subprocess.PIPE,
                                       stderr=subprocess.PIPE, start_new_session=True)
            try:
                output, errors = process.communicate(timeout=limit)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                try:
                    output, errors = process.communicate(timeout=5)
                except subprocess.TimeoutExpired as late:  # processes of a launch have own groups
                    output, errors = ((part or b"").decode(errors="replace")
                                      for part in (late.stdout, late.stderr))
                self.fail(f"{line}\ndid not end within {limit} s\n{output}{errors}")
        said = f"{line}\nended with {process.returncode}\n{output}{errors}"
        if code is None:
            self.assertTrue(0 <= process.returncode <= 120,
                            f"a plain exit code was expected: {said}")
        else:
            self.assertIn(process.returncode, [code] if isinstance(code, int) else code, said)
        return Result(process.returncode, output, errors)

    def embedded(self, name, arguments="", *, code=0, **options):
        """Runs a program without a launcher. `arguments` are words in one string, or a list."""
        words = shlex.split(arguments) if isinstance(arguments, str) else list(arguments)
        return self.run_command([*build().prefix, self.program(name), *words], code=code, **options)

    def launched(self, name, mpi, processes, arguments="", **options):
        """Runs a program on processes of an MPI."""
        words = shlex.split(arguments) if isinstance(arguments, str) else list(arguments)
        command = [*build().launchers[mpi], processes, self.on_mpi(name, mpi), *words]
        return self.run_command(command, **options)

    def prints(self, result, pattern, times=None):
        """The output has a line that matches, or just so many matches; returns the first such
        line."""
        lines = [line for line in result.output.splitlines() if re.search(pattern, line)]
        self.assertTrue(lines, f"no line matches {pattern!r}:\n{result.output}{result.errors}")
        if times is not None:
            self.assertEqual(len(re.findall(pattern, result.output)), times, result.output)
        return lines[0]

    def everywhere(self, name, arguments="", *, ranks=(1, 4), processes=(2, 4), prints=None,
                   check=None, **options):
        """Runs an application, which verifies its result: embedded on each number of ranks, on each
        number of processes over the first MPI, and over the others on the last of them. Calls
        check(ranks, result)."""
        for count in ranks:
            with self.subTest(ranks=count):
                result = self.embedded(name, f"{arguments} --ranks {count}", **options)
                prints and self.prints(result, prints)
                check and check(count, result)
        for mpi in build().mpis:
            for count in processes if mpi == build().mpis[0] else processes[-1:]:
                with self.subTest(mpi=mpi, processes=count):
                    result = self.launched(name, mpi, count, arguments, **options)
                    prints and self.prints(result, prints)
                    check and check(count, result)

    def as_its_source_says(self, name, source, arguments="", *, ranks=()):
        """Runs a program embedded on those numbers of ranks (or without --ranks), and over MPIs.
        Its source has lines `// processes: N N`, `// environment: A=B`, and for what it prints, in
        any order, `// output: TEXT`, or `// output N: TEXT` on N processes."""
        text = (build().source / source).read_text()
        line = re.search("^(?://|!) processes:(.*)", text, re.M).group(1)
        counts = [int(count) for count in line.split()]
        variables = "".join(re.findall("^// environment:.*", text, re.M))
        environment = dict(re.findall("([A-Z_]+)=([^ ]+)", variables))

        def check(count, result):
            lines = re.findall(f"^(?://|!) output(?: {count})?: (.*)$", text, re.M)
            self.assertTrue(lines, f"{source} does not say what it prints on {count} processes")
            self.assertEqual(sorted(lines), sorted(result.output.rstrip("\n").split("\n")),
                             result.errors)

        if 1 in counts and not ranks:
            with self.subTest(processes=1):
                check(1, self.embedded(name, arguments, environment=environment))
        processes = [count for count in counts if count > 1]
        self.everywhere(name, arguments, ranks=ranks, processes=processes, check=check,
                        environment=environment)

    def refused(self, name, arguments, pattern, *, times=1, code=None, **options):
        """A program fails in an orderly way and says why, `times` times, on standard error."""
        result = self.embedded(name, arguments, code=code, **options)
        self.assertNotEqual(result.code, 0, f"it did not fail:\n{result.output}{result.errors}")
        self.assertEqual(len(re.findall(pattern, result.errors)), times,
                         f"matches of {pattern!r} in:\n{result.output}{result.errors}")
        return result


def main():
    """Runs the cases of the file that calls it: --build BUILD names the build, -k PATTERN chooses
    cases. Exit code 77: all were skipped."""
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("--build", default=os.environ.get("SUITE_BUILD", "build/dev"))
    given, others = parser.parse_known_args()
    os.environ["SUITE_BUILD"] = given.build
    result = unittest.main(module="__main__", argv=[sys.argv[0], "-v", *others], exit=False).result
    skipped = {getattr(test, "test_case", test) for test, _ in result.skipped}
    if not result.wasSuccessful() or not (result.testsRun or skipped):
        sys.exit(1)
    sys.exit(SKIPPED if len(skipped) >= result.testsRun else 0)
