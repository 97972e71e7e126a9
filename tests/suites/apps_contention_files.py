"""apps/contention without measurements: from synthetic ones to models, figures and advice."""

import csv
import json
import xml.etree.ElementTree

import suite

MACHINES = suite.SOURCE / "apps/contention/machines"
PHASE = ["--computation-mb", 50000, "--communication-mb", 8000]


class Contention(suite.Suite):

    def run_it(self, *arguments, **options):
        """Standard output and standard error of the program."""
        result = self.embedded("contention", map(str, arguments), **options)
        return result.output, result.errors


class Docs(Contention):

    def table_of(self, name):
        """Rows of a table in docs/contention.md, as lists of cells."""
        text = (suite.SOURCE / "docs/contention.md").read_text()
        lines = text.split(f"<!-- table: {name} -->\n")[1].split("\n\n")[0].splitlines()[2:]
        return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]

    def shares_of(self, machine):
        """A row of the table "shares"."""
        model = json.loads((MACHINES / f"{machine}.json").read_text())
        row = [machine]
        for node, part in ((0, "local"), (model["nodes_per_socket"], "remote")):
            text, _ = self.run_it("predict", MACHINES / f"{machine}.json", "--computation-node",
                                  node,
                          "--communication-node", node)
            last = list(csv.DictReader(text.splitlines()))[-1]
            last = {key: float(value) for key, value in last.items()}
            row.append(f"{100 * last['communication_mb_s'] / model[part]['network_mb_s']:.0f} %")
            row.append(f"{100 * last['computation_mb_s'] / last['computation_alone_mb_s']:.0f} %")
        return row

    def phases_of(self, machine):
        """A row of the table "phases"."""
        path = MACHINES / f"{machine}.json"
        model = json.loads(path.read_text())

        def advise(*fixed):
            return json.loads(self.run_it("advise", path, *PHASE, "--json", *fixed)[0])

        def best(*fixed):
            choice = advise(*fixed)
            return f"{choice['end_s']:.3f} ({choice['cores']} cores)"

        row = [machine]
        for node in (0, model["nodes_per_socket"]):
            nodes = ["--computation-node", node, "--communication-node", node]
            row.append(f"{advise(*nodes, '--cores', model['cores'])['end_s']:.3f}")
            row.append(best(*nodes))
        return row + [best()]

    def test_tables_are_what_the_program_says(self):
        for name, row_of in (("shares", self.shares_of), ("phases", self.phases_of)):
            rows = self.table_of(name)
            self.assertEqual(len(rows), 9)
            for row in rows:
                self.assertEqual(row, row_of(row[0]), name)

    def test_pictures_are_what_the_program_draws(self):
        names = {path.stem for path in MACHINES.glob("*.json")}
        pictures = [path for path in (suite.SOURCE / "docs/contention").glob("*.svg")
                    if path.stem.partition("_")[0] in names]
        self.assertEqual(len(pictures), 6)
        for path in pictures:
            machine, _, figure = path.stem.partition("_")
            text, _ = self.run_it("plot", "--model", MACHINES / f"{machine}.json", "--figure",
                          figure or "placements", "-o", "-")
            self.assertTrue(text == path.read_text(), f"{path} is out of date: draw it again")


