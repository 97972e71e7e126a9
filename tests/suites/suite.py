"""Shared parts of the suites of this folder, which run programs of a build as users do, and check
what those print.

A suite is a file <kind>_<name>.py with classes derived from Suite; tests/CMakeLists.txt makes the
ctest test <kind>.<name> of it. By hand, for one case:

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

SOURCE = pathlib.Path(__file__).resolve().parents[2]
SMALL_DATA = SOURCE / "tests" / "tools" / "data"
TUTORIAL = sorted(f"tutorial_{path.stem}" for path in (SOURCE / "apps" / "tutorial").glob("*.cpp"))
SIMULATED_TUTORIAL = [name for name in TUTORIAL if name != "tutorial_embedding"]  # it has threads
SKIPPED = 77  # exit code
ANY = object()  # of an exit code
FAILURE = range(1, 256)  # exit codes of a launcher whose program failed


@dataclass
class Result:
    """How a command ended, and what it printed."""

    code: int
    output: str
    errors: str
    command: str = ""

    def __str__(self):
        return f"{self.command}\nended with {self.code}\n{self.output}{self.errors}"


class Build:
    """The build whose programs the suites run: what cmake/ShoalSuites.cmake wrote down of it."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder).resolve()
        known = json.loads((self.folder / "tests" / "suites.json").read_text())
        self.source = pathlib.Path(known["source"])
        self.data = pathlib.Path(known["data"])  # matrices and graphs that need not be there
        # The first one is tested in most layouts.
        self.mpis = [] if os.environ.get("SUITE_WITHOUT_MPI") else known["mpis"]
        self.launchers = known["launchers"]  # of each MPI, up to the number of processes
        self.mpi_environment = dict(word.split("=", 1) for word in known["mpi_environment"])
        self.sanitize = known["sanitize"]
        self.preload = known["preload"]  # libraries of a program without this build's sanitizers
        self.prefix = known["prefix"]  # of a program without a launcher
        self.variables = known["variables"]  # of CMake, by their names
        self.timeout_scale = known["timeout_scale"]
        self.includes = known["includes"].split()  # folders of headers, of shoal and what it needs
        self.tutorials = known["tutorials"]  # those to test
        self.targets = set(known["targets"])  # what it builds, and perhaps has not built yet

    def find(self, name):
        """The program `name`, or None where this build has none."""
        for folder in ("bin", "src", "tests", "bench"):
            path = self.folder / folder / name
            if path.is_file() and os.access(path, os.X_OK):
                return path
        return None

    def scratch(self, name):
        """An empty folder, the same one each time, as the compiler cache needs it."""
        path = self.folder / "tests" / name
        shutil.rmtree(path, ignore_errors=True)
        path.mkdir()
        return path


@functools.cache
def build():
    return Build(os.environ["SUITE_BUILD"])


def cases(table):
    """Decorator of a method with one parameter: a case of its own, <method>_<key>, for each value
    of a table. A list has its values for keys."""
    def mark(method):
        pairs = table if isinstance(table, dict) else {value: value for value in table}
        method.cases = {re.sub(r"\W+", "_", str(name)): value for name, value in pairs.items()}
        assert len(method.cases) == len(table), f"two cases have one name: {table}"
        return method
    return mark


def planted(table):
    """The bugs of tests/planted/<table>.json, by their names."""
    return {bug["name"]: bug
            for bug in json.loads((SOURCE / "tests" / "planted" / f"{table}.json").read_text())}


def without_leaks():
    """Environment in which AddressSanitizer does not look for leaks: both MPIs have some, of
    libraries that they have unloaded, whose stacks name nobody."""
    return {"ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0"}


