#!/usr/bin/env python3
"""explore_test.py SHOAL_EXPLORE: what shoal-explore does with programs that are scripts."""

import os
import stat
import subprocess
import sys
import tempfile
import unittest

EXPLORE = sys.argv.pop(1)


class Explore(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def script(self, body):
        path = os.path.join(self.folder, "program")
        with open(path, "w", encoding="utf-8") as file:
            file.write("#!/bin/sh\n" + body)
        os.chmod(path, stat.S_IRWXU)
        return path

    def explore(self, *words):
        done = subprocess.run([EXPLORE, *words], capture_output=True, text=True, check=False)
        return done.returncode, done.stdout + done.stderr

    def test_no_failure(self):
        code, text = self.explore("--seeds", "7", "--", self.script("exit 0"))
        self.assertEqual((code, text), (0, "shoal-explore: 7 seeds, no failure\n"))

    def test_failure_is_made_small(self):
        # Fails with at least 3 ranks and a delay, whatever the seed and the order.
        program = self.script('case "$*" in *--sim-faults*delay*--ranks\\ [3-9]*) '
                              'echo "error: 4 things" >&2; exit 1;; esac; exit 0')
        code, text = self.explore("--seeds", "5", "--faults", "drop:n=1;delay:p=1,by=1us", "--",
                                  program, "--ranks", "8", "own")
        self.assertEqual(code, 1, text)
        self.assertIn(f"fails in the same way:\n  {program} own --sim --sim-seed 1 --sim-faults "
                      "delay:p=1,by=1us --ranks 3\n  error: 4 things", text)

    def test_first_failing_seed_is_reported(self):
        program = self.script('case "$*" in *--sim-seed\\ [4-9]*) exit 3;; esac; exit 0')
        code, text = self.explore("--orders", "uniform", "--", program)
        self.assertEqual(code, 1)
        self.assertIn("run 4 of 1000 failed", text)
        self.assertIn("exit code 3", text)

    def test_other_failures_do_not_count_when_shrinking(self):
        program = self.script('case "$*" in *--ranks\\ 2*) echo "error: big" >&2; exit 1;; '
                              '*) echo "error: small" >&2; exit 1;; esac')
        _, text = self.explore("--orders", "time", "--", program, "--ranks", "2")
        self.assertIn("--ranks 2\n  error: big\nits last events", text)

    def test_program_that_does_not_end(self):
        code, text = self.explore("--timeout", "0.2", "--jobs", "1", "--log", "0", "--no-shrink",
                                  "--", self.script("exec sleep 60"))
        self.assertEqual(code, 1)
        self.assertIn("no end within 0.2 s", text)

    def test_program_that_goes_on_for_ever_in_virtual_time(self):
        program = self.script('case "$*" in *--sim-limit\\ 3s*) '
                              'echo "error: no end (--sim-limit)" >&2; exit 1;; esac; exit 0')
        code, text = self.explore("--limit", "3s", "--orders", "time", "--", program)
        self.assertEqual(code, 1)
        self.assertIn(f"{program} --sim --sim-seed 1 --sim-limit 3s\n", text)

    def test_program_that_crashes(self):
        code, text = self.explore("--log", "0", "--no-shrink", "--", self.script("kill -SEGV $$"))
        self.assertEqual(code, 1)
        self.assertIn("ended by SIGSEGV", text)

    def test_program_that_is_not_there(self):
        code, text = self.explore("--", "/nonexistent")
        self.assertEqual(code, 2)
        self.assertIn("/nonexistent cannot be run", text)

    def test_bad_options(self):
        for words in (["--orders", "best", "--", "true"], ["--seeds", "0", "--", "true"], []):
            code, _ = self.explore(*words)
            self.assertEqual(code, 2, words)
        code, text = self.explore("--", "true", "--ranks", "many")
        self.assertNotEqual(code, 0)
        self.assertIn("--ranks many: not a number", text)


if __name__ == "__main__":
    unittest.main()
