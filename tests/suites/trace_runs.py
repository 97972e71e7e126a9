"""Records runs of real programs and checks what shoal-trace says of them."""

import array
import base64
import collections
import html
import json
import pathlib
import re
import shutil
import signal
import subprocess
import time

import suite

KILLED = 1  # exit code of `shoal-trace check` when something is missing
SKEWED_RUNS = 5


class Runs(suite.Suite):

    def setUp(self):
        self.scratch = self.folder()
        self.cholesky, self.bfs = self.program("cholesky"), self.program("bfs")

    def file(self, name):
        return str(self.scratch / name)

    def call(self, command, expected=0, **options):
        result = self.run_command(command, code=expected, **options)
        return result.output + result.errors

    def tool(self, *arguments, expected=0):
        return self.call([self.program("shoal-trace"), *arguments], expected)

    def simulate(self, name, *arguments):
        path = self.file(name)
        self.call([self.cholesky, "--sim", "--ranks", 4, "--trace", path, *arguments])
        return path

    def page(self, path):
        """What the page of a report shows."""
        page = self.file("page.html")
        self.tool("report", path, "-o", page)
        text = pathlib.Path(page).read_text()
        data = re.search(r'<script [^>]*id="data">(.*?)</script>', text, re.DOTALL)
        return json.loads(data[1])

    def summary(self, path):
        return self.tool("summary", path)

    def events(self, path):
        """The table of events of a trace."""
        self.tool("convert", "--to", "csv", path, "-o", path + ".csv")
        return pathlib.Path(path + ".csv").read_text()


class Simulated(Runs):

    def test_planted_causes(self):
        """Simulated runs with a cause of slowness: the summary names it, and in the same run
        without it, it does not."""
        size = ["--n", "512", "--tile", "64"]
        healthy = self.simulate("healthy.trace", *size)
        self.assertNotRegex(self.summary(healthy), "hint: ")
        again = self.simulate("again.trace", *size)
        self.assertTrue(self.events(healthy) == self.events(again),
                        "two runs with the same seed differ")
        slow = self.simulate("slow.trace", *size, "--sim-faults", "pause:rank=2,at=300us,for=2ms")
        # One pause makes one task long, and no rank slow.
        self.assertRegex(self.summary(slow), "tasks '.*' take much longer than the others, .* on "
                                             "rank 2 takes")
        self.assertNotRegex(self.summary(slow), "rank 2 is slow")
        link = self.simulate("link.trace", *size, "--sim-faults", "delay:p=1,by=500us,from=0,to=1")
        self.assertRegex(self.summary(link), "messages from rank 0 to rank 1 take")
        # The panels, on which all else depends, wait behind updates.
        equal = self.simulate("equal.trace", "--n", "2048", "--tile", "64", "--no-priorities")
        self.assertRegex(self.summary(equal),
                         "tasks '(potrf|trsm)' are on the critical path, and waited")
        ordered = self.simulate("ordered.trace", "--n", "2048", "--tile", "64")
        self.assertNotRegex(self.summary(ordered), "are on the critical path, and waited")
        short = self.simulate("short.trace", "--n", "128", "--tile", "8")
        self.assertRegex(self.summary(short), r"tasks 'gemm' take .*let a task do more")
        self.assertRegex(self.tool("diff", healthy, slow), "(gemm|trsm|potrf)")


class Loops(Runs):

    def test_each_call_has_its_name(self):
        """Real and simulated runs of the tutorial: each call of a loop is one interval, also a sort
        that recurs, and whoever runs its iterations."""
        calls = {"parallel_for": 4, "parallel_reduce": 3, "parallel_scan": 1, "parallel_sort": 2,
                 "parallel_for_each": 1, "update": 10, "pipeline": 1, "solver": 1, "sweep": 10,
                 "converged?": 10, "report": 1}
        program = self.program("tutorial_loops")
        for options in (["--workers", 1], ["--workers", 2], ["--sim", "--workers", 2]):
            path = self.file("loops.trace")
            self.call([program, *options, "--trace", path])
            lines = self.events(path).splitlines()
            begun = collections.Counter(line.split(",", 8)[8].rpartition(",")[0].strip('"')
                                        for line in lines if ",span begins," in line)
            self.assertEqual({name: begun[name] for name in calls}, calls, options)
            self.assertGreater(begun["parallel_invoke"], 1)
            self.assertEqual(sum(",span ends," in line for line in lines), begun.total())


