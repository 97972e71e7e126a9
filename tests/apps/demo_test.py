#!/usr/bin/env python3
"""demo_test.py PROGRAM: tools/demo with the program, where /sys is empty as in a bare container:
hwloc does not complain, neither in the ranks nor in the launcher. Exit code 77: a private mount of
/sys is not allowed here."""

import os
import subprocess
import sys
import unittest
from pathlib import Path

DEMO = Path(__file__).resolve().parents[2] / "tools" / "demo"
WITHOUT_SYS = ("unshare", "--mount", "sh", "-c", 'mount -t tmpfs none /sys && exec "$@"', "sh")
PROGRAM = sys.argv.pop()


def demo(**environment):
    """Standard output and standard error of the demonstration with a small matrix."""
    return subprocess.run([*WITHOUT_SYS, DEMO, PROGRAM, "--n", "300"], env=os.environ | environment,
                          stdin=subprocess.DEVNULL, capture_output=True, text=True)


class Demo(unittest.TestCase):
    def test_hwloc_is_silent(self):
        done = demo()
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("4 ranks (embedded)", done.stdout)
        self.assertRegex(done.stdout, r"4 ranks \(MPI\)|no MPI here")
        self.assertNotIn("hwloc", done.stdout + done.stderr)

    def test_hwloc_complains_when_asked_to(self):
        done = demo(HWLOC_HIDE_ERRORS="0")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("hwloc", done.stdout + done.stderr)


if __name__ == "__main__":
    if subprocess.run([*WITHOUT_SYS, "true"], capture_output=True).returncode != 0:
        print("skipped: a private mount of /sys is not allowed here (it needs root)")
        sys.exit(77)
    unittest.main()
