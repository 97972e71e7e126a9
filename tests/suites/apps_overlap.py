"""apps/overlap, and the table and picture of docs/contention.md on limits, which `--update`
writes."""

import json
import re
import sys

import suite

MACHINES = suite.SOURCE / "apps/contention/machines"
PAGE = suite.SOURCE / "docs/contention.md"
PICTURE = suite.SOURCE / "docs/contention/limit.svg"
TABLE = re.compile(r"(<!-- table: limits -->\n(?:\|.*\n){2})((?:\|.*\n)*)")
LINE = re.compile(r"arrived after ([0-9.]+) s, tasks ended after ([0-9.]+) s")

TASK_MB = 10
MESSAGE_MB = 20
PHASE_S = 0.25  # that computation and communication take alone, each

# Settings of the columns. ONE_LESS stands for a number.
ONE_LESS = "cores - 1"
RUNS = (("all cores", ()),
        ("all but one", ("--memory-bound-max", ONE_LESS)),
        ("limit", ("--memory-bound-max", "auto")),
        ("limit and buffers", ("--memory-bound-max", "auto", "--buffer-node", "auto")))


def names():
    return sorted(path.stem for path in MACHINES.glob("*.json"))


def bars(rows):
    """A picture of the ends of all, as shares of that without a limit."""
    colors = ("#c7c7c7", "#8c8c8c", "#1f77b4", "#2ca02c")
    width, left, top, bar, group = 720, 110, 46, 8, 42
    height = top + group * len(rows) + 34
    scale = (width - left - 40) / 1.2
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
           'font-family="sans-serif" font-size="12">',
           f'<rect width="{width}" height="{height}" fill="white"/>']
    for i, (label, _) in enumerate(RUNS):
        x = left + i * 120
        out.append(f'<rect x="{x}" y="14" width="12" height="12" fill="{colors[i]}"/>'
                   f'<text x="{x + 17}" y="24">{label}</text>')
    for tick in (0, 0.25, 0.5, 0.75, 1):
        x = left + tick * scale
        out.append(f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{top - 6}" y2="{height - 28}" '
                   f'stroke="#dddddd"/><text x="{x:.1f}" y="{height - 12}" '
                   f'text-anchor="middle">{100 * tick:.0f} %</text>')
    for number, row in enumerate(rows):
        y = top + number * group
        out.append(f'<text x="{left - 8}" y="{y + 18}" text-anchor="end">{row[0]}</text>')
        ends = [float(cell.split(" / ")[1].split()[0]) for cell in row[1:5]]
        for i, end_s in enumerate(ends):
            out.append(f'<rect x="{left}" y="{y + i * (bar + 1)}" '
                       f'width="{end_s / ends[0] * scale:.1f}" height="{bar}" '
                       f'fill="{colors[i]}"/>')
    return "\n".join(out + ["</svg>"]) + "\n"


class Base(suite.Suite):

    def run_it(self, *arguments, **options):
        result = self.embedded("overlap", map(str, arguments), **options)
        return result.output, result.errors


class Docs(Base):
    update = False

    def simulate(self, path, *options):
        """Seconds until the messages have arrived, and until all is done."""
        model = json.loads(path.read_text())
        tasks = round(model["local"]["total_seq_mb_s"] * PHASE_S / TASK_MB)
        messages = round(model["local"]["network_mb_s"] * PHASE_S / MESSAGE_MB)
        options = [model["cores"] - 1 if word == ONE_LESS else word for word in options]
        text, _ = self.run_it("--sim", "--sim-dry", "--ranks", 2, "--workers", model["cores"],
                      "--sim-memory", path, *options, "--tasks", tasks, "--task-mb", TASK_MB,
                      "--messages", messages, "--message-mb", MESSAGE_MB)
        arrival_s, work_s = map(float, LINE.search(text).groups())
        return arrival_s, max(arrival_s, work_s)

    def settings(self, path, *options):
        """The limit and the node that `auto` stands for."""
        cores = json.loads(path.read_text())["cores"]
        text, _ = self.run_it("--sim", "--ranks", 2, "--workers", cores, "--sim-memory", path,
                              *options,
                      "--info")
        return (int(re.search(r"memory-bound tasks: (\d+) ", text)[1]),
                int(re.search(r"received data on NUMA node (\d+)", text)[1]))

    def row_of(self, machine):
        path = MACHINES / f"{machine}.json"
        results = [self.simulate(path, *options) for _, options in RUNS]
        row = [machine, *(f"{arrival_s:.3f} / {end_s:.3f}" for arrival_s, end_s in results)]
        row[3] += f" ({self.settings(path, *RUNS[2][1])[0]})"
        row[4] += " ({}, node {})".format(*self.settings(path, *RUNS[3][1]))
        gains = [100 * (results[1][i] - results[3][i]) / results[1][i] for i in (0, 1)]
        return row + [f"{gains[0]:.0f} % / {gains[1]:.0f} %"]

    def test_table_and_picture_are_what_the_simulator_says(self):
        rows = [self.row_of(name) for name in names()]
        table = "".join("| " + " | ".join(row) + " |\n" for row in rows)
        if self.update:
            PAGE.write_text(TABLE.sub(lambda match: match[1] + table, PAGE.read_text()))
            PICTURE.write_text(bars(rows))
        self.assertEqual(TABLE.search(PAGE.read_text())[2], table)
        self.assertTrue(PICTURE.read_text() == bars(rows), "draw the picture again: --update")


class Overlap(Base):

    def test_runs_here_with_and_without_a_limit(self):
        small = ("--ranks", 2, "--workers", 1, "--tasks", 4, "--messages", 4, "--message-mb", 1)
        for limit in ((), ("--memory-bound-max", 1)):
            self.assertIn("; verified", self.run_it(*small, *limit)[0])

    def test_simulated_twice_the_same(self):
        self.run_it("--sim-check", "--ranks", 2, "--workers", 6, "--sim-memory",
            MACHINES / "henrisubnuma.json", "--memory-bound-max", 3, "--sim-order", "uniform",
            "--tasks", 60, "--messages", 3, "--message-mb", 4)

    def test_info_says_what_auto_is(self):
        henri = MACHINES / "henri.json"
        text, _ = self.run_it("--info", "--memory-bound-max", "auto", "--memory-model", henri)
        self.assertRegex(text, r"memory-bound tasks: \d+ of a process run beside large transfers, "
                               r"at most \(auto: model of henri\)")
        text, _ = self.run_it("--info", "--buffer-node", 0)
        self.assertRegex(text, r"receive buffers.*(this machine has one NUMA node|bound to)")

    def test_wrong_settings_are_refused(self):
        _, text = self.run_it("--memory-bound-max", "auto", code=1)
        self.assertIn("--memory-model FILE", text)
        _, text = self.run_it("--memory-bound-max", "auto", "--memory-model", "/nowhere.json",
                              code=1)
        self.assertIn("cannot read '/nowhere.json': No such file or directory", text)
        _, text = self.run_it("--memory-bound-max", "auto", "--memory-model", __file__, code=1)
        self.assertIn("--memory-model: ", text)

    def test_over_mpi(self):
        for mpi in suite.build().mpis:
            result = self.launched("overlap", mpi, 2, "--tasks 40 --task-mb 5 --messages 20 "
                                   "--message-mb 2 --workers 2 --memory-bound-max 1 "
                                   "--buffer-node 0")
            self.prints(result, "; verified")


if __name__ == "__main__":
    if "--update" in sys.argv:
        sys.argv.remove("--update")
        Docs.update = True
    suite.main()