class Paused(Runs):

    def test_failed_attempts(self):
        """Attempts of a task that fail are intervals of their own, and counted by its name."""
        path = self.file("retries.trace")
        self.call([self.program("tutorial_retries"), "--sim", "--ranks", 2, "--trace", path])
        self.assertIn("failed attempts: 2 of read\n", self.summary(path))
        self.assertEqual(self.events(path).count("a failed attempt"), 2)
        self.tool("check", path)

    def test_iterations(self):
        """The tutorial says to which of three iterations its tasks belong."""
        path = self.file("iterations.trace")
        self.call([self.program("tutorial_tracing"), "--workers", 1, "--trace", path])
        self.assertIn("iterations: 3; ", self.summary(path))
        facts = json.loads(self.tool("summary", "--json", path))
        self.assertEqual([[one["number"], one["tasks"]] for one in facts["iterations"]],
                         [[0, 4], [1, 4], [2, 4]])
        graph = self.file("iterations.dot")
        self.tool("convert", "--to", "dot", path, "-o", graph)
        self.assertEqual(len(re.findall("sweep[^\"]*iteration [012]\"",
                                        pathlib.Path(graph).read_text())), 12)

    def test_data_of_a_flow(self):
        """Their sizes and owners, by the names that keys of tasks have."""
        path = self.file("flow.trace")
        self.call([self.program("tutorial_flow"), "--sim", "--ranks", 2, "--trace", path])
        page = self.page(path)
        self.assertEqual(page["data"]["sum"], [8, 0])
        self.assertEqual([page["data"][f"data {i}"][1] for i in range(4)], [0, 1, 0, 1])
        self.assertIn("(data 1, sum)", page["keys"])
        self.assertEqual({track["node"] for track in page["tracks"]}, {-1})

    def test_insertions_of_a_flow(self):
        """Each task leads to where it was inserted, also those of one name."""
        path = self.file("flow.trace")
        self.call([self.program("tutorial_flow"), "--sim", "--ranks", 2, "--trace", path])
        page = self.page(path)
        texts, inserted = page["insertions"]["places"], collections.defaultdict(set)
        for name, place in zip(column(page["segments"]["name"]),
                               column(page["insertions"]["place"])):
            if place < len(texts):
                inserted[page["names"][name]].add(texts[place])
        file = "apps/tutorial/flow.cpp"
        source = (suite.SOURCE / file).read_text().splitlines()
        fill, scan, *functions = [i for i, line in enumerate(source, 1) if "flow.insert(" in line]
        self.assertEqual(inserted["fill"], {f"{file}:{fill}"})
        self.assertEqual(inserted["scan"], {f"{file}:{scan}"})
        # A call of several lines is at one of them.
        lines = sorted(int(place.removeprefix(f"{file}:")) for place in inserted["task"])
        self.assertEqual(len(lines), len(functions), lines)
        for line, begin in zip(lines, functions):
            self.assertIn(line, range(begin, begin + 8))
        self.assertEqual(set(inserted), {"fill", "scan", "task"})
        for form in ("dot", "perfetto"):
            self.tool("convert", "--to", form, path, "-o", self.file(form))
            for place in (f"{file}:{fill}", *inserted["task"]):
                self.assertIn(f'"{place}"', pathlib.Path(self.file(form)).read_text())

    def test_memory_nodes(self):
        """Bound workers are on one; of those that may run anywhere it is not known."""
        for pin, nodes in (("core", {0, 1}), ("none", {-1})):
            path = self.file(f"{pin}.trace")
            options = ["--workers", 2, "--pin", pin, "--trace", path]
            self.call([self.program("tutorial_flow"), *options],
                      environment={"HWLOC_SYNTHETIC": "numa:2 core:1 pu:1",
                                   "HWLOC_COMPONENTS": "synthetic,stop"})
            page = self.page(path)
            self.assertEqual({track["node"] for track in page["tracks"]
                              if track["name"].startswith("worker")}, nodes)

    def test_killed(self):
        """A process that is paused, resumed by SIGUSR2, and killed leaves a trace that can be
        read."""
        path = self.file("killed.trace")
        part = pathlib.Path(path + ".part0")
        # Tasks that are long enough for the recorder to keep up on a busy machine.
        command = [self.cholesky, "--n", "20000", "--tile", "100", "--workers", "1",
                   "--trace", path, "--trace-paused"]
        with subprocess.Popen(command, stdout=subprocess.DEVNULL) as run:
            try:
                self.until(run, lambda: part.exists() and catches(run, signal.SIGUSR2))
                size = part.stat().st_size
                run.send_signal(signal.SIGUSR2)
                self.until(run, lambda: is_larger(part, size + 100_000))
                self.until(run,
                           lambda: "\ngemm " in self.summary(path))  # the first tasks are others
            finally:
                run.kill()
        text = self.tool("check", path, expected=KILLED)
        self.assertRegex(text, "killed")
        first, _, rest = self.summary(path).partition("\n")
        self.assertRegex(first, "^this trace is partial: .*(the run was killed: its last events "
                                "are missing|the file is cut off); only some regions of the run "
                                "were recorded: .* in 1 region; all times are without "
                                "the pauses")
        self.assertRegex(rest, "\ngemm +[0-9]+ ")
        self.assertNotRegex(rest, "\nhint: ")
        self.assertRegex(self.tool("why", path), "^this trace is partial: .*\n.*nothing is known")
        self.assertRegex(self.events(path), "region")

    def until(self, run, holds):
        while not holds():
            if run.poll() is not None:
                self.fail(f"the program has ended with exit code {run.returncode}")
            time.sleep(0.01)

    def test_region(self):
        """A Fortran program that resumes and pauses the recording: only the region is in the
        trace."""
        path = self.file("region.trace")
        options = ["--workers", "1", "--trace", path]
        self.assertRegex(self.call([self.program("trace_region"), *options, "--trace-paused"]),
                         "recorded: F T F")
        self.tool("check", path)
        events = self.events(path)
        for inside in (",user,span begins,", '"panel"', ",user,span ends,", '"residual"',
                       ',42,"in the region"'):
            self.assertIn(inside, events)
        self.assertNotRegex(events, "(before|after) the region")
        # Without --trace-paused the recording goes on from the start to the first pause.
        self.assertRegex(self.call([self.program("trace_region"), *options]), "recorded: T T F")
        events = self.events(path)
        self.assertRegex(events, "before the region")
        self.assertNotRegex(events, "after the region")


