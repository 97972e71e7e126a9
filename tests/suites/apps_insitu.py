"""apps/insitu, the files that it writes, and bench/insitu, with which it is compared."""

import csv
import json
import shutil

import suite
from apps_small_insitu import REPORT

TIMESTEPS, FIELDS = 4, 5


class Simulated(suite.Suite):

    def test_check(self):
        self.embedded("insitu", "--sim-check --ranks 16 --timesteps 3 --size 10")

    def test_twice(self):
        runs = [self.embedded("insitu", "--sim --ranks 6 --workers 2 --timesteps 3 --size 10")
                for _ in range(2)]
        self.print_the_same(f"items +72 in [^\n]* {REPORT}", *runs)


class Files(suite.Suite):

    def rows_of(self, ranks):
        """The header and the sorted rows of the diagnostics, and the results."""
        folder = self.folder()
        sizes = f"--timesteps {TIMESTEPS} --fields {FIELDS} --size 100"
        self.embedded("insitu", f"--ranks {ranks} --workers 2 {sizes} --out {folder}/d.csv "
                                f"--json {folder}/r.json")
        rows = list(csv.reader((folder / "d.csv").read_text().splitlines()))
        return rows[0], sorted(rows[1:]), json.loads((folder / "r.json").read_text())

    def test_standard_output(self):
        folder = self.folder()
        for ranks in (1, 3):
            sizes = f"--timesteps 2 --fields 1 --size 10 --ranks {ranks}"
            rows = list(csv.reader(self.embedded("insitu", f"{sizes} --out -",
                                                 folder=folder).output.splitlines()))
            self.assertEqual((rows[0][0], len(rows)), ("timestep", 3), rows)
            results = json.loads(self.embedded("insitu", f"{sizes} --json -", folder=folder).output)
            self.assertEqual(results["results"], 2)
        self.assertEqual(list(folder.iterdir()), [])

    def test_rows_and_results(self):
        """Rows depend on the number of ranks that compute only; more of those add values."""
        items = {(str(t), str(f)) for t in range(TIMESTEPS) for f in range(FIELDS)}
        rows = {}
        for ranks in (1, 2, 3, 6, 7):
            header, rows[ranks], results = self.rows_of(ranks)
            self.assertEqual(header, ["timestep", "field", "min", "max", "mean", "mean square"])
            self.assertEqual(len(rows[ranks]), TIMESTEPS * FIELDS)
            self.assertEqual({(row[0], row[1]) for row in rows[ranks]}, items)
            self.assertEqual(results["ranks"], ranks)
            self.assertEqual(results["results"], TIMESTEPS * FIELDS)
            self.assertEqual(results["items"], TIMESTEPS * FIELDS * max(1, ranks // 2))
            self.assertIs(results["good"], True)
            self.assertGreater(results["latency_us"], 0)
            self.assertGreater(results["items_per_second"], 0)
        self.assertEqual(rows[2], rows[1])  # one computes
        self.assertEqual(rows[3], rows[1])
        self.assertEqual(rows[7], rows[6])  # three do
        self.assertNotEqual(rows[6], rows[1])
        for one, three in zip(rows[1], rows[6]):
            self.assertLessEqual(float(three[2]), float(one[2]))
            self.assertGreaterEqual(float(three[3]), float(one[3]))
            self.assertTrue(0 < float(three[2]) < float(three[4]) < float(three[3]) < 1, three)


class Peer(suite.Suite):

    def setUp(self):
        self.program("insitu_mpi")

    def test_4_processes(self):
        result = self.launched("insitu_mpi", "openmpi", 4, "--timesteps 3 --size 50")
        self.prints(result, "items 48 in (?s:.*) results good")

    def test_odd_number_of_processes(self):
        result = self.launched("insitu_mpi", "openmpi", 3, code=2)
        self.assertEqual(result.errors.count("insitu_mpi: start an even number of processes"), 1,
                         str(result))

    def test_comparison(self):
        """The script starts both with the mpirun that is the default one."""
        if self.first_mpi() != "openmpi" or not shutil.which("mpirun"):
            self.skipTest("the default mpirun is not that of Open MPI")
        self.run_command([suite.SOURCE / "bench/insitu/run", suite.build().folder, "--rounds", 1,
                          "--timesteps", 2])


if __name__ == "__main__":
    suite.main()
