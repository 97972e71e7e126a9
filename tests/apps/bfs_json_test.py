#!/usr/bin/env python3
"""bfs_json_test.py BFS: what `bfs --json` writes, against statistics computed here."""

import json
import pathlib
import statistics
import subprocess
import sys
import tempfile
import unittest

BFS = sys.argv.pop(1)
ROOTS = 7


class BfsJson(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "results.json"
            command = [BFS, "--scale", "8", "--roots", str(ROOTS), "--ranks", "3"]
            subprocess.run([*command, "--json", str(path)], check=True, stdout=subprocess.DEVNULL)
            cls.results = json.loads(path.read_text())

    def test_standard_output_has_the_results_and_nothing_else(self):
        with tempfile.TemporaryDirectory() as folder:
            command = [BFS, "--scale", "6", "--roots", "2", "--ranks", "2", "--json", "-"]
            done = subprocess.run(command, check=True, capture_output=True, text=True, cwd=folder)
            self.assertEqual(json.loads(done.stdout)["program"], "bfs")
            self.assertEqual(list(pathlib.Path(folder).iterdir()), [])

    def values(self, key):
        return [search[key] for search in self.results["searches"]]

    def assert_statistics(self, key, values, mean):
        found = self.results[key]
        first, middle, third = statistics.quantiles(values, n=4, method="inclusive")
        expected = {"min": min(values), "first_quartile": first, "median": middle,
                    "third_quartile": third, "max": max(values), "mean": mean}
        self.assertEqual(set(found), {*expected, "deviation"})
        for name, value in expected.items():
            self.assertAlmostEqual(found[name] / value, 1, places=9, msg=f"{key}: {name}")
        self.assertGreaterEqual(found["deviation"], 0)

    def test_run(self):
        self.assertEqual(self.results["program"], "bfs")
        self.assertEqual(self.results["ranks"], 3)
        self.assertEqual((self.results["vertices"], self.results["edges"]), (256, 16 * 256))
        self.assertIs(self.results["verified"], True)

    def test_searches(self):
        self.assertEqual(len(set(self.values("root"))), ROOTS)
        self.assertEqual(self.values("faults"), [""] * ROOTS)
        for search in self.results["searches"]:
            self.assertTrue(2 <= search["vertices"] <= 256, search)
            edges = search["teps"] * search["seconds"]
            self.assertAlmostEqual(edges / search["edges"], 1, places=9)

    def test_statistics(self):
        seconds, edges = self.values("seconds"), self.values("edges")
        self.assert_statistics("seconds", seconds, statistics.fmean(seconds))
        self.assert_statistics("nedge", edges, statistics.fmean(edges))
        teps = self.values("teps")
        self.assert_statistics("teps", teps, statistics.harmonic_mean(teps))
        deviation = self.results["seconds"]["deviation"]
        self.assertAlmostEqual(deviation / statistics.stdev(seconds), 1, places=9)


if __name__ == "__main__":
    unittest.main()