WAYS = {"simulated": ("--sim-dry", "--sim-net", "fixed:1ms,1G"), "real": ()}


class Known(Runs):
    """Programs whose path, bytes, names and dependencies are known, simulated and on threads."""

    def record(self, name, *arguments):
        path = self.file(f"{name}.trace")
        self.call([self.program("trace_planted"), *arguments, "--trace", path])
        return path

    @suite.cases(WAYS)
    def test_bytes(self, options):
        """Every output has all bytes of a payload, also beyond those that its window counts."""
        sizes = {"small": 8_000_000, "large": 24_000_000}
        paths = {size: self.record(size, "payload", size, "--ranks", 2, "--workers", 1, *options)
                 for size in sizes}
        for size, least in sizes.items():
            path, wanted = paths[size], range(least, least + 100_000)
            self.assertIn(json.loads(self.tool("summary", "--json", path))["bytes"], wanted)
            page = self.page(path)
            self.assertIn(page["matrix"]["bytes"][1], wanted)
            self.assertIn(max(column(page["messages"]["bytes"], "d")), wanted)
            self.tool("convert", "--to", "perfetto", path, "-o", self.file("perfetto"))
            events = json.loads(pathlib.Path(self.file("perfetto")).read_text())["traceEvents"]
            self.assertIn(max(event["args"].get("bytes", 0) for event in events
                              if "args" in event), wanted)
        difference = re.search(r"\nmessages: \d+ and \d+, ([0-9.]+) MiB and ([0-9.]+) MiB\n",
                               self.tool("diff", *paths.values()))
        for shown, least in zip(difference.groups(), sizes.values()):
            self.assertAlmostEqual(float(shown), least / 2**20, delta=0.15)

    @suite.cases(WAYS)
    def test_bytes_in_otf2(self, options):
        path = self.record("otf2", "payload", "small", "--ranks", 2, "--workers", 1, *options)
        made = self.run_command([self.program("shoal-trace"), "convert", "--to", "otf2", path,
                                 "-o", self.file("archive")], code=(0, 2))
        if made.code != 0 or shutil.which("otf2-print") is None:
            self.skipTest(made.errors or "otf2-print is not installed")
        text = self.call(["otf2-print", self.file("archive/traces.otf2")])
        for event in ("MPI_SEND", "MPI_RECV"):
            lengths = re.findall(rf"^{event} .*Length: (\d+)", text, re.MULTILINE)
            self.assertIn(max(map(int, lengths)), range(8_000_000, 8_100_000))

    @suite.cases(WAYS)
    def test_path_behind_its_own_send(self, options):
        """A task that waits until its data has left has the tasks before it on its path."""
        path = self.record("path", "payload", "small", "--ranks", 2, "--workers", 1, *options)
        page = self.page(path)
        self.assertIn("(A[3], sum)", page["keys"])
        self.assertIn("sending A", page["names"])
        on_path = collections.Counter()
        for share in page["path_shares"]:
            on_path[share["what"], share["name"]] += share["ns"]
        hints = json.loads(self.tool("summary", "--json", path)).get("hints", [])
        if "disturbed" in {hint["kind"] for hint in hints}:
            return  # the path leads to whichever worker other programs kept from a processor
        self.assertGreaterEqual(on_path["task", "make"], 2_000_000, on_path)
        self.assertGreaterEqual(on_path["task", "again"], 3_000_000, on_path)
        sends = sum(ns for (what, _), ns in on_path.items() if what == "message")
        self.assertGreaterEqual(sends, 8_000_000 if options else 1, on_path)

    @suite.cases(WAYS)
    def test_diamond(self, options):
        """A task has all of its dependencies, wherever it was inserted, and all have names that
        the program knows."""
        for more in ((), ("opposite",)):
            path = self.record("diamond", "diamond", "small", *more, "--ranks", 1, "--workers", 2,
                               *options)
            graph, perfetto = self.file("run.dot"), self.file("perfetto")
            self.tool("convert", "--to", "dot", path, "-o", graph)
            text = pathlib.Path(graph).read_text()
            names = dict(re.findall(r'(t\d+) \[label="(\w+)', text))
            edges = sorted((names.get(one), names.get(other))
                           for one, other in re.findall(r"(t\d+) -> (t\d+);", text))
            of_flow = [edge for edge in edges if set(edge) <= set("abcd")]
            self.assertEqual(of_flow, [("a", "b"), ("a", "c"), ("b", "d"), ("c", "d")], text)
            coloured = re.findall(r'label="(\w+).* fillcolor="(#\w+)"', text)
            self.assertEqual(coloured, [("a", "#336699")], text)
            paje = self.file("run.paje")
            self.tool("convert", "--to", "paje", path, "-o", paje)
            self.assertIn('"a" State "a" "0.200000 0.400000 0.600000"',
                          pathlib.Path(paje).read_text())
            page = self.page(path)
            self.assertEqual(page["colours"], {"a": "336699"})
            self.assertEqual(any("Not modelled" in line for line in page["idle"]), bool(options))
            self.assertLessEqual({"(x[1,2])", "(x[1,2], y)", "(y, z)"}, set(page["keys"]))
            counts = {one["name"]: one["count"]
                      for one in json.loads(self.tool("summary", "--json", path))["names"]}
            self.assertEqual({name: counts.get(name) for name in ("first", "second", "third")},
                             {"first": 1, "second": 1, "third": 1}, counts)
            self.tool("convert", "--to", "perfetto", path, "-o", perfetto)
            for output in (text, self.events(path), pathlib.Path(perfetto).read_text()):
                self.assertNotRegex(output, "shoal::[a-z]")