class Suite(unittest.TestCase):
    """Cases of one kind. A program that this build is without skips its case."""

    timeout = 120  # seconds of one command, stretched by sanitizers
    last = ""  # the last command, and how it ended

    def _formatMessage(self, msg, standardMsg):  # of unittest: what all its assertions say
        text = super()._formatMessage(msg, standardMsg)
        return text if self.last in text else f"{text}\nafter the command {self.last}"

    def __init_subclass__(cls, **keywords):
        super().__init_subclass__(**keywords)
        for name, method in list(vars(cls).items()):
            if hasattr(method, "cases"):
                delattr(cls, name)
                for case, value in method.cases.items():
                    setattr(cls, f"{name}_{case}", functools.partialmethod(method, value))

    def shortDescription(self):
        return None

    def program(self, name):
        path = build().find(name)
        if path is None and name in build().targets:
            self.fail(f"{name} was not built: cmake --build {build().folder} --target {name}")
        if path is None:
            self.skipTest(f"this build is without {name}")
        return str(path)

    def first_mpi(self):
        """The MPI of tests that one of them serves."""
        if not build().mpis:
            self.skipTest("this build is without MPI")
        return build().mpis[0]

    def data(self, name):
        """A large matrix or graph."""
        if not (build().data / name).is_file():
            self.skipTest(f"no {build().data / name}")
        return build().data / name

    def tidy(self, *arguments, **options):
        """Runs tools/lint with clang-tidy; skips the case where that cannot be fetched."""
        result = self.run_command([build().source / "tools/lint", *arguments], code=(0, SKIPPED),
                                  **options)
        if result.code == SKIPPED:
            self.skipTest(result.errors.strip().splitlines()[-1])

    def folder(self):
        """A folder that lasts as long as the case."""
        folder = tempfile.TemporaryDirectory(prefix="shoal-suite-")
        self.addCleanup(folder.cleanup)
        return pathlib.Path(folder.name)

    def c_library(self, source):
        """A shared library of a C source of the tests, which lasts as long as the case."""
        library = self.folder() / f"{pathlib.Path(source).stem}.so"
        self.run_command([build().variables["CMAKE_C_COMPILER"], "-shared", "-fPIC", "-o", library,
                          build().source / "tests" / source, "-pthread"])
        return library

    def on_mpi(self, name, mpi):
        """A program that calls MPI itself has one for each MPI but the first
        (apps/CMakeLists.txt)."""
        return str(build().find(f"{name}_{mpi}") or self.program(name))

    def mpi_test(self, name, mpi):
        """The program with the test `name` of tests/mpi: those that call MPI are of one MPI."""
        for program in (f"mpi_{mpi}_tests", "mpi_tests"):
            if name in self.names_in(program):
                return program
        return self.fail(f"no program has the test {name}")

    def names_in(self, program):
        """The tests of a program with several, which names them."""
        return self.run_command([self.program(program)], code=2).errors.split()

    def run_command(self, command, *, code=0, environment=None, folder=None, timeout=None,
                    stdin=None):
        """Runs a list of words, which must end with `code`, or with one of several (None: any but
        that of a signal; ANY: that, too)."""
        words = [str(word) for word in command]
        self.last = line = shlex.join(words)
        limit = (timeout or self.timeout) * build().timeout_scale
        with tempfile.TemporaryDirectory(prefix="shoal-suite-") as sessions:
            # Open MPI fails to start where another launch removes the folder of sessions at that
            # moment.
            own = {"OMPI_MCA_orte_tmpdir_base": sessions, **build().mpi_environment,
                   "PYTHONUNBUFFERED": "",  # a line of one rank is one write, which no other parts
                   **(environment or {})}
            process = subprocess.Popen(words, env={**os.environ, **own}, cwd=folder, text=True,
                                       errors="replace", stdin=stdin or subprocess.DEVNULL,
                                       stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                       start_new_session=True)
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
        self.last = f"{line}\nended with {process.returncode}"
        result = Result(process.returncode, output, errors, line)
        if code is None:
            self.assertTrue(0 <= process.returncode <= 120,
                            f"a plain exit code was expected: {result}")
        elif code is not ANY:
            codes = [code] if isinstance(code, int) else code
            self.assertIn(process.returncode, codes, str(result))
        return result

    def embedded(self, name, arguments="", *, code=0, **options):
        """Runs a program without a launcher. `arguments` are words in one string, or a list."""
        words = shlex.split(arguments) if isinstance(arguments, str) else list(arguments)
        return self.run_command([*build().prefix, self.program(name), *words], code=code, **options)

    def launched(self, name, mpi, processes, arguments="", environment=None, **options):
        """Runs a program on processes of an MPI."""
        words = shlex.split(arguments) if isinstance(arguments, str) else list(arguments)
        for word in build().launchers[mpi]:  # without it, processes keep the processor as they poll
            if word.endswith("libshoal_mpich_yield.so"):
                self.assertTrue(os.path.exists(word), f"{word} was not built")
        return self.run_command([*build().launchers[mpi], processes, self.on_mpi(name, mpi),
                                 *words], environment=without_leaks() | (environment or {}),
                                **options)

    def foreign(self, launcher=()):
        """Words before a program that loads libraries of this build, and was not compiled for its
        sanitizers. Such a program may leave its memory to its end."""
        if not build().preload:
            return []
        preload = build().preload + [str(word) for word in launcher
                                     if str(word).endswith("libshoal_mpich_yield.so")]
        words = {"LD_PRELOAD": ":".join(preload), **without_leaks()}
        return ["env", *(f"{name}={value}" for name, value in words.items())]

    def prints(self, result, pattern, times=None):
        """The output has lines that match, or just so many matches; returns the first lines that
        do."""
        found = re.search(f"[^\n]*(?:{pattern})[^\n]*", result.output)
        self.assertTrue(found, f"no line matches {pattern!r}: {result}")
        if times is not None:
            self.assertEqual(len(re.findall(pattern, result.output)), times, str(result))
        return found[0]

    def print_the_same(self, pattern, *results):
        """All have the same lines that match."""
        lines = {self.prints(result, pattern): result.command for result in results}
        self.assertEqual(len(lines), 1,
                         "\n".join(f"{line}\n  {command}" for line, command in lines.items()))

    def everywhere(self, name, arguments="", *, ranks=(1, 4), processes=(2, 4), prints=None,
                   check=None, **options):
        """Runs an application, which verifies its result: embedded on each number of ranks, on each
        number of processes over the first MPI, and over the others on the last of them. Calls
        check(ranks, result)."""
        self.program(name)
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
        self.assertNotEqual(result.code, 0, f"it did not fail: {result}")
        self.assertEqual(len(re.findall(pattern, result.errors)), times,
                         f"matches of {pattern!r} in: {result}")
        return result


def main():
    """Runs the cases of the file that calls it: --build BUILD names the build, -k PATTERN chooses
    cases, --without-mpi starts none over MPI."""
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("--build", default=os.environ.get("SUITE_BUILD", "build/dev"))
    parser.add_argument("--without-mpi", action="store_true")
    given, others = parser.parse_known_args()
    os.environ["SUITE_BUILD"] = given.build
    if given.without_mpi:
        os.environ["SUITE_WITHOUT_MPI"] = "1"
    result = unittest.main(module="__main__", argv=[sys.argv[0], "-v", *others], exit=False).result
    if result.testsRun == 0 and not result.skipped:
        sys.exit("no case was chosen")
    if not result.wasSuccessful():
        sys.exit(1)
    skipped = {getattr(test, "test_case", test) for test, _ in result.skipped}  # of parts, the case
    sys.exit(SKIPPED if len(skipped) >= max(1, result.testsRun) else 0)
