#!/usr/bin/env python3
"""contention_files_test.py CONTENTION: from synthetic measurements to models, figures, advice."""

import csv
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree

CONTENTION = sys.argv.pop(1)
MACHINES = pathlib.Path(__file__).resolve().parent.parent.parent / "apps/contention/machines"


def run(*arguments, code=0):
    """Standard output and standard error of the program."""
    done = subprocess.run([CONTENTION, *map(str, arguments)], capture_output=True, text=True)
    if done.returncode != code:
        raise AssertionError(f"exit code {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout, done.stderr


class ContentionFiles(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def measurements_of(self, machine, *options):
        path = self.folder / f"{machine}.csv"
        run("synthesize", MACHINES / f"{machine}.json", "-o", path, *options)
        return path

    def test_models_come_back(self):
        for path in MACHINES.glob("*.json"):
            truth = json.loads(path.read_text())
            data = self.measurements_of(path.stem)
            model = self.folder / "model.json"
            output, _ = run("calibrate", data, "-o", model)
            self.assertIn(f"{truth['cores']} computing cores", output)
            found = json.loads(model.read_text())
            for part in ("local", "remote"):
                for key in ("core_mb_s", "network_mb_s"):
                    self.assertAlmostEqual(found[part][key], truth[part][key], delta=0.2)
            table, _ = run("predict", model, "--data", data)
            average = float(table.split("mean of both")[1].split("%")[0])
            self.assertLess(average, 1, path.stem)

    def test_curves_have_all_placements_and_cores(self):
        rows = list(csv.DictReader(run("predict", MACHINES / "henrisubnuma.json")[0].splitlines()))
        self.assertEqual(len(rows), 16 * 18)
        rows = list(csv.DictReader(run("predict", MACHINES / "henri.json", "--computation-node", 1,
                                       "--communication-node", 0)[0].splitlines()))
        self.assertEqual([row["cores"] for row in rows], [str(n) for n in range(1, 19)])
        self.assertEqual({row["computation_node"] for row in rows}, {"1"})
        self.assertEqual(rows[0]["computation_mb_s"], "4455.2")

    def test_figures_are_documents(self):
        data = self.measurements_of("dahu", "--noise", 0.02, "--seed", 3)
        for figure in ("placements", "stacked"):
            text, _ = run("plot", "--model", MACHINES / "dahu.json", "--data", data, "--figure",
                          figure, "-o", "-")
            root = xml.etree.ElementTree.fromstring(text)
            self.assertTrue(root.tag.endswith("svg"))
        picture = self.folder / "figure.svg"
        run("plot", "--model", MACHINES / "dahu.json", "-o", picture)
        self.assertIn("</svg>", picture.read_text())

    def test_advice(self):
        phase = ["--computation-mb", 50000, "--communication-mb", 8000]
        text, _ = run("advise", MACHINES / "henrisubnuma.json", *phase)
        self.assertIn("best", text)
        choice = json.loads(run("advise", MACHINES / "henrisubnuma.json", *phase, "--json")[0])
        self.assertNotEqual(choice["computation_node"], choice["communication_node"])
        fixed = json.loads(run("advise", MACHINES / "henrisubnuma.json", *phase, "--json",
                               "--computation-node", 0, "--communication-node", 0)[0])
        self.assertEqual(fixed["communication_node"], 0)
        self.assertGreater(fixed["end_s"], choice["end_s"])

    def test_warnings_are_not_in_the_model(self):
        data = self.measurements_of("billy")
        lines = data.read_text().splitlines(keepends=True)
        columns = next(line for line in lines if line.startswith("kernel")).split(",")
        place = columns.index("communication_mb_s")
        for i, line in enumerate(lines):
            fields = line.split(",")
            if fields[0] == "none" and fields[columns.index("repetition")] == "0":
                fields[place] = str(2 * float(fields[place]))
                lines[i] = ",".join(fields)
        data.write_text("".join(lines))
        output, errors = run("calibrate", data, "-o", "-")
        self.assertEqual(json.loads(output)["machine"], "billy")
        self.assertIn("warning: local accesses: communication alone varies", errors)

    def test_refusals(self):
        model = MACHINES / "henri.json"
        data = self.measurements_of("henri")
        fewer = self.folder / "fewer.csv"
        fewer.write_text("".join(line for line in data.read_text().splitlines(keepends=True)
                                 if not line.startswith("fill,1,7,0,none")))
        for arguments, message in [
            (["calibrate", "/nonexistent.csv", "-o", "-"], "/nonexistent.csv: cannot read"),
            (["calibrate", model, "-o", "-"], "henri.json:1: the first line must be"),
            (["calibrate", fewer, "-o", "-"], "fill on 7 cores, data on NUMA node 0, without comm"),
            (["calibrate", data, "-o", "-", "--kernel", "copy"], "no measurement of copy"),
            (["calibrate", data, "-o", "/nonexistent/x"], "/nonexistent/x: cannot write"),
            (["calibrate", data, "-o", "/dev/full"], "/dev/full: cannot write"),
            (["calibrate", data], "--output is required"),
            (["predict", data], "contention model: the text is no JSON"),
            (["predict", model, "--computation-node", 2], "the machine has nodes 0 to 1"),
            (["predict", MACHINES / "dahu.json", "--data", data], "of different machines"),
            (["plot", "--model", model, "-o", "x.png"], "x.png: figures are written as SVG"),
            (["plot", "-o", "-"], "needs a model or measurements"),
            (["plot", "--data", data, "--figure", "cores", "-o", "-"], "'cores' has no data"),
            (["plot", "--data", data, "--figure", "pie", "-o", "-"], "--figure"),
            (["advise", model, "--json"], "--json needs --computation-mb"),
            (["advise", model, "--share", 2], "--share"),
            (["synthesize", model, "--noise", 1], "--noise"),
            ([], "subcommand is required"),
        ]:
            output, errors = run(*arguments, code=2)
            self.assertIn(message, output + errors, arguments)


if __name__ == "__main__":
    unittest.main()