class Stored(Runs):
    """Traces that the recorder of an earlier commit has written: tests/trace/stored."""

    def stored(self, name):
        return suite.SOURCE / "tests/trace/stored" / name

    def facts(self, command, path):
        return json.loads(self.run_command([self.program("shoal-trace"), command, "--json",
                                            path]).output)

    def test_merged(self):
        """Six rounds of two ranks, of which the second one takes twice as long."""
        path = self.stored("rounds.trace")
        self.assertRegex(self.tool("check", path), "10 messages with both ends; 0 arrive")
        facts = self.facts("summary", path)
        self.assertEqual([facts[name] for name in ("tasks", "messages", "bytes")], [12, 10, 1000])
        self.assertEqual(facts["names"], [{"name": "step", "count": 12, "total_ns": 1_800_000,
                                           "median_ns": 200_000}])
        self.assertEqual([hint["kind"] for hint in facts["hints"]], ["slow-rank"])
        self.assertEqual(self.facts("why", path)["cause"], "slow-rank")
        page = self.page(path)
        self.assertIn("rank 1 is slow", str(page["hints"]))
        self.assertEqual((page["data"], page["tracks"][0]["node"]), ({}, -1))
        graph = self.file("run.dot")
        self.tool("convert", "--to", "dot", path, "-o", graph)
        self.assertEqual(pathlib.Path(graph).read_text().count(" -> "), 20)

    def test_part(self):
        """A part that was not merged: a payload of 1 MB, of which the window counted 64 KiB; tasks
        that wait and are resumed; events of the program."""
        path = self.stored("payload.trace.part0")
        self.tool("check", path)
        facts = self.facts("summary", path)
        self.assertEqual([facts[name] for name in ("tasks", "messages", "bytes", "duration_ns")],
                         [2, 1, 1_000_100, 100_000])
        events = self.events_of(path)
        for line in (',7,"phase"', '0.25,"residual"', ',1,"sent"', ',"get() of a future"'):
            self.assertIn(line, events)
        self.assertRegex(events, r'(?m),message sent,[0-9]+,1000100,"[^"]+",1$')
        graph = self.file("part.dot")
        self.tool("convert", "--to", "dot", path, "-o", graph)
        text = pathlib.Path(graph).read_text()
        self.assertIn("a key that is longer than one record", text)
        self.assertIn(" -> ", text)

    def events_of(self, path):
        self.tool("convert", "--to", "csv", path, "-o", self.file("events.csv"))
        return pathlib.Path(self.file("events.csv")).read_text()


