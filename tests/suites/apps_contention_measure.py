"""apps/contention measure: short measurements in one process and over MPI, and refusals."""

import xml.etree.ElementTree

import suite
from apps_contention_files import Contention

QUICK = ["--quick", "--duration", 1, "--memory", 1]
SHORT = [*QUICK, "--repetitions", 2, "--message-bytes", 65536]
SHORTEST = [*QUICK, "--repetitions", 1, "--message-bytes", 65536, "-o", "-"]


def rows_of(text):
    return [line for line in text.splitlines() if line and not line.startswith(("#", "kernel"))]


class Measure(Contention):

    def setUp(self):
        self.scratch = self.folder()
        self.data = self.scratch / "measured.csv"
        self.report, _ = self.run_it("measure", *SHORT, "-o", self.data)

    def test_report_and_picture(self):
        self.assertIn("samples of", self.report)
        self.assertIn("note: MPI alone is not measured", self.report)
        self.assertIn("note: sender and receiver on one host", self.report)
        self.assertRegex(self.report, "note: (no memory counters: |memory traffic of the whole)")
        root = xml.etree.ElementTree.parse(self.scratch / "measured.svg").getroot()
        self.assertTrue(root.tag.endswith("svg"))

    def test_model_and_figures(self):
        model = self.scratch / "model.json"
        self.run_it("calibrate", self.data, "-o", model)
        self.run_it("advise", model)
        for figure in ("placements", "stacked", "sizes", "sizes-latency", "intensity",
                       "intensity-latency", "polling"):
            picture, _ = self.run_it("plot", "--data", self.data, "--figure", figure, "-o", "-")
            self.assertIn("</svg>", picture, figure)
        self.run_it("calibrate", self.data, "-o", model, "--kernel", "copy",
                    code=2)  # not with --quick
        self.run_it("calibrate", self.data, "-o", model, "--channel", "mpi", code=2)

    def test_goes_on(self):
        text = self.data.read_text()
        part = self.scratch / "part.csv"
        part.write_text(text[:len(text) // 2])
        self.run_it("measure", *SHORT, "-o", part)
        points = [row.rsplit(",", 6)[0] for row in rows_of(text)]
        self.assertEqual([row.rsplit(",", 6)[0] for row in rows_of(part.read_text())][:40],
                         points[:40])
        before = part.read_text()
        self.run_it("measure", *SHORT, "-o", part)
        self.assertEqual(part.read_text(), before)  # all is there

    def test_messages_of_the_default_size(self):
        output, _ = self.run_it("measure", *QUICK, "--repetitions", 1, "-o", "-")
        self.assertTrue(any(",64000000," in row for row in rows_of(output)))

    def test_standard_output(self):
        output, _ = self.run_it("measure", *SHORT, "-o", "-")
        self.assertEqual(len(rows_of(output)), len(rows_of(self.data.read_text())))

    def test_help(self):
        output, _ = self.run_it("measure", "-h")
        self.assertIn("--message-bytes", output)
        self.assertIn("measure", self.run_it("--help")[0])
        self.assertIn("shoal", self.run_it("--version")[0])

    def test_refusals(self):
        other = self.scratch / "other.csv"
        other.write_text(self.data.read_text().replace("# machine: ", "# machine: not "))
        mine = self.scratch / "mine.csv"
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
            output, errors = self.run_it("measure", *arguments, code=2)
            self.assertEqual((output + errors).count(message), 1, f"{arguments}\n{errors}")
            self.assertFalse(mine.exists())


class OtherPrograms(suite.Suite):

    def test_over_mpi(self):
        for mpi in suite.build().mpis:
            result = self.launched("contention", mpi, 2, ["measure", *SHORTEST])
            self.prints(result, "triad,512,1?[0-9]*,0,mpi,receive,65536,")

    def test_without_papi(self):
        done = self.embedded("contention_without_papi", map(str, ["measure", *SHORTEST]))
        self.assertIn("no memory counters: built without PAPI", done.output)
        lines = [line for line in done.output.splitlines() if line and not line.startswith("#")]
        column = lines[0].split(",").index("memory_mb_s")
        self.assertGreater(len(lines), 10)
        for line in lines[1:]:
            self.assertEqual(line.split(",")[column], "", line)
        self.refused("contention_without_papi",
                     map(str, ["measure", *SHORTEST, "--counters", "PAPI_TOT_CYC"]),
                     "--counters: built without PAPI; install libpapi-dev", code=2)


if __name__ == "__main__":
    suite.main()