class Files(Contention):

    def setUp(self):
        self.scratch = self.folder()

    def measurements_of(self, machine, *options):
        path = self.scratch / f"{machine}.csv"
        self.run_it("synthesize", MACHINES / f"{machine}.json", "-o", path, *options)
        return path

    def test_models_come_back(self):
        for path in MACHINES.glob("*.json"):
            truth = json.loads(path.read_text())
            data = self.measurements_of(path.stem)
            model = self.scratch / "model.json"
            output, _ = self.run_it("calibrate", data, "-o", model)
            self.assertIn(f"{truth['cores']} computing cores", output)
            found = json.loads(model.read_text())
            for part in ("local", "remote"):
                for key in ("core_mb_s", "network_mb_s"):
                    self.assertAlmostEqual(found[part][key], truth[part][key], delta=0.2)
            table, _ = self.run_it("predict", model, "--data", data)
            average = float(table.split("mean of both")[1].split("%")[0])
            self.assertLess(average, 1, path.stem)

    def test_curves_have_all_placements_and_cores(self):
        rows = list(csv.DictReader(self.run_it("predict",
                                               MACHINES / "henrisubnuma.json")[0].splitlines()))
        self.assertEqual(len(rows), 16 * 18)
        rows = list(csv.DictReader(self.run_it("predict", MACHINES / "henri.json",
                                               "--computation-node", 1,
                                       "--communication-node", 0)[0].splitlines()))
        self.assertEqual([row["cores"] for row in rows], [str(n) for n in range(1, 19)])
        self.assertEqual({row["computation_node"] for row in rows}, {"1"})
        self.assertEqual(rows[0]["computation_mb_s"], "4455.2")

    def test_figures_are_documents(self):
        data = self.measurements_of("dahu", "--noise", 0.02, "--seed", 3)
        for figure in ("placements", "stacked"):
            text, _ = self.run_it("plot", "--model", MACHINES / "dahu.json", "--data", data,
                                  "--figure",
                          figure, "-o", "-")
            root = xml.etree.ElementTree.fromstring(text)
            self.assertTrue(root.tag.endswith("svg"))
        picture = self.scratch / "figure.svg"
        self.run_it("plot", "--model", MACHINES / "dahu.json", "-o", picture)
        self.assertIn("</svg>", picture.read_text())

    def test_figures_are_png_where_rsvg_convert_is(self):
        picture = self.scratch / "figure.png"
        _, errors = self.run_it("plot", "--model", MACHINES / "dahu.json", "-o", picture, code=2,
                                environment={"PATH": "/nowhere"})
        self.assertIn("figure.png: PNG needs the program rsvg-convert", errors)
        self.run_it("plot", "--model", MACHINES / "dahu.json", "-o", picture)
        self.assertEqual(picture.read_bytes()[:8], b"\x89PNG\r\n\x1a\n")
        self.run_it("plot", "--model", MACHINES / "dahu.json", "-o", self.scratch / "none/x.png",
                    code=2)

    def test_advice(self):
        text, _ = self.run_it("advise", MACHINES / "henrisubnuma.json", *PHASE)
        self.assertIn("best", text)
        choice = json.loads(self.run_it("advise", MACHINES / "henrisubnuma.json", *PHASE,
                                        "--json")[0])
        self.assertNotEqual(choice["computation_node"], choice["communication_node"])
        fixed = json.loads(self.run_it("advise", MACHINES / "henrisubnuma.json", *PHASE, "--json",
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
        output, errors = self.run_it("calibrate", data, "-o", "-")
        self.assertEqual(json.loads(output)["machine"], "billy")
        self.assertIn("warning: local accesses: communication alone varies", errors)

    def test_refusals(self):
        model = MACHINES / "henri.json"
        data = self.measurements_of("henri")
        fewer = self.scratch / "fewer.csv"
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
            (["predict", data], "contention model: the text is not valid JSON"),
            (["predict", model, "--computation-node", 2], "the machine has nodes 0 to 1"),
            (["predict", MACHINES / "dahu.json", "--data", data], "of different machines"),
            (["plot", "-o", "-"], "needs a model or measurements"),
            (["plot", "--data", data, "--figure", "cores", "-o", "-"], "'cores' has no data"),
            (["plot", "--data", data, "--figure", "pie", "-o", "-"], "--figure"),
            (["advise", model, "--json"], "--json needs --computation-mb"),
            (["advise", model, "--share", 2], "--share"),
            (["synthesize", model, "--noise", 1], "--noise"),
            ([], "subcommand is required"),
        ]:
            output, errors = self.run_it(*arguments, code=2)
            self.assertIn(message, output + errors, arguments)


if __name__ == "__main__":
    suite.main()
