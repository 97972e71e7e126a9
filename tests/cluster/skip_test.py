#!/usr/bin/env python3
"""skip_test.py CODE: where tools/cluster cannot start a cluster, it prints the reason and exits
with CODE, which the tests of tests/cluster take as skipped."""

import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

TOOL = Path(__file__).resolve().parents[2] / "tools" / "cluster"
SKIPPED = int(sys.argv.pop())
IS_ROOT = os.geteuid() == 0
NEEDED = ("ip", "nsenter", "mount")


# The tool's main() as another user, who may have no access to the modules that it imports.
AS_NOBODY = ("-c", "import os, runpy, sys; tool = runpy.run_path(sys.argv.pop(1)); "
             "os.setuid(65534); sys.exit(tool['main']())")


def cluster(*arguments, launcher=(), interpreter=(sys.executable,), environment=None):
    """Exit code and standard error of the tool, which must print nothing else."""
    done = subprocess.run([*launcher, *interpreter, TOOL, *arguments], env=environment,
                          stdin=subprocess.DEVNULL, capture_output=True, text=True)
    assert done.stdout == "", done.stdout
    return done.returncode, done.stderr


class Skip(unittest.TestCase):
    def check_skipped(self, reason, **how):
        for arguments in (["up", "1"], ["with", "1", "--", "echo", "the command runs"]):
            code, error = cluster(*arguments, **how)
            self.assertEqual(code, SKIPPED, error)
            self.assertRegex(error, f"^tools/cluster: skipped: {reason}")
            self.assertEqual(error.count("\n"), 1)

    def test_without_a_program_that_it_needs(self):
        with tempfile.TemporaryDirectory() as folder:
            for program in NEEDED:
                self.check_skipped(f"no program {program}: install the packages iproute2 and",
                                   environment={"PATH": folder})
                (Path(folder) / program).symlink_to("/bin/true")

    @unittest.skipUnless(all(map(shutil.which, NEEDED)), "a program of the tool is missing")
    def test_without_root(self):
        self.check_skipped("a cluster needs namespaces, which need root",
                           interpreter=(sys.executable, *(AS_NOBODY if IS_ROOT else ())))

    @unittest.skipUnless(IS_ROOT and all(map(shutil.which, NEEDED)), "needs root")
    def test_where_namespaces_are_not_allowed(self):
        limits = ("setpriv", "--bounding-set=-sys_admin", "--inh-caps=-sys_admin")  # a container's
        self.check_skipped("namespaces are not allowed here: .*not permitted", launcher=limits)

    def test_version_is_that_of_the_other_tools(self):
        versions = {subprocess.check_output([TOOL.parent / tool, "--version"], text=True)
                    for tool in ("cluster", "shoal-bench", "shoal-explore")}
        self.assertEqual(len(versions), 1, versions)
        self.assertRegex(versions.pop(), r"^shoal \d+\.\d+\.\d+\n$")

    def test_other_refusals_are_failures(self):
        code, error = cluster("up", "0")
        self.assertEqual(code, 1, error)
        self.assertIn("from 1 to 250 hosts", error)


if __name__ == "__main__":
    unittest.main()