class Machine(Runs):

    def test_stolen_time(self):
        """A real run records what the host of a virtual machine took meanwhile; virtual time has no
        host."""
        for options in ((), ("--sim-dry",)):
            path, converted = self.file("run.trace"), self.file("run.json")
            self.call([self.cholesky, "--ranks", 2, "--n", 256, *options, "--trace", path])
            self.tool("convert", "--to", "perfetto", path, "-o", converted)
            facts = json.loads(pathlib.Path(converted).read_text())["otherData"]["processes"][0]
            if options:
                self.assertEqual(facts["virtual_machine"], "no")
                self.assertNotIn("stolen_ns", facts)
            else:
                self.assertRegex(facts["stolen_ns"], "^[0-9]+$")


class Processes(Runs):

    def setUp(self):
        super().setUp()
        self.launcher = [*suite.build().launchers[self.first_mpi()], 4]

    def test_ends_names_and_converters(self):
        """Runs of four processes: both ends of every message, the names of tasks, all
        converters."""
        programs = {
            "cholesky": ([self.cholesky, "--n", "512", "--tile", "64"], "potrf"),
            "bfs": ([self.bfs, "--scale", "8"], "tell neighbours"),
        }
        for name, (command, task) in programs.items():
            path = self.file(f"{name}.trace")
            self.call([*self.launcher, *command, "--workers", "1", "--trace", path])
            self.assertEqual(list(self.scratch.glob(f"{name}.trace.part*")), [])
            text = self.tool("check", path)
            self.assertRegex(text, r"[1-9][0-9]* messages with both ends; 0 arrive")
            # Deadlines by compared clocks, seen on the clock that processes of one host share.
            spread, explained = self.barriers_of(text)
            self.assertLessEqual(spread, 1000 + explained, text)
            text = self.summary(path)
            self.assertRegex(text, "on 4 ranks")
            self.assertRegex(text, "critical path: of [0-9.]+ m?s")
            self.assertRegex(text, r"rank [0-3] waited [0-9.]+ % of the run, most ")
            self.assertRegex(text, rf"\n{task} +[0-9]+ ")
            page = self.file("page.html")
            self.tool("report", path, "-o", page)
            self.assertRegex(pathlib.Path(page).read_text(), task)
            for form in ("perfetto", "paje", "csv", "dot"):
                self.tool("convert", "--to", form, path, "-o", self.file(f"{name}.{form}"))
            self.check_trace_events(self.file(f"{name}.perfetto"), 4)
        # Keys, and which task made which one ready.
        self.assertRegex(pathlib.Path(self.file("cholesky.dot")).read_text(), r"potrf\(1\)")
        # A measured run beside its simulation, in which work takes no time.
        simulated = self.simulate("simulated.trace", "--n", "512", "--tile", "64", "--sim-dry")
        text = self.tool("diff", simulated, self.file("cholesky.trace"))
        self.assertRegex(text, "(potrf|trsm|gemm|syrk)")
        # Only what was asked for.
        path = self.file("sent.trace")
        self.call([*self.launcher, self.bfs, "--scale", "8", "--trace", path,
                   "--trace-categories", "message"])
        events = self.events(path)
        self.assertRegex(events, "message sent")
        self.assertNotRegex(events, "task started")

    def check_trace_events(self, path, ranks):
        """Reads a file as strictly as the Trace Event Format says: keys and types of each phase,
        slices that nest, arrows that begin before they end, spans that end as they began."""
        def demand(holds, event):
            if not holds:
                self.fail(f"{path}: not an event of the format: {event}")

        names, open_slices, arrows, spans = {}, collections.Counter(), {}, {}
        last = collections.defaultdict(float)
        document = json.loads(pathlib.Path(path).read_text(),
                              parse_constant=lambda word: self.fail(word))
        if set(document) != {"displayTimeUnit", "traceEvents", "otherData"}:
            self.fail(f"{path}: {sorted(document)}")
        for event in document["traceEvents"]:
            phase, track = event["ph"], (event["pid"], event["tid"])
            demand(type(event["ts"]) in (int, float) and event["ts"] >= 0, event)
            demand(all(type(number) is int and number >= 0 for number in track), event)
            if phase != "M":
                demand(event["ts"] >= last[track] and track in names, event)
                last[track] = event["ts"]
            if phase in "MBXCistfbe":
                demand(type(event["name"]) is str, event)
            if phase == "M":
                demand(event["name"] in ("process_name", "thread_name"), event)
                demand(type(event["args"]["name"]) is str, event)
                names[track] = event["args"]["name"]
            elif phase in "BE":
                open_slices[track] += 1 if phase == "B" else -1
                demand(open_slices[track] >= 0, event)
            elif phase == "X":
                demand(event["dur"] > 0, event)
            elif phase in "stf":
                arrow = arrows.setdefault(event["id"], [])
                arrow.append((event["ts"], phase))
                demand(event["cat"] == "message", event)
            elif phase in "be":
                key = (event["cat"], event["id"])
                demand((key in spans) == (phase == "e"), event)
                spans.pop(key) if phase == "e" else spans.setdefault(key, event)
            elif phase == "C":
                demand(type(event["args"]["value"]) in (int, float), event)
            else:
                demand(phase == "i" and event["s"] == "t", event)
        if any(open_slices.values()) or spans or len({pid for pid, _ in names}) != ranks:
            self.fail(f"{path}: open at the end, or not {ranks} ranks: {open_slices} {spans}")
        whole = sum({phase for _, phase in arrow} >= {"s", "f"} for arrow in arrows.values())
        if not arrows or whole < len(arrows):
            self.fail(f"{path}: {whole} of {len(arrows)} arrows have both ends")

    def barriers_of(self, text):
        """Time within which the processes left two barriers, and what drift explains of it, in
        ns."""
        found = re.search(r"2 barriers, which the processes left within ([0-9]+) ns; clocks that "
                          r"drift explain ([0-9]+) ns", text)
        self.assertTrue(found, f"no two barriers: {text}")
        return int(found[1]), int(found[2])

    def test_skewed_clocks(self):
        """Processes whose clocks are seconds apart and drift by up to 50 ppm: no message arrives
        before it was sent, by more than a microsecond and the jitter of the comparisons."""
        for _ in range(SKEWED_RUNS):
            path = self.file("skewed.trace")
            self.call([*self.launcher, self.bfs, "--scale", 8, "--workers", 1, "--trace", path],
                      environment={"TEST_CLOCK_SKEW": "1"})
            text = self.tool("check", path, "--tolerance", 1000000000)
            found = re.search("[1-9][0-9]* messages with both ends; [0-9]+ arrive before they "
                              "were sent, by ([0-9]+) ns at most; the clocks are uncertain by "
                              "([0-9]+) ns", text)
            self.assertTrue(found, text)
            early, jitter = int(found[1]), int(found[2])
            self.assertLessEqual(early, 1000 + jitter, text)
            self.assertLessEqual(jitter, 200_000_000, text)
            spread, explained = self.barriers_of(text)
            self.assertLessEqual(spread, 1000 + jitter + explained, text)

    def test_causes_asleep(self):
        """Programs with one cause of slowness, in which work is time asleep: the cause is named by
        the summary and by the page, and in the runs without it, it is not."""
        def record(cause):
            path = self.file(f"{cause}.trace")
            self.call([*self.launcher, self.program("trace_causes"), cause, "--workers", "1",
                       "--trace", path])
            return path

        slow = "rank 2 is slow: 'step' takes "
        priority = "tasks 'panel' are on the critical path, and waited"
        hot, short = "rank [12] sends .* to rank [12] and back, .* times as much as other pairs", \
            "tasks 'tiny' take .*let a task do more"
        causes_of = {"healthy": [], "slow": [slow], "queued": [priority], "urgent": [],
                     "hot": [hot], "short": [short]}
        for run, wanted in causes_of.items():
            path = record(run)
            text = self.summary(path)
            for cause in (slow, priority, hot, short):
                if cause in wanted:
                    self.named(path, cause)
                else:
                    self.assertNotRegex(text, cause)
            if run == "slow":  # the critical path and the causes of idleness name it, too
                # On a busy machine processes start late, which may outweigh any cause.
                self.assertRegex(text, "critical path: of [0-9.]+ m?s,( [0-9.]+ m?s are before the "
                                       "first task,)? [0-9.]+ m?s are step on rank 2")
                self.assertRegex(text, "rank 0 waited [0-9.]+ % of the run, most (while the "
                                       r"program started \([0-9]+ %\), then )?for step from rank 2")

    def named(self, path, cause):
        """Both the summary and the page of the report name it, or say that other programs had the
        processors."""
        cause = f"{cause}|disturbed by other programs"
        self.assertRegex(self.summary(path), cause)
        page = path + ".html"
        self.tool("report", path, "-o", page)
        self.assertRegex(html.unescape(pathlib.Path(page).read_text()), cause)


def column(text, kind="I"):
    """Numbers of a column of the page's data, of a kind of the module array."""
    return array.array(kind, base64.b64decode(text))


def catches(run, number):
    """Whether the process has a handler for a signal."""
    status = pathlib.Path(f"/proc/{run.pid}/status").read_text()
    return int(re.search(r"SigCgt:\s*([0-9a-f]+)", status)[1], 16) >> (number - 1) & 1 == 1


def is_larger(part, size):
    return part.stat().st_size > size


if __name__ == "__main__":
    suite.main()
