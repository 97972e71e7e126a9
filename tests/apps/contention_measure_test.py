#!/usr/bin/env python3
"""contention_measure_test.py CONTENTION: short measurements in one process, and refusals."""

import pathlib
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree

CONTENTION = sys.argv.pop(1)
SHORT = ["--quick", "--repetitions", "2", "--duration", "1", "--memory", "1", "--message-bytes",
         "65536"]


def run(*arguments, code=0):
    """Standard output and standard error of the program."""
    done = subprocess.run([CONTENTION, *map(str, arguments)], capture_output=True, text=True)
    if done.returncode != code:
        raise AssertionError(f"exit code {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout, done.stderr


def rows_of(text):
    return [line for line in text.splitlines() if line and not line.startswith(("#", "kernel"))]


class ContentionMeasure(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory()
        cls.folder = pathlib.Path(cls.scratch.name)
        cls.data = cls.folder / "measured.csv"
        cls.report, _ = run("measure", *SHORT, "-o", cls.data)

    @classmethod
    def tearDownClass(cls):
        cls.scratch.cleanup()

    def test_report_and_picture(self):
        self.assertIn("samples of", self.report)
        self.assertIn("note: MPI alone is not measured", self.report)
        self.assertIn("note: sender and receiver on one host", self.report)
        self.assertRegex(self.report, "note: (no memory counters: |memory traffic of the whole)")
        root = xml.etree.ElementTree.parse(self.folder / "measured.svg").getroot()
        self.assertTrue(root.tag.endswith("svg"))

    def test_model_and_figures(self):
        model = self.folder / "model.json"
        run("calibrate", self.data, "-o", model)
        run("advise", model)
        for figure in ("placements", "stacked", "sizes", "sizes-latency", "intensity",
                       "intensity-latency", "polling"):
            picture, _ = run("plot", "--data", self.data, "--figure", figure, "-o", "-")
            self.assertIn("</svg>", picture, figure)
        run("calibrate", self.data, "-o", model, "--kernel", "copy", code=2)  # not with --quick
        run("calibrate", self.data, "-o", model, "--channel", "mpi", code=2)

    def test_goes_on(self):
        text = self.data.read_text()
        part = self.folder / "part.csv"
        part.write_text(text[:len(text) // 2])
        run("measure", *SHORT, "-o", part)
        points = [row.rsplit(",", 6)[0] for row in rows_of(text)]
        self.assertEqual([row.rsplit(",", 6)[0] for row in rows_of(part.read_text())][:40],
                         points[:40])
        before = part.read_text()
        run("measure", *SHORT, "-o", part)
        self.assertEqual(part.read_text(), before)  # all is there

    def test_messages_of_the_default_size(self):
        output, _ = run("measure", "--quick", "--repetitions", "1", "--duration", "1",
                        "--memory", "1", "-o", "-")
        self.assertTrue(any(",64000000," in row for row in rows_of(output)))

    def test_standard_output(self):
        output, _ = run("measure", *SHORT, "-o", "-")
        self.assertEqual(len(rows_of(output)), len(rows_of(self.data.read_text())))

    def test_help(self):
        output, _ = run("measure", "-h")
        self.assertIn("--message-bytes", output)
        self.assertIn("measure", run("--help")[0])
        self.assertIn("shoal", run("--version")[0])

    def test_refusals(self):
        other = self.folder / "other.csv"
        other.write_text(self.data.read_text().replace("# machine: ", "# machine: not "))
        mine = self.folder / "mine.csv"
        for arguments, message in [
            (["-o", other], "choose another file"),
            (["-o", "/nonexistent/x.csv"], "/nonexistent/x.csv: cannot write"),
            (["-o", "/dev/full"], "/dev/full: cannot write"),
            (["-o", "/"], "/: cannot read"),
            ([], "--output is required"),
            (["-o", mine, "--ranks", "1"], "measured between 2 ranks, not 1"),
            (["-o", mine, "--ranks", "3"], "measured between 2 ranks, not 3"),
            (["-o", mine, "--workers", "2"], "leave --workers out"),
            (["-o", mine, "--sim"], "a simulated world is not measured"),
            (["-o", mine, "--memory", "0"], "--memory"),
            (["-o", mine, "--message-bytes", "1"], "--message-bytes"),
            (["-o", mine, "--repetitions", "0"], "--repetitions"),
            (["-o", mine, "--counters", "no_unit::NO_EVENT"], "--counters: "),
        ]:
            output, errors = run("measure", *arguments, code=2)
            self.assertEqual((output + errors).count(message), 1, f"{arguments}\n{errors}")
            self.assertFalse(mine.exists())


if __name__ == "__main__":
    unittest.main()
