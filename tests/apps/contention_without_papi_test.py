#!/usr/bin/env python3
"""contention_without_papi_test.py CONTENTION: a program that was built without PAPI."""

import subprocess
import sys
import unittest

CONTENTION = sys.argv.pop(1)
SHORT = ["measure", "--quick", "--repetitions", "1", "--duration", "1", "--memory", "1",
         "--message-bytes", "65536", "-o", "-"]


def run(*arguments):
    return subprocess.run([CONTENTION, *arguments], capture_output=True, text=True)


class WithoutPapi(unittest.TestCase):
    def test_measures_and_says_what_is_missing(self):
        done = run(*SHORT)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("no memory counters: built without PAPI", done.stdout)
        lines = [line for line in done.stdout.splitlines() if line and not line.startswith("#")]
        column = lines[0].split(",").index("memory_mb_s")
        self.assertGreater(len(lines), 10)
        for line in lines[1:]:
            self.assertEqual(line.split(",")[column], "", line)

    def test_counters_are_refused(self):
        done = run(*SHORT, "--counters", "PAPI_TOT_CYC")
        self.assertEqual(done.returncode, 2)
        self.assertIn("--counters: built without PAPI; install libpapi-dev", done.stderr)


unittest.main()
