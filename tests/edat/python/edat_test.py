#!/usr/bin/env python3
"""edat_test.py EDAT_PY LIBSHOAL_EDAT [LAUNCHER...]: programs with edat.py, in one process each, or
started by the launcher of an MPI, which the number of processes follows."""

import os
import pathlib
import signal
import subprocess
import sys
import unittest

HERE = pathlib.Path(__file__).resolve().parent
MODULE, LIBRARY, *LAUNCHER = sys.argv[1:]
TIMEOUT_S = 60
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(pathlib.Path(MODULE).parent),
               "SHOAL_EDAT_LIBRARY": LIBRARY, "PYTHONDONTWRITEBYTECODE": "1",
               "PYTHONUNBUFFERED": ""}  # a line of one rank is one write, which no other one parts


def command(program, *arguments, processes=1):
    launcher = [*LAUNCHER, str(processes)] if LAUNCHER else []
    return [*launcher, sys.executable, str(HERE / program), *arguments]


def run(program, *arguments, processes=1):
    return subprocess.run(command(program, *arguments, processes=processes), env=ENVIRONMENT,
                          capture_output=True, text=True, check=False, timeout=TIMEOUT_S)


class Programs(unittest.TestCase):
    def assert_prints(self, lines, done):
        self.assertEqual((done.returncode, sorted(done.stdout.splitlines())), (0, sorted(lines)),
                         done.stderr)

    def assert_fails(self, pattern, done, output=None):
        self.assertNotEqual(done.returncode, 0)
        self.assertGreater(done.returncode, 0, f"killed by a signal: {done.stderr}")
        self.assertRegex(done.stderr, pattern)
        self.assertNotIn("not refused", done.stdout)
        if output is not None:
            self.assertRegex(done.stdout, output)


@unittest.skipIf(LAUNCHER, "in one process")
class OneProcess(Programs):
    def test_example(self):
        self.assert_prints(["1 parts, the last from rank 0: 4950"], run("sums.py"))

    def test_calls(self):
        for workers in ("1", "2", "8"):
            self.assert_prints(["rank 0 of 1: 0 failures"], run("calls.py", workers))

    def test_wrong_calls_raise(self):
        self.assert_prints(["0 failures"], run("wrong_calls.py"))

    def test_exception_of_a_task_ends_the_run(self):
        done = run("failing.py", "task_raises")
        self.assert_fails(r"edat: error: rank 0: an exception left the task 'quotient' \(divides\)"
                          r"\nTraceback [^$]*in divides[^$]*\nZeroDivisionError: ", done,
                          "^before the division\n$")
        self.assertEqual(done.returncode, 1)
        self.assert_fails("in divides[^$]*ZeroDivisionError", run("failing.py",
                                                                  "task_raises_after_wait"))
        self.assert_fails(r"left the task <lambda>\n[^$]*TypeError: .*positional argument",
                          run("failing.py", "task_takes_nothing"))
        self.assert_fails("left the task <lambda>\n[^$]*SystemExit: 0",
                          run("failing.py", "task_exits"))

    def test_rest_is_named(self):
        ends = "the exit functions of Python run\n$"
        self.assert_fails("shoal: error: .*nothing runs any more[^$]*waiting has 0 of 1",
                          run("failing.py", "task_left"), ends)
        self.assert_fails("nothing runs any more[^$]*waiting has 0 of 1",
                          run("failing.py", "pause_left"), ends)
        self.assert_fails("nothing runs any more[^$]*nobody's. from rank 0 with 1 int",
                          run("failing.py", "event_left"), ends)
        self.assert_fails("edat: error: edatWait: .*nothing runs any more[^$]*never",
                          run("failing.py", "wait_left"), "before the wait\n")
        self.assert_fails("edatWait: .*nothing runs any more[^$]*'main..' waits .*never",
                          run("failing.py", "wait_left_in_main"), "before the wait\n")
        self.assert_fails("edat: error: edatLock: .*nothing runs any more",
                          run("failing.py", "locks"))

    def test_end_without_edatFinalise(self):
        text = "edat: error: rank 0: the program ends without edatFinalise"
        self.assert_fails(f"KeyError: 'of main'\n{text}", run("failing.py", "main_raises"))
        self.assert_fails(text, run("failing.py", "main_exits"))
        self.assert_fails(text, run("failing.py", "no_end"))

    def test_unknown_key(self):
        self.assert_fails("edat: error: edatInitWithConfiguration: key EDAT_NUM_WORKER is unknown",
                          run("failing.py", "unknown_key"))

    def test_library_that_is_not_there(self):
        done = subprocess.run(command("sums.py"), capture_output=True, text=True, check=False,
                              env={**ENVIRONMENT, "SHOAL_EDAT_LIBRARY": "/not/there.so"})
        self.assert_fails("edat.EdatError: edatInit: libshoal_edat.so was not found: set "
                          "SHOAL_EDAT_LIBRARY to the file. Tried:\n  /not/there.so: ", done)

    def test_interrupt_ends_edatFinalise(self):
        with subprocess.Popen(command("failing.py", "interrupt"), env=ENVIRONMENT, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE) as program:
            self.assertEqual(program.stdout.readline(), "ready\n")
            program.send_signal(signal.SIGINT)
            program.communicate(timeout=TIMEOUT_S)
        self.assertIn(program.returncode, (-signal.SIGINT, 1, 130))


@unittest.skipUnless(LAUNCHER, "started by an MPI")
class Processes(Programs):
    def test_example(self):
        self.assert_prints(["2 parts, the last from rank 1: 19900"], run("sums.py", processes=2))

    def test_calls(self):
        for processes, workers in ((1, "2"), (2, "1"), (4, "2")):
            self.assert_prints(
                [f"rank {rank} of {processes}: 0 failures" for rank in range(processes)],
                run("calls.py", workers, processes=processes))

    def assert_fails_on_two(self, pattern, case):
        done = run("failing.py", case, processes=2)
        self.assertNotEqual(done.returncode, 0)
        self.assertRegex(done.stderr + done.stdout, pattern)
        self.assertNotIn("not refused", done.stdout)

    def test_failure_on_one_rank_ends_all(self):
        self.assert_fails_on_two("rank 1: an exception left the task 'quotient'[^$]*"
                                 "ZeroDivisionError", "task_raises")
        self.assert_fails_on_two("KeyError: 'of main'[^$]*rank 1: the program ends without",
                                 "main_raises")
        self.assert_fails_on_two("nothing runs any more[^$]*waiting has 0 of 1", "task_left")
        self.assert_fails_on_two("edatWait: .*nothing runs any more", "wait_left")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
