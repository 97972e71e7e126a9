#!/usr/bin/env python3
"""tools/check_calls accepts calls in one direction and refuses cycles, by name."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

TOOL = pathlib.Path(__file__).resolve().parents[2] / "tools" / "check_calls"


def check(sources, exceptions=""):
    """Runs the tool over a library of {file: text}; returns (exit code, output)."""
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        (root / "src").mkdir()
        (root / "tools").mkdir()
        (root / "tools" / "tidy_exceptions").write_text(exceptions)
        for name, text in sources.items():
            (root / name).write_text(text)
            subprocess.run(["cc", "-c", name, "-o", name + ".o"], cwd=folder, check=True)
        objects = [name + ".o" for name in sources]
        subprocess.run(["ar", "rc", "src/libshoal_x.a", *objects], cwd=folder, check=True)
        command = [sys.executable, str(TOOL), "--root", folder, folder]
        result = subprocess.run(command, capture_output=True, text=True, check=False)
        return result.returncode, result.stdout + result.stderr


ONE_WAY = {"a.c": "int b(void);\nint a(void) { return b(); }\n",
           "b.c": "int b(void) { return 1; }\n"}
CYCLE = {"a.c": "int b(void);\nint a(void) { return b(); }\nint c(void) { return 1; }\n",
         "b.c": "int c(void);\nint b(void) { return c(); }\n"}


class CheckCalls(unittest.TestCase):
    def test_one_direction(self):
        self.assertEqual(check(ONE_WAY)[0], 0)

    def test_cycle(self):
        code, output = check(CYCLE)
        self.assertEqual(code, 1)
        self.assertIn("libshoal_x.a: a.c, b.c call each other", output)
        self.assertIn("b.c -> a.c", output)

    def test_exceptions(self):
        self.assertEqual(check(CYCLE, "src/x/a.c | calls | old\n")[0], 0)
        code, output = check(ONE_WAY, "src/x/a.c | calls | old\n")
        self.assertEqual(code, 1)
        self.assertIn("tools/tidy_exceptions:1: src/x/a.c is in no cycle", output)

    def test_nothing_built(self):
        with tempfile.TemporaryDirectory() as folder:
            result = subprocess.run([sys.executable, str(TOOL), folder], capture_output=True,
                                    text=True, check=False)
        self.assertEqual(result.returncode, 1)
        self.assertIn("build the target src/all first", result.stderr)


if __name__ == "__main__":
    unittest.main()
