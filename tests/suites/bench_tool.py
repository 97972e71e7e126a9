"""Answers of shoal-bench to programs that are scripts."""

import json
import os
import shutil
import stat
import subprocess
import sys

import suite

BENCH = suite.SOURCE / "tools/shoal-bench"


class WithFolder(suite.Suite):
    """A folder with programs, cases and tools of each test's own."""

    def setUp(self):
        self.folder = super().folder()
        (self.folder / "build" / "bench").mkdir(parents=True)
        (self.folder / "cases").mkdir()
        self.tools = self.folder / "tools"
        self.tools.mkdir()

    def script(self, name, body):
        path = self.folder / "build" / "bench" / name
        path.write_text("#!/bin/sh\n" + body)
        path.chmod(stat.S_IRWXU)


class Cases(WithFolder):
    def setUp(self):
        super().setUp()
        self.distances("near")

    def numbered(self, name, lines):
        """A script that prints one of the lines in turn, and the last one from then on."""
        words = self.folder / (name + ".lines")
        words.write_text("".join(line + "\n" for line in lines))
        count = self.folder / (name + ".count")
        self.script(name, f'n=$(cat "{count}" 2>/dev/null || echo 0); n=$((n + 1)); '
                          f'[ $n -gt {len(lines)} ] && n={len(lines)}\n'
                          f'echo $n > "{count}"; sed -n "${{n}}p" "{words}"')

    def distances(self, *classes):
        times = {"hyper-threads": 47.5, "near": 60, "far": 280}
        self.numbered("core_distance",
                      [f'{{"half_round_trip_ns": {times[one]}, "class": "{one}"}}'
                       for one in classes])

    def side(self, name, *values, verified=True):
        """A program that measures these values, one in each run."""
        self.numbered(name, [json.dumps({"values": {"ns": value}, "config": {},
                                         "verified": verified}) for value in values])

    def cases(self, sides=("shoal", "peer"), **fields):
        case = {"name": "one", "title": "One", "value": "ns", "unit": "ns", "cpus": 0,
                "sides": {side: {"command": "bench/" + side} for side in sides}, **fields}
        document = {"group": "fake", "title": "Fake", "cases": [case]}
        (self.folder / "cases" / "fake.json").write_text(json.dumps(document))

    def bench(self, *words):
        """(exit code, standard output and error, the only case of the results)"""
        path = self.folder / "result.json"
        done = subprocess.run([BENCH, "--build", self.folder / "build", "--cases",
                               self.folder / "cases", "--json", path, *words],
                              capture_output=True, text=True, check=False)
        result = json.loads(path.read_text())["cases"][0] if path.exists() else None
        return done.returncode, done.stdout + done.stderr, result

    def two_cores(self):
        if len(os.sched_getaffinity(0)) < 2:
            self.skipTest("nothing to probe on one core")

    def test_verdicts(self):
        self.side("shoal", 10, 20, 12)
        self.side("peer", 20, 20, 20)
        self.cases(must={"against": "peer", "ratio": 0.6}, aim={"against": "peer", "ratio": 0.5})
        code, text, result = self.bench("--rounds", "3")
        self.assertEqual(code, 0, text)
        self.assertEqual(result["sides"]["shoal"]["quartiles"], [11, 12, 16])
        self.assertEqual(result["must"]["verdict"], "holds")
        self.assertEqual(result["aim"]["verdict"], "missed")
        self.assertAlmostEqual(result["aim"]["measured"], 0.6)
        self.assertIn("<= 0.6 x peer: holds", text)
        self.assertIn("<= 0.5 x peer: missed", text)

    def test_more_may_be_better(self):
        self.side("shoal", 30)
        self.side("peer", 20)
        self.cases(better="higher", must={"against": "peer", "ratio": 1.5},
                   aim={"against": "peer", "ratio": 1.6})
        _, _, result = self.bench("--rounds", "1")
        self.assertEqual(result["must"]["verdict"], "holds")
        self.assertEqual(result["aim"]["verdict"], "missed")

    def test_a_value_may_have_a_limit_of_its_own(self):
        self.side("shoal", 10, 20, 12)
        self.cases(sides=("shoal",), must={"at_most": 12}, aim={"at_most": 11.5})
        _, text, result = self.bench("--rounds", "3")
        self.assertEqual((result["must"]["verdict"], result["must"]["measured"]), ("holds", 12))
        self.assertEqual(result["aim"]["verdict"], "missed")
        self.assertRegex(text, r"<= 12 \w+: holds")

    def test_several_targets(self):
        self.side("shoal", 12)
        self.side("peer", 20)
        self.cases(must=[{"against": "peer", "ratio": 0.5}, {"at_most": 12}])
        _, text, result = self.bench("--rounds", "1")
        self.assertEqual([one["verdict"] for one in result["must"]], ["missed", "holds"])
        self.assertRegex(text, r"<= 0.5 x peer: missed, <= 12 \w+: holds")

    def test_no_ratio_to_nothing(self):
        self.side("shoal", 1)
        self.side("peer", 0)
        self.cases(must={"at_most": 1})
        code, text, result = self.bench("--rounds", "1")
        self.assertEqual(code, 0, text)
        self.assertIsNone(result["sides"]["peer"]["shoal_ratio"])

    def test_ratio_is_the_median_of_those_of_the_rounds(self):
        self.side("shoal", 1, 10, 100)
        self.side("peer", 2, 20, 50)
        self.cases()
        _, _, result = self.bench("--rounds", "3")
        self.assertEqual(result["sides"]["peer"]["shoal_ratio"], 0.5)

    def test_every_second_round_goes_backwards(self):
        order = self.folder / "order"
        line = json.dumps({"values": {"ns": 1}, "config": {}, "verified": True})
        for name in ("shoal", "peer"):
            self.script(name, f"echo {name} >> '{order}'; echo '{line}'")
        self.cases()
        code, text, _ = self.bench("--rounds", "3")
        self.assertEqual(code, 0, text)
        self.assertEqual(order.read_text().split(),
                         ["shoal", "peer", "peer", "shoal", "shoal", "peer"])

    def test_target_of_another_form_of_shoal(self):
        self.side("dense", 5)
        self.side("peer", 20)
        self.cases(sides=("dense", "peer"),
                   aim={"side": "dense", "against": "peer", "ratio": 0.25})
        _, _, result = self.bench("--rounds", "1")
        self.assertEqual(result["aim"]["verdict"], "holds")

    def test_value_from_the_file_of_an_application(self):
        self.script("app", 'while [ "$1" != --json ]; do shift; done\n'
                           """echo '{"teps": {"mean": 30}}' > "$2"\n""")
        self.side("peer", 20)
        self.cases(sides=("app", "peer"), better="higher")
        path = self.folder / "cases" / "fake.json"
        document = json.loads(path.read_text())
        document["cases"][0]["sides"]["app"]["json_value"] = "teps.mean"
        path.write_text(json.dumps(document))
        code, text, result = self.bench("--rounds", "1")
        self.assertEqual(code, 0, text)
        self.assertEqual(result["sides"]["app"]["values"], [30])
        document["cases"][0]["sides"]["app"]["json_value"] = "teps.median"
        path.write_text(json.dumps(document))
        code, text, _ = self.bench("--rounds", "1")
        self.assertEqual(code, 1)
        self.assertIn("wrote no teps.median", text)

    def test_short_form_gives_options_another_value(self):
        self.script("shoal", '[ "$*" = "--other 1 --count 2" ] || exit 1\n'
                             """echo '{"values": {"ns": 1}, "config": {}, "verified": true}'\n""")
        self.cases(sides=("shoal",), short="--count 2")
        path = self.folder / "cases" / "fake.json"
        document = json.loads(path.read_text())
        document["cases"][0]["sides"]["shoal"]["command"] += " --count 9 --other 1"
        path.write_text(json.dumps(document))
        code, text, _ = self.bench("--short")
        self.assertEqual(code, 0, text)

    def test_case_without_short_form(self):
        self.side("shoal", 1)
        self.cases(sides=("shoal",), short=False)
        code, text, _ = self.bench("--short")
        self.assertEqual(code, 2, text)

    def test_run_during_which_the_distance_changes_is_repeated(self):
        self.two_cores()
        self.side("shoal", 1, 2, 2)
        self.side("peer", 10, 20)
        self.distances("near", "far", "near")  # before and after the first run; from then on
        self.cases()
        code, text, result = self.bench("--rounds", "2")
        self.assertEqual(code, 0, text)
        self.assertEqual(result["sides"]["shoal"]["values"], [2, 2])
        self.assertEqual(result["sides"]["peer"]["values"], [10, 20])
        self.assertAlmostEqual(result["sides"]["peer"]["shoal_ratio"], 0.15)
        self.assertEqual(result["dropped"], 1)
        self.assertIn("runs dropped, the distance of the cores had changed: one (1)", text)

    def test_case_whose_distance_never_keeps_ends_without_values(self):
        self.two_cores()
        self.side("shoal", 1)
        self.distances(*["near", "far"] * 100)
        self.cases(sides=("shoal",), must={"against": "peer", "ratio": 1})
        code, text, _ = self.bench("--rounds", "2")
        self.assertEqual(code, 2)
        self.assertIn("nothing could be run", text)

    def test_probes_that_differ_a_little_are_the_same_distance(self):
        self.two_cores()
        self.side("shoal", 1)
        self.distances(*["near", "hyper-threads"] * 10)
        self.cases(sides=("shoal",))
        _, _, result = self.bench("--rounds", "2")
        self.assertEqual(result["sides"]["shoal"]["values"], [1, 1])
        self.assertEqual(result["dropped"], 0)

    def test_runs_at_different_distances_are_not_compared(self):
        self.two_cores()
        self.side("shoal", 1, 2, 3)
        self.side("peer", 10, 20, 30)
        self.distances(*["near"] * 4, *["far"] * 8)
        self.cases()
        _, _, result = self.bench("--rounds", "2")  # and a third one, as the first does not count
        self.assertEqual(result["distance"], "far")
        self.assertEqual(result["sides"]["shoal"]["values"], [2, 3])
        self.assertEqual(result["dropped"], 2)

    def test_missing_peer_is_skipped(self):
        self.side("shoal", 1)
        self.cases(must={"against": "peer", "ratio": 1})
        code, text, result = self.bench("--rounds", "2")
        self.assertEqual(code, 0, text)
        self.assertEqual(result["must"]["verdict"], "peer missing")
        self.assertRegex(text, r"peer skipped: bench/peer was not built: "
                               r"\S+/build/bench/peer is not there: one")

    def test_peer_that_lacks_a_package_is_skipped(self):
        self.side("shoal", 1)
        self.script("peer", "echo 'skipped: there is no dask' >&2; exit 77")
        self.cases()
        code, text, _ = self.bench("--rounds", "2")
        self.assertEqual(code, 0, text)
        self.assertIn("peer skipped: there is no dask", text)

    def test_missing_launcher_is_skipped(self):
        self.side("shoal", 1)
        self.side("peer", 1)
        self.cases()
        path = self.folder / "cases" / "fake.json"
        document = json.loads(path.read_text())
        document["cases"][0]["sides"]["peer"]["launcher"] = {"mpi": "mpich", "ranks": 2}
        path.write_text(json.dumps(document))
        for tool in ("env", "sh", "cat", "sed"):
            (self.tools / tool).symlink_to(shutil.which(tool))
        (self.tools / "python3").symlink_to(sys.executable)  # one on the path may be a script
        environment = {**os.environ, "PATH": str(self.tools)}
        done = subprocess.run([BENCH, "--build", self.folder / "build", "--cases",
                               self.folder / "cases", "--rounds", "1"], env=environment,
                              capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("peer skipped: mpirun.mpich is not installed", done.stdout)

    def test_environment_of_a_case(self):
        self.script("shoal", 'echo "{\\"values\\": {\\"ns\\": $KERNELS}, \\"config\\": {}, '
                             '\\"verified\\": true}"')
        self.cases(["shoal"], environment=[{"name": "KERNELS", "value": "512"}])
        code, text, result = self.bench("--rounds", "1")
        self.assertEqual(code, 0, text)
        self.assertEqual(result["sides"]["shoal"]["values"], [512])
        self.assertEqual(result["environment"], {"KERNELS": "512"})

    def test_processor_that_a_case_needs(self):
        self.side("shoal", 1)
        self.cases(["shoal"], environment=[{"name": "KERNELS", "value": "512",
                                            "needs": ["warp_drive"]}])
        code, text, _ = self.bench("--rounds", "1")
        self.assertEqual(code, 2, text)
        self.assertIn("one skipped: needs a processor with warp_drive", text)

    def test_failing_peer_fails(self):
        self.side("shoal", 1)
        self.script("peer", "echo out of luck >&2; exit 3")
        self.cases()
        code, text, result = self.bench("--rounds", "2")
        self.assertEqual(code, 1)
        self.assertEqual(result["sides"]["shoal"]["values"], [1, 1])
        self.assertIn("exit code 3: out of luck", text)

    def test_wrong_answer_fails(self):
        self.side("shoal", 1, verified=False)
        self.side("peer", 1)
        self.cases()
        code, text, _ = self.bench("--rounds", "1")
        self.assertEqual(code, 1)
        self.assertIn("one, shoal: bench/shoal did not verify its answer", text)

    def test_result_without_the_value_fails(self):
        self.script("shoal", 'echo "{\\"values\\": {}}"')
        self.cases(sides=("shoal",))
        code, text, _ = self.bench("--rounds", "1")
        self.assertEqual(code, 1)
        self.assertIn("bench/shoal printed no result with ns", text)

    def test_program_that_does_not_end_fails(self):
        self.script("shoal", "exec sleep 60")
        self.cases(sides=("shoal",))
        code, text, _ = self.bench("--rounds", "1", "--timeout", "0.2")
        self.assertEqual(code, 1)
        self.assertIn("did not end within 0.2 s", text)

    def test_nothing_to_run(self):
        self.cases(sides=("shoal",))
        code, text, _ = self.bench()
        self.assertEqual(code, 2)
        self.assertRegex(text, r"bench/shoal was not built: \S+/build/bench/shoal is not there")
        self.assertRegex(text, r"missing in \S+/build. Build shoal with -DSHOAL_BUILD_BENCH")
        code, text, _ = self.bench("--build", "/nonexistent")
        self.assertEqual(code, 2)
        self.assertIn("the build folder /nonexistent is not there", text)

    def test_missing_helper_is_named(self):
        self.two_cores()
        self.side("shoal", 1)
        self.cases(sides=("shoal",))
        (self.folder / "build" / "bench" / "core_distance").unlink()
        code, text, _ = self.bench("--rounds", "1")
        self.assertEqual(code, 2)
        self.assertRegex(text, r"bench/core_distance was not built: \S+/bench/core_distance is not")

    def test_unknown_case_or_group(self):
        self.side("shoal", 1)
        self.cases(sides=("shoal",))
        for words, expected in ((("--case", "onne"), "--case onne: there is no such case; did you "
                                                     "mean one?"),
                                (("--case", "one", "--case", "x*"), "--case x*: there is no such "
                                                                    "case; --list prints all"),
                                (("--group", "other"), "no such group; known: fake"),
                                (("--list", "--case", "twenty"), "--case twenty: there is no")):
            code, text, _ = self.bench("--rounds", "1", *words)
            self.assertEqual(code, 2, text)
            self.assertIn(expected, text)

    def test_no_case_files(self):
        code, text, _ = self.bench("--list")
        self.assertEqual(code, 2)
        self.assertRegex(text, r"no case files in \S+/cases\. Benchmarks are run from a checkout")

    def test_list(self):
        self.cases(sides=("shoal",))
        code, text, _ = self.bench("--list")
        self.assertEqual((code, text.split()), (0, ["fake", "one", "One"]))

    def test_standard_output_has_what_was_asked_for_and_nothing_else(self):
        self.side("shoal", 7)
        self.cases(sides=("shoal",))
        command = [BENCH, "--build", "build", "--cases", "cases", "--rounds", "1"]
        run = {"capture_output": True, "text": True, "cwd": self.folder, "check": True}
        done = subprocess.run([*command, "--json", "-"], **run)
        self.assertEqual(json.loads(done.stdout)["cases"][0]["sides"]["shoal"]["values"], [7])
        self.assertIn("| one", done.stderr)
        done = subprocess.run([*command, "--table", "-"], **run)
        self.assertEqual([line[:2] for line in done.stdout.splitlines()], ["| "] * 3)
        self.assertFalse((self.folder / "-").exists())

    def test_short_form_runs_once_without_probing(self):
        self.script("core_distance", "exit 1")
        self.script("shoal", 'echo "{\\"values\\": {\\"ns\\": $2}, \\"config\\": {}, '
                             '\\"verified\\": true}"')
        self.cases(sides=("shoal",), short="--tasks 7")
        code, text, result = self.bench("--short")
        self.assertEqual(code, 0, text)
        self.assertEqual(result["sides"]["shoal"]["values"], [7])
        self.assertIn("1 cases, 1 programs gave right answers", text)

    def test_cases_can_be_chosen(self):
        self.side("shoal", 1)
        self.cases(sides=("shoal",))
        for words, code in ((("--case", "o*"), 0), (("--case", "x*"), 2), (("--group", "fake"), 0)):
            self.assertEqual(self.bench("--rounds", "1", *words)[0], code, words)

    def test_table_file(self):
        self.side("shoal", 1)
        self.cases(sides=("shoal",))
        path = self.folder / "table.md"
        self.bench("--rounds", "1", "--table", str(path))
        self.assertEqual(path.read_text().splitlines()[0].split()[:4], ["|", "case", "|", "side"])


class Budgets(WithFolder):
    """Runs under a script in place of valgrind that counts 1000 + 50 x tasks."""

    def setUp(self):
        super().setUp()
        self.script("kernel", "")
        valgrind = self.tools / "valgrind"
        valgrind.write_text('#!/bin/sh\nfor last; do :; done\n'
                            'echo "==1== #   Total instructions: $((1000 + 50 * last))" >&2\n')
        valgrind.chmod(stat.S_IRWXU)
        self.strace("700", errors="60")
        self.environment = {**os.environ, "PATH": f"{self.tools}:{os.environ['PATH']}"}

    def strace(self, calls, errors=""):
        """One that tells of so many calls; `last` is the number of operations."""
        strace = self.tools / "strace"
        strace.write_text('#!/bin/sh\nfor last; do :; done\n'
                          'while [ "$1" != -o ]; do shift; done\n'
                          f'echo "100.00 0.1 5 $(({calls})) {errors} total" > "$2"\n')
        strace.chmod(stat.S_IRWXU)

    def budgets(self, instructions, *words, **fields):
        path = self.folder / "budgets.json"
        budget = {"name": "flood", "program": "bench/kernel", "arguments": [], "unit": "task",
                  "count": {"option": "--tasks", "few": 100, "many": 300},
                  "instructions": instructions, **fields}
        path.write_text(json.dumps({"margin": 0.05, "budgets": [budget]}))
        done = subprocess.run([BENCH, "--build", self.folder / "build", "--budgets", path, *words],
                              env=self.environment, capture_output=True, text=True, check=False)
        return done.returncode, done.stdout, json.loads(path.read_text())

    def test_kept(self):
        code, text, _ = self.budgets(48, must=330)
        self.assertEqual((code, text), (0, "flood: 50.0 instructions per task, budget 48 + 5%, "
                                           "must 330; 0.00 system calls: ok\n"))

    def test_exceeded(self):
        code, text, _ = self.budgets(47)
        self.assertEqual(code, 1)
        self.assertIn("EXCEEDED", text)

    def test_system_call_of_every_other_operation(self):
        self.strace("700 + last / 2")
        code, text, _ = self.budgets(48)
        self.assertEqual(code, 1)
        self.assertIn("; 0.50 system calls: EXCEEDED", text)

    def test_threads_that_had_to_wait_once(self):
        """They made calls that no operation makes."""
        log = self.folder / "runs"
        log.write_text("")
        self.strace(f"700 + ($(echo >> {log}; wc -l < {log}) == 2) * last")
        code, text, _ = self.budgets(48)
        self.assertIn("; 0.00 system calls: ok", text)
        self.assertEqual((code, len(log.read_text())), (0, 4))

    def test_strace_that_may_not_trace(self):
        (self.tools / "strace").write_text("#!/bin/sh\necho strace: attach: denied >&2; exit 1\n")
        code, text, _ = self.budgets(48)
        self.assertEqual(code, 1)
        self.assertIn("flood: strace may not trace here", text)

    def test_own_margin(self):
        self.assertEqual(self.budgets(40, margin=0.3)[0], 0)

    def test_several_operations_per_count(self):
        count = {"option": "--columns", "few": 100, "many": 300, "operations": 2000}
        self.assertIn("5.0 instructions per task", self.budgets(5, count=count)[1])

    def test_update(self):
        code, _, document = self.budgets(10, "--update-budgets")
        self.assertEqual((code, document["budgets"][0]["instructions"]), (0, 50))

    def test_missing_program_fails(self):
        code, text, _ = self.budgets(50, program="bench/other")
        self.assertEqual(code, 1)
        self.assertIn("bench/other was not built", text)


if __name__ == "__main__":
    suite.main()
