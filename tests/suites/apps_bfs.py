"""apps/bfs: large graphs, the same levels in all layouts, and the statistics that --json writes."""

import json
import statistics

import suite

VARIANTS = ["async", "events", "level_am"]
ROOTS = 7


class Graphs(suite.Suite):
    timeout = 300

    @suite.cases(["async", "events"])
    def test_scale_16(self, variant):
        self.everywhere("bfs", f"--scale 16 --roots 16 --variant {variant}", ranks=[4],
                        processes=[4], prints="trees +all 16 are good")

    @suite.cases({"karate": ("karate", 34), "jagmesh7": ("jagmesh7", 16),
                  "west0067": ("west0067", 16)})
    def test_matrix(self, graph):
        name, roots = graph
        for variant in VARIANTS:
            result = self.embedded(
                "bfs", f"--graph {self.data(name + '.mtx')} --roots {roots} --ranks 4 "
                       f"--variant {variant}")
            self.prints(result, f"trees +all {roots} are good")

    def test_same_levels(self):
        runs = ("--ranks 1 --workers 1", "--ranks 5 --workers 1", "--ranks 3 --workers 4",
                "--ranks 16 --sim")
        self.print_the_same("checksum +[0-9a-f]+ of all levels\n +trees +all 8 are good", *(
            self.embedded("bfs", f"--scale 9 --roots 8 --seed 3 --variant {variant} {run}")
            for variant in VARIANTS for run in runs))


class Json(suite.Suite):

    def setUp(self):
        path = self.folder() / "results.json"
        self.embedded("bfs", f"--scale 8 --roots {ROOTS} --ranks 3 --json {path}")
        self.results = json.loads(path.read_text())

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
    suite.main()
