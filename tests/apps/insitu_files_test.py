#!/usr/bin/env python3
"""insitu_files_test.py INSITU: the files that insitu writes, on several numbers of ranks."""

import csv
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

INSITU = sys.argv.pop(1)
TIMESTEPS, FIELDS = 4, 5


def run(ranks):
    """The rows of the diagnostics, sorted, and the results."""
    with tempfile.TemporaryDirectory() as folder:
        diagnostics, results = pathlib.Path(folder) / "d.csv", pathlib.Path(folder) / "r.json"
        sizes = {"ranks": ranks, "workers": 2, "timesteps": TIMESTEPS, "fields": FIELDS,
                 "size": 100}
        command = [INSITU, "--out", str(diagnostics), "--json", str(results)]
        for name, size in sizes.items():
            command += [f"--{name}", str(size)]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        with open(diagnostics, encoding="utf-8") as file:
            rows = list(csv.reader(file))
        return rows[0], sorted(rows[1:]), json.loads(results.read_text())


class InsituFiles(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.runs = {ranks: run(ranks) for ranks in (1, 2, 3, 6, 7)}

    def test_standard_output(self):
        sizes = ["--timesteps", "2", "--fields", "1", "--size", "10"]
        with tempfile.TemporaryDirectory() as folder:
            for ranks in ("1", "3"):
                done = subprocess.run([INSITU, *sizes, "--ranks", ranks, "--out", "-"], check=True,
                                      capture_output=True, text=True, cwd=folder)
                rows = list(csv.reader(done.stdout.splitlines()))
                self.assertEqual((rows[0][0], len(rows)), ("timestep", 3), done.stdout)
                done = subprocess.run([INSITU, *sizes, "--ranks", ranks, "--json", "-"],
                                      check=True, capture_output=True, text=True, cwd=folder)
                self.assertEqual(json.loads(done.stdout)["results"], 2)
            self.assertEqual(list(pathlib.Path(folder).iterdir()), [])

    def test_each_item_has_a_row(self):
        items = {(str(t), str(f)) for t in range(TIMESTEPS) for f in range(FIELDS)}
        for header, rows, _ in self.runs.values():
            self.assertEqual(header, ["timestep", "field", "min", "max", "mean", "mean square"])
            self.assertEqual(len(rows), TIMESTEPS * FIELDS)
            self.assertEqual({(row[0], row[1]) for row in rows}, items)

    def test_rows_depend_on_the_number_of_compute_ranks_only(self):
        rows = {ranks: run[1] for ranks, run in self.runs.items()}
        self.assertEqual(rows[2], rows[1])  # one compute rank
        self.assertEqual(rows[3], rows[1])
        self.assertEqual(rows[7], rows[6])  # three
        self.assertNotEqual(rows[6], rows[1])

    def test_more_compute_ranks_add_values(self):
        for one, three in zip(self.runs[1][1], self.runs[6][1]):
            self.assertLessEqual(float(three[2]), float(one[2]))
            self.assertGreaterEqual(float(three[3]), float(one[3]))
            self.assertTrue(0 < float(three[2]) < float(three[4]) < float(three[3]) < 1, three)

    def test_results(self):
        for ranks, (_, _, results) in self.runs.items():
            compute_ranks = max(1, ranks // 2)
            self.assertEqual(results["ranks"], ranks)
            self.assertEqual(results["results"], TIMESTEPS * FIELDS)
            self.assertEqual(results["items"], TIMESTEPS * FIELDS * compute_ranks)
            self.assertIs(results["good"], True)
            self.assertGreater(results["latency_us"], 0)
            self.assertGreater(results["items_per_second"], 0)


if __name__ == "__main__":
    unittest.main()
