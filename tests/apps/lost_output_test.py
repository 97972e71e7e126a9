#!/usr/bin/env python3
"""lost_output_test.py --results COMMAND... --messages COMMAND...: programs with standard streams
that cannot be written.

Programs whose results are lost say so and end with an exit code that is not 0. Programs that have
lost a message only go on, and end with the exit code that they have otherwise.
"""
import os
import shlex
import subprocess
import sys
import unittest

TIMEOUT_S = 60
MIDDLE = sys.argv.index("--messages")
RESULTS = [shlex.split(command) for command in sys.argv[2:MIDDLE]]
MESSAGES = [shlex.split(command) for command in sys.argv[MIDDLE + 1:]]
del sys.argv[1:]


def closed(stream, command):
    return ["sh", "-c", f'exec "$@" {stream}>&-', "sh", *command]


class Results(unittest.TestCase):
    def fails(self, command, output):
        done = subprocess.run(command, stdout=output, stderr=subprocess.PIPE, text=True,
                              check=False, timeout=TIMEOUT_S)
        self.assertGreater(done.returncode, 0, done.stderr)  # not by a signal
        self.assertRegex(done.stderr, r"standard output|cannot write|could not be written")

    def test_full_disk(self):
        for command in RESULTS:
            with self.subTest(command), open("/dev/full", "wb") as full:
                self.fails(command, full)

    def test_closed(self):
        for command in RESULTS:
            with self.subTest(command):
                self.fails(closed(1, command), subprocess.PIPE)


class Messages(unittest.TestCase):
    def code(self, command, errors):
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=errors, check=False,
                              timeout=TIMEOUT_S)
        return done.returncode, done.stdout

    def test_same_end_as_with_a_reader(self):
        for command in MESSAGES:
            with self.subTest(command):
                reading, writing = os.pipe()
                os.close(reading)
                expected, text = self.code(command, subprocess.PIPE)
                self.assertGreaterEqual(expected, 0)
                with open("/dev/full", "wb") as full:
                    self.assertEqual(self.code(command, full), (expected, text), "full")
                self.assertEqual(self.code(command, writing), (expected, text), "no reader")
                self.assertEqual(self.code(closed(2, command), None), (expected, text), "closed")
                os.close(writing)


if __name__ == "__main__":
    unittest.main()
