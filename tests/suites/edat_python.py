"""Programs with edat.py, in one process each, or started by the launcher of an MPI."""

import os
import signal
import subprocess
import sys

import suite


class Programs(suite.Suite):

    def setUp(self):
        python = suite.build().source / "python" / "edat"
        self.environment = {
            "PYTHONPATH": str(python),
            "SHOAL_EDAT_LIBRARY": self.program("libshoal_edat.so"),
            "PYTHONDONTWRITEBYTECODE": "1",
        }

    def command(self, program, *arguments):
        return [sys.executable, str(suite.build().source / "tests/edat/python" / program),
                *arguments]

    def run_python(self, program, *arguments, launcher=(), code=0, **variables):
        return self.run_command([*launcher, *self.command(program, *arguments)], code=code,
                                environment=self.environment | variables)

    def assert_prints(self, lines, result):
        self.assertEqual(sorted(result.output.splitlines()), sorted(lines), result.errors)

    def assert_fails(self, pattern, *arguments, output=".*", code=range(1, 121), **variables):
        result = self.run_python(*arguments, code=code, **variables)
        self.assertRegex(result.errors, pattern)
        self.assertNotIn("not refused", result.output)
        self.assertRegex(result.output, output)


class OneProcess(Programs):

    def test_example(self):
        self.assert_prints(["1 parts, the last from rank 0: 4950"], self.run_python("sums.py"))

    def test_calls(self):
        for workers in ("1", "2", "8"):
            self.assert_prints(["rank 0 of 1: 0 failures"], self.run_python("calls.py", workers))

    def test_wrong_calls_raise(self):
        self.assert_prints(["0 failures"], self.run_python("wrong_calls.py"))

    def test_exception_of_a_task_ends_the_run(self):
        self.assert_fails(r"edat: error: rank 0: an exception left the task 'quotient' \(divides\)"
                          r"\nTraceback [^$]*in divides[^$]*\nZeroDivisionError: ", "failing.py",
                          "task_raises", output="^before the division\n$", code=1)
        self.assert_fails("in divides[^$]*ZeroDivisionError", "failing.py",
                          "task_raises_after_wait")
        self.assert_fails(r"left the task <lambda>\n[^$]*TypeError: .*positional argument",
                          "failing.py", "task_takes_nothing")
        self.assert_fails("left the task <lambda>\n[^$]*SystemExit: 0", "failing.py", "task_exits")

    def test_rest_is_named(self):
        stuck, ends = "nothing runs any more[^$]*", "the exit functions of Python run\n$"
        self.assert_fails(f"shoal: error: .*{stuck}waiting has 0 of 1", "failing.py", "task_left",
                          output=ends)
        self.assert_fails(f"{stuck}waiting has 0 of 1", "failing.py", "pause_left", output=ends)
        self.assert_fails(f"{stuck}nobody's. from rank 0 with 1 int", "failing.py", "event_left",
                          output=ends)
        self.assert_fails(f"edat: error: edatWait: .*{stuck}never", "failing.py", "wait_left",
                          output="before the wait\n")
        self.assert_fails(f"edatWait: .*{stuck}'main..' waits .*never", "failing.py",
                          "wait_left_in_main", output="before the wait\n")
        self.assert_fails(f"edat: error: edatLock: .*{stuck}", "failing.py", "locks")

    def test_end_without_edatFinalise(self):
        text = "edat: error: rank 0: the program ends without edatFinalise"
        self.assert_fails(f"KeyError: 'of main'\n{text}", "failing.py", "main_raises")
        self.assert_fails(text, "failing.py", "main_exits")
        self.assert_fails(text, "failing.py", "no_end")

    def test_unknown_key(self):
        self.assert_fails("edat: error: edatInitWithConfiguration: key EDAT_NUM_WORKER is unknown",
                          "failing.py", "unknown_key")

    def test_library_that_is_not_there(self):
        self.assert_fails("edat.EdatError: edatInit: libshoal_edat.so was not found: set "
                          "SHOAL_EDAT_LIBRARY to the file. Tried:\n  /not/there.so: ", "sums.py",
                          SHOAL_EDAT_LIBRARY="/not/there.so")

    def test_interrupt_ends_edatFinalise(self):
        with subprocess.Popen(self.command("failing.py", "interrupt"), text=True,
                              env={**os.environ, **self.environment}, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE) as program:
            self.assertEqual(program.stdout.readline(), "ready\n")
            program.send_signal(signal.SIGINT)
            program.communicate(timeout=self.timeout)
        self.assertIn(program.returncode, (-signal.SIGINT, 1, 130))


class WithThePackage(suite.Suite):
    """Beside the package shoal, edat.py has the library of that."""

    def test_one_copy_of_the_library(self):
        package = suite.build().folder / "python"
        if not any(package.glob("shoal/_core*.so")):
            self.skipTest("this build is without the Python package")
        program = ("import edat, shoal\n"
                   "edat.edatInit({'EDAT_NUM_WORKERS': 1})\n"
                   "edat.edatFinalise()\n"
                   "assert shoal.run(lambda world: world.size, ranks=2, args=[]) == 2\n"
                   "files = {line.split()[-1] for line in open('/proc/self/maps')}\n"
                   "print([file for file in files if 'shoal_edat' in file or '/_core.' in file])\n")
        result = self.run_command([suite.build().variables["SHOAL_PYTHON_PROGRAM"], "-c", program],
                                  environment={"PYTHONPATH": str(package),
                                               "PYTHONDONTWRITEBYTECODE": "1"})
        self.assertRegex(result.output, r"^\['[^']*/shoal/_core[^']*'\]\n$")


class Processes(Programs):

    def over_each_mpi(self):
        """The launchers, which the number of processes follows."""
        if not suite.build().mpis:
            self.skipTest("this build has no MPI")
        for mpi in suite.build().mpis:
            yield suite.build().launchers[mpi]

    def test_example(self):
        for launcher in self.over_each_mpi():
            self.assert_prints(["2 parts, the last from rank 1: 19900"],
                               self.run_python("sums.py", launcher=[*launcher, 2]))

    def test_calls(self):
        for launcher in self.over_each_mpi():
            for processes, workers in ((2, "1"), (4, "2")):
                result = self.run_python("calls.py", workers, launcher=[*launcher, processes])
                self.assert_prints([f"rank {rank} of {processes}: 0 failures"
                                    for rank in range(processes)], result)

    def test_failure_on_one_rank_ends_all(self):
        cases = {"task_raises": "rank 1: an exception left the task 'quotient'[^$]*ZeroDivisionE",
                 "main_raises": "KeyError: 'of main'[^$]*rank 1: the program ends without",
                 "task_left": "nothing runs any more[^$]*waiting has 0 of 1",
                 "wait_left": "edatWait: .*nothing runs any more"}
        for launcher in self.over_each_mpi():
            for case, pattern in cases.items():
                result = self.run_python("failing.py", case, launcher=[*launcher, 2],
                                         code=suite.FAILURE)
                self.assertRegex(result.errors + result.output, pattern)
                self.assertNotIn("not refused", result.output)


if __name__ == "__main__":
    suite.main()
