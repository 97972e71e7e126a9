"""Programs with a planted cause of slowness, their opposites, and healthy programs: shoal-trace
names the cause, and nothing else. Simulated over seeds, where virtual time contains the cause, and
on real threads: the verdict on a simulated run is that on the real one. Where virtual time does not
contain it, the simulated run has no verdict and says so.

tests/trace/verdicts runs all of them many times, on a quiet machine and beside a busy loop, and
prints a table."""

import collections
import fnmatch
import json
import os
import pathlib
import re
import shlex
import shutil
from dataclasses import dataclass

import suite

SEEDS = int(os.environ.get("TRACE_CAUSES_SEEDS", "3"))  # of each simulated program
RUNS = int(os.environ.get("TRACE_CAUSES_RUNS", "1"))  # of each real one
HEALTHY = 11
RELAY, RELAYS = ("healthy", 10), 30  # waits in its tasks, and in its main function
# Other programs of the machine: says so in place of any verdict.
DISTURBED = "disturbed"

ONE_RANK = ("--ranks", 1, "--workers", 4)
TWO_RANKS = ("--ranks", 2, "--workers", 2)
SINGLE = ("--ranks", 2, "--workers", 1)
FOUR_RANKS = ("--ranks", 4, "--workers", 1)
# Linux may keep two workers on one processor for 10 ms, which is all that short runs take.
PINNED = ("--pin", "core")

# Each cause: its hint, and the ranks and workers. Virtual time contains all of these.
CAUSES = {
    "bound": ("bound-to-one-worker", ONE_RANK),
    "handlers": ("work-in-handlers", TWO_RANKS),
    "steps": ("wait-per-step", TWO_RANKS),
    "fences": ("wait-per-step", TWO_RANKS),
    "insertion": ("slow-insertion", ONE_RANK),
    "lock": ("contended-lock", ONE_RANK),
    "slow": ("slow-rank", FOUR_RANKS),
    "outlier": ("outlier", FOUR_RANKS),
    "overloaded": ("overloaded-rank", FOUR_RANKS),
    "priority": ("missing-priority", FOUR_RANKS),
    "flow_priority": ("missing-priority", ONE_RANK),
    "flow_by_priority": ("missing-priority", ONE_RANK),
    "flow_by_completion": ("missing-priority", ONE_RANK),
    "receiver": ("busy-receiver", SINGLE),
    "short": ("short-tasks", ("--ranks", 1, "--workers", 2, *PINNED)),
    "window": ("window-full", (*SINGLE, "--window-bytes", "16K", *PINNED)),
}
# The opposite of a cause may be one that has a name, too.
OPPOSITES = {"slow": "outlier"}
# Hints that rest on neither messages nor idle workers.
OF_TASKS = ("slow-rank", "outlier")


def may_be_held():
    """Whether the host of this machine may hold its processors: one that takes long is no proof
    then."""
    flags = re.search(r"^flags\s*:(.*)$", pathlib.Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    return flags is None or "hypervisor" in flags[1].split()


MAY_BE_HELD = may_be_held()
# The opposite does less, besides: the difference has other causes.
OTHER_WORK = ("memory",)
# The opposite takes as long, or longer: `diff` has no cause to find.
NOT_LONGER = ("flow_by_completion", "hot", "link", "outlier", "overloaded", "short", "window")
# Of memory and the network: simulated only, as the machine of the test decides.
MODEL = suite.SOURCE / "apps/contention/machines/henrisubnuma.json"
SIMULATED = {
    "memory": ("memory-bound", (*ONE_RANK[:3], 18, "--sim-memory", MODEL)),
    "hot": ("hot-link", (*FOUR_RANKS, "--sim-net", "fixed:50us,1G")),
}


# What the verdict on a run calls the cause.
BOUNDS = {
    "bound-to-one-worker": "imbalance",
    "work-in-handlers": "imbalance",
    "wait-per-step": "waiting",
    "slow-insertion": "insertion",
    "contended-lock": "waiting",
    "slow-rank": "imbalance",
    "outlier": "imbalance",
    "overloaded-rank": "imbalance",
    "missing-priority": "chain",
    "busy-receiver": "messages",
    "memory-bound": "work",
    "hot-link": "messages",
    "slow-link": "messages",
    "window-full": "messages",
    "short-tasks": "work",
    "narrow-mask": "processors",
    "more-workers-than-cores": "processors",
    "disturbed": "processors",
}
# Parts of a real run that virtual time does not contain, in the words of a simulated run's summary.
NOT_MODELLED = ("more workers than processors", "masks of processors", "other programs",
                "the cost of making tasks", "switches of the network", "memory traffic")
# Of these, the verdict cannot name the place in the source.
WITHOUT_PLACE = ("narrow-mask", "more-workers-than-cores", "disturbed")
HEALTHY_BOUNDS = ("work", "chain")
# Bounds of the programs without a cause: both, where each worker has one chain and nothing else.
UNCAUSED = {
    ("work",): ("bound opposite", "handlers opposite", "steps opposite", "fences opposite",
                "insertion opposite", "lock opposite", "flow_* opposite", "short opposite", "spins",
                "healthy 0*", "healthy 3*", "healthy 5*", "healthy 6*", "healthy 7, ranks 4",
                "healthy 8*", "healthy 9*"),
    ("chain",): ("slow opposite", "overloaded opposite", "priority opposite", "receiver opposite",
                 "window opposite", "memory opposite", "healthy 1, ranks 1", "healthy 2, ranks 1",
                 "healthy 4*", "healthy 7, ranks 1", "healthy 10, ranks 1"),
    HEALTHY_BOUNDS: ("outlier opposite", "healthy 1, ranks 4", "healthy 2, ranks 4",
                     "healthy 10, ranks 4"),
    ("messages",): ("hot opposite", "link"),  # all links are slow, or none
}
# Also true of a real run: the threads of one that takes a few milliseconds begin late, and the
# completion scheduler, which measures real times, leaves workers idle.
REAL_TOO = {
    "waiting": ("bound opposite small", "handlers opposite small", "insertion opposite small",
                "lock opposite small", "receiver opposite small", "flow_priority opposite small",
                "flow_by_priority opposite small", "flow_by_completion opposite*", "healthy 0*",
                "healthy 5, ranks 1*"),
    "messages": ("receiver opposite*",),
    "imbalance": ("receiver opposite*",),  # its chain is on one rank for the most part
}
SIZES = ("small", "large")


def is_among(name, patterns):
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)


def programs_at(place):
    """Patterns of the programs that are meant to have FILE:LINE as their place: above the call, of
    which the line is one."""
    lines_max = 8
    file, _, line = place.rpartition(":")
    above = (suite.SOURCE / file).read_text().splitlines()[:int(line) - 1][-lines_max:]
    markers = [marker[1] for marker in map(re.compile("// Place: (.*)").search, above) if marker]
    return markers[-1].split(", ") if markers else []


@dataclass(frozen=True)
class Planted:
    """A program with a cause, its opposite, or a healthy one."""

    words: tuple
    options: tuple
    wanted: str | None = None  # kind of its hint
    prefix: tuple = ()
    simulated: bool = True  # virtual time contains it
    real: bool = True

    def command(self, program, seed=None):
        """Of a simulated run with that seed, or of a real one."""
        dry = () if seed is None else ("--sim-dry", "--sim-seed", seed)
        return [str(word) for word in (*self.prefix, program, *self.words, *self.options, *dry)]

    @property
    def name(self):
        """Without its size: "lock", "lock opposite", "healthy 3"."""
        return " ".join(str(word) for word in self.words if word not in SIZES)

    def bounds(self, is_real):
        """Of a verdict without a hint."""
        ranks = self.options[1] if "--ranks" in self.options else 1
        name = f"{self.name}, ranks {ranks}" if self.words[0] == "healthy" else self.name
        size = f" {self.words[1]}"
        [bounds] = [bounds for bounds, names in UNCAUSED.items() if is_among(name, names)]
        more = [bound for bound, names in REAL_TOO.items() if is_among(name + size, names)]
        return (*bounds, *(more if is_real else ()))

    def has_place(self, place):
        return re.search(r"planted\.cpp:[0-9]+$", place) is not None and \
            is_among(self.name, programs_at(place))

    def problem(self, facts, verdict, is_real):
        """What is wrong with the summary and the verdict on a run; "" for nothing. Other programs
        of the machine may stand in place of the verdict on a real run."""
        allowed = {self.wanted} - {None} | ({DISTURBED} if is_real else set())
        hints = {hint["kind"] for hint in facts.get("hints", [])}
        not_modelled = facts.get("not_modelled", "").partition("Not modelled: ")[2]
        cause, place = verdict["cause"], verdict.get("place", "")
        said = tuple(what for what in NOT_MODELLED if what in not_modelled)
        if said != (() if is_real else NOT_MODELLED):
            return f"not modelled: {facts.get('not_modelled')}"
        if verdict.get("not_modelled") != facts.get("not_modelled"):
            return f"the verdict does not say what is not modelled: {verdict}"
        wanted = None if not hints and self.is_noted(is_real) else self.wanted
        if not hints <= allowed or (wanted is not None and not hints):
            return f"hints {sorted(hints)} in place of {wanted}"
        if wanted != self.wanted and "virtual machine" not in str(facts.get("notes")):
            return f"neither a hint nor a note of {self.wanted}: {facts.get('notes')}"
        if len(verdict["sentences"]) != 3 or verdict["without_ns"] > verdict["duration_ns"]:
            return "not three sentences, or the run would take longer without the cause"
        if len(re.findall("[0-9](?: %| [num]?s\\b)", " ".join(verdict["sentences"]))) < 3:
            return f"fewer than three numbers: {verdict['sentences']}"
        if cause == "":
            bounds = () if wanted is not None else self.bounds(is_real)
            if verdict["bound"] not in bounds:
                return f"the verdict '{verdict['bound']}' in place of {wanted or bounds}"
        elif cause not in allowed or verdict["bound"] != BOUNDS[cause]:
            return f"the verdict '{verdict['bound']}' by {cause}"
        # Threads that begin late have no place.
        is_late = (cause, verdict["bound"], place) == ("", "waiting", "")
        is_named = self.has_place(place) and place in verdict["sentences"][2]
        if cause not in WITHOUT_PLACE and not is_late and not is_named:
            return f"the place '{place}'"
        return ""

    def is_noted(self, is_real):
        """Whether a note may stand in place of its hint: one task takes long, once."""
        return is_real and MAY_BE_HELD and (self.words[0], self.wanted) == ("slow", "outlier")

    def is_disturbed(self, facts):
        return DISTURBED in {hint["kind"] for hint in facts.get("hints", [])}


def planted_programs():
    """All programs of this suite, by their names."""
    processors = sorted(os.sched_getaffinity(0))
    mask = ("taskset", "-c", processors[0])
    many = ("--workers", 4 * len(processors))
    programs = {}
    for name, (hint, options) in {**CAUSES, **SIMULATED}.items():
        real = name in CAUSES
        for size in SIZES:
            programs[f"{name} {size}"] = Planted((name, size), options, hint, real=real)
            programs[f"{name} {size} opposite"] = Planted((name, size, "opposite"), options,
                                                          OPPOSITES.get(name), real=real)
    for size in SIZES:
        for which, ranks, hint in (("", ",from=0,to=1", "slow-link"), (" opposite", "", None)):
            faults = ("--sim-faults", f"delay:p=1,by=500us{ranks}")
            programs[f"link {size}{which}"] = Planted(("link", size), (*FOUR_RANKS, *faults), hint,
                                                      real=False)
    for size in SIZES:
        programs[f"spins {size}"] = Planted(("spins", size), many, real=False)
        times = len(processors) * (2 if size == "small" else 4)
        programs[f"workers {size}"] = Planted(("spins", size), ("--workers", times),
                                              "more-workers-than-cores", simulated=False)
    programs["workers opposite"] = Planted(("spins", "small"), ("--workers", len(processors)),
                                           simulated=False)
    programs["workers asleep"] = Planted(("healthy", 0), ("--workers", 3 * len(processors)),
                                         simulated=False)
    if len(processors) > 1 and shutil.which("taskset") is not None:
        for size, options in (("small", ("--workers", 2)), ("large", ())):
            programs[f"mask {size}"] = Planted(("spins", size), options, "narrow-mask",
                                               prefix=mask, simulated=False)
        programs["mask opposite"] = Planted(("spins", "small"), ("--workers", 2), simulated=False)
    for number in range(HEALTHY):
        for ranks, options in ((1, ONE_RANK), (4, FOUR_RANKS)):
            programs[f"healthy {number}, ranks {ranks}"] = Planted(("healthy", number), options)
    return programs


# Causes that make a run longer than its opposite, by much.
LONGER = ("bound", "handlers", "steps", "insertion", "lock", "priority", "flow_priority")


@dataclass(frozen=True)
class Difference:
    """Two programs, of which the second one takes longer, and why."""

    faster: Planted
    slower: Planted

    def problem(self, verdict, disturbed):
        """What is wrong with the verdict on a run of each, of which one was `disturbed` by other
        programs or none was; "" for nothing. Disturbances may stand in place of the cause."""
        cause, bound, place = verdict["cause"], verdict["bound"], verdict.get("place", "")
        if disturbed and cause in ("", DISTURBED):
            return ""
        if cause != (self.slower.wanted or ""):
            return f"the cause '{cause}' in place of '{self.slower.wanted}'"
        if bound not in ((BOUNDS[cause],) if cause else self.slower.bounds(is_real=False)):
            return f"the bound '{bound}'"
        if not re.match("B takes .* longer than A", verdict["sentences"][0]):
            return f"the sentence '{verdict['sentences'][0]}'"
        return "" if self.slower.has_place(place) else f"the place '{place}'"


def planted_differences():
    """All pairs of programs, by their names: with a cause beside without it, and with more to do
    beside less."""
    differences = {}
    for name in LONGER:
        hint, options = CAUSES[name]
        for size in SIZES:
            differences[f"{name} {size}"] = Difference(
                Planted((name, size, "opposite"), options), Planted((name, size), options, hint))
    for name, bound in (("bound", "work"), ("overloaded", "chain")):
        less, more = (Planted((name, size, "opposite"), CAUSES[name][1]) for size in SIZES)
        differences[f"more {bound}"] = Difference(less, more)
    return differences


def too_disturbed(rows, percent):
    """Programs of whose quiet runs more than five times so many percent were called disturbed, and
    "all" if it is more than so many percent of those of several. tests/trace/verdicts asks."""
    quiet = {name: row["quiet"] for name, row in rows.items() if row["quiet"]}
    limits = {name: (counts, min(5 * percent, 100)) for name, counts in quiet.items()}
    if len(quiet) > 1:
        limits["all"] = (sum(quiet.values(), collections.Counter()), percent)
    return [name for name, (counts, limit) in limits.items()
            if 100 * counts["disturbed"] > limit * counts.total()]


class Causes(suite.Suite):

    def setUp(self):
        self.scratch = self.folder()
        self.planted = self.program("trace_planted")

    def tool(self, *arguments):
        return json.loads(self.run_command([self.program("shoal-trace"), *arguments]).output)

    def check(self, planted, seed=None, name="run"):
        """One run has the right hints, and the verdict that they give."""
        path = self.scratch / f"{name}{seed or ''}.trace"
        command = planted.command(self.planted, seed)
        self.run_command([*command, "--trace", path])
        facts = self.tool("summary", "--json", path)
        verdict = self.tool("why", "--json", path)
        self.assertEqual(planted.problem(facts, verdict, seed is None), "",
                         f"{shlex.join(command)}\n{facts.get('hints')}\n{verdict}")

    def simulated(self, *planted, name="run"):
        for seed in range(1, SEEDS + 1):
            self.check(Planted(*planted), seed, name)

    def check_differences(self, wanted):
        """Why the run with the cause is slower than its opposite; the number of seeds with which it
        is."""
        compared = 0
        for seed in range(1, SEEDS + 1):
            other, run = (self.scratch / f"{name}{seed}.trace" for name in ("opposite", "run"))
            verdict = self.tool("diff", "--json", other, run)
            line = f"{wanted}, seed {seed}: {verdict}"
            if verdict["bound"] == "nothing" or verdict["sentences"][0].startswith("A takes"):
                continue
            self.assertEqual(verdict["cause"], wanted, line)
            self.assertEqual(verdict["bound"], BOUNDS[wanted], line)
            self.assertRegex(verdict["sentences"][0], "^B takes .* longer than A", line)
            compared += 1
        return compared

    def real(self, *planted, **more):
        for _ in range(RUNS):
            self.check(Planted(*planted, **more))

    @suite.cases({name: (name, *cause) for name, cause in {**CAUSES, **SIMULATED}.items()})
    def test_simulated(self, cause):
        name, hint, options = cause
        for size in SIZES:
            self.simulated((name, size), options, hint)
            self.simulated((name, size, "opposite"), options, OPPOSITES.get(name), name="opposite")
            if name not in OTHER_WORK:
                compared = self.check_differences(hint)
                self.assertEqual(compared, 0 if name in NOT_LONGER else SEEDS, name)

    def test_simulated_link(self):
        """Messages from one rank to another take longer; opposite: all messages do."""
        for size in SIZES:
            slow = (*FOUR_RANKS, "--sim-faults", "delay:p=1,by=500us,from=0,to=1")
            self.simulated(("link", size), slow, "slow-link")
            evenly = (*FOUR_RANKS, "--sim-faults", "delay:p=1,by=500us")
            self.simulated(("link", size), evenly, None, name="opposite")
            compared = self.check_differences("slow-link")
            self.assertEqual(compared, 0 if "link" in NOT_LONGER else SEEDS)

    @suite.cases({name: (name, *cause) for name, cause in CAUSES.items()})
    def test_real(self, cause):
        name, hint, options = cause
        for size in SIZES:
            self.real((name, size), options, hint)
            self.real((name, size, "opposite"), options, OPPOSITES.get(name))

    @suite.cases(planted_differences())
    def test_difference(self, difference):
        """Why a program takes longer than another, of a simulated run of each, and of real ones."""
        both = (difference.faster, difference.slower)
        paths = [self.scratch / f"{name}.trace" for name in "ab"]
        for seed in (1, *[None] * RUNS):
            for planted, path in zip(both, paths):
                self.run_command([*planted.command(self.planted, seed), "--trace", path])
            disturbed = any(planted.is_disturbed(self.tool("summary", "--json", path))
                            for planted, path in zip(both, paths))
            verdict = self.tool("diff", "--json", *paths)
            self.assertEqual(difference.problem(verdict, disturbed), "", f"seed {seed}: {verdict}")

    def test_too_disturbed(self):
        """A tool that called each run disturbed would never be wrong."""
        def rows(**quiet):
            return {name: {"quiet": counts and collections.Counter(counts)}
                    for name, counts in quiet.items()}
        few = rows(healthy={"right": 18, "disturbed": 2}, only_simulated=None)
        self.assertEqual(too_disturbed(few, 10), [])
        one = rows(healthy={"right": 9, "disturbed": 11}, steps={"right": 200})
        self.assertEqual(too_disturbed(one, 10), ["healthy"])
        self.assertEqual(too_disturbed(rows(steps={"disturbed": 20}), 10), ["steps"])
        several = {name: {"right": 16, "disturbed": 4} for name in ("steps", "lock", "bound")}
        self.assertEqual(too_disturbed(rows(**several), 10), ["all"])

    def test_not_modelled(self):
        """Masks, more workers than processors, and other programs: virtual time has none."""
        processors = len(os.sched_getaffinity(0))
        for size in SIZES:
            self.simulated(("spins", size), ("--workers", 4 * processors), None)

    @suite.cases({name: (name, *cause) for name, cause in CAUSES.items()})
    def test_without_messages(self, cause):
        """Handlers look like idle time where they were not recorded: no hint by idleness, and the
        first line says so."""
        name, hint, options = cause
        path = self.scratch / "run.trace"
        for size in SIZES:
            self.run_command([*Planted((name, size), options).command(self.planted, 1), "--trace",
                              path, "--trace-categories", "task,sched"])
            facts = self.tool("summary", "--json", path)
            hints = {one["kind"] for one in facts.get("hints", [])}
            self.assertLessEqual(hints, {hint} & set(OF_TASKS), facts)
            self.assertEqual(facts["idle"], [])
            self.assertNotIn("utilization", facts)
            self.assertIn("nothing is known of idle workers", facts["partial"][1])
            verdict = self.tool("why", "--json", path)
            self.assertIn(verdict["bound"], (*HEALTHY_BOUNDS, "unknown",
                                             *(BOUNDS[one] for one in hints)), verdict)
        if name == "slow":
            self.assertEqual(hints, {hint})

    def why(self, words, workers):
        """Duration and verdict of a simulated run on one rank."""
        path = self.scratch / "loop.trace"
        command = [self.planted, *words, "--sim-dry", "--workers", workers, "--trace", path]
        self.run_command([str(word) for word in command])
        verdict = self.tool("why", "--json", path)
        return verdict["duration_ns"], verdict

    def least(self, verdict):
        """Nanoseconds that the run takes at least with any number of workers."""
        found = re.search("any number of workers it would take ([0-9.]+) (ns|us|ms|s) at least",
                          verdict["sentences"][1])
        self.assertIsNotNone(found, verdict)
        return float(found[1]) * {"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9}[found[2]]

    @suite.cases(SIZES)
    def test_loop_behind_serial_code(self, size):
        """Code of the main function around loops: no number of workers makes it shorter, and what
        `why` says that such a run takes at least is nearly what it takes with many workers."""
        with_many, _ = self.why(("serial_loops", size), 64)
        times = 1 if size == "small" else 3
        for workers in (2, 4, 64):
            duration, verdict = self.why(("serial_loops", size), workers)
            least = self.least(verdict)
            self.assertGreaterEqual(least, 60e6 * times, verdict)
            self.assertLessEqual(least, with_many * 1.001, verdict)
            if duration < 80e6 * times:
                self.assertEqual(verdict["bound"], "chain", verdict)
            if verdict["bound"] == "chain":
                self.assertIn("serial code of the main function", verdict["sentences"][0])
                self.assertNotIn("more workers", verdict["sentences"][2])
        _, alone = self.why(("serial_loops", size), 1)
        self.assertAlmostEqual(self.least(alone), 60e6 * times, delta=1e6)

    @suite.cases(SIZES)
    def test_even_loop(self, size):
        """An even loop: parts of it are no bound for more workers, which make them shorter."""
        fewest, _ = self.why(("even_loop", size), 2)
        with_many, _ = self.why(("even_loop", size), 16)
        self.assertLess(with_many, fewest / 6)
        for workers in (1, 2, 4, 16):
            duration, verdict = self.why(("even_loop", size), workers)
            self.assertEqual(verdict["bound"], "work", verdict)
            self.assertIn("more workers", verdict["sentences"][2])
            if "not known" not in verdict["sentences"][1]:
                self.assertLessEqual(self.least(verdict), 1.01e6, verdict)  # one iteration
            self.assertGreater(duration, 1.01e6)

    @suite.cases(SIZES)
    def test_loop_under_a_lock(self, size):
        """The time without the lock is that of a run without it, and its share fits."""
        for workers in (2, 4):
            duration, verdict = self.why(("locked_loop", size), workers)
            without, _ = self.why(("locked_loop", size, "opposite"), workers)
            self.assertEqual(verdict["cause"], "contended-lock", verdict)
            self.assertLess(abs(verdict["without_ns"] - without), 0.1 * without, verdict)
            share = 1 - verdict["without_ns"] / duration
            self.assertAlmostEqual(verdict["share"], share, delta=0.01)

    def test_waits(self):
        """A chain of tasks, each of which waits in its middle for the one before: the graph has
        the waits."""
        path = self.scratch / "run.trace"
        graph = self.scratch / "run.dot"
        for seed in range(1, SEEDS + 1):
            self.run_command([*Planted(RELAY, ONE_RANK).command(self.planted, seed),
                              "--trace", path])
            self.assertEqual(self.tool("why", "--json", path)["bound"], "chain")
            self.run_command([self.program("shoal-trace"), "convert", "--to", "dot", path,
                              "-o", graph])
            self.assertEqual(graph.read_text().count("[style=dotted]"), RELAYS)

    @suite.cases(range(HEALTHY))
    def test_healthy(self, number):
        for options in (ONE_RANK, FOUR_RANKS):
            self.simulated(("healthy", number), options, None)
            self.real(("healthy", number), options, None)

    def test_real_mask(self):
        """A mask that leaves one processor."""
        processors = sorted(os.sched_getaffinity(0))
        if len(processors) < 2 or shutil.which("taskset") is None:
            self.skipTest("this needs two processors, and taskset")
        mask = ("taskset", "-c", processors[0])
        self.real(("spins", "small"), ("--workers", 2), "narrow-mask", prefix=mask)
        self.real(("spins", "large"), (), "narrow-mask", prefix=mask)
        self.real(("spins", "small"), ("--workers", 2), None)

    def test_real_workers(self):
        """More workers than processors."""
        processors = len(os.sched_getaffinity(0))
        for size, times in zip(SIZES, (2, 4)):
            self.real(("spins", size), ("--workers", times * processors), "more-workers-than-cores")
        self.real(("spins", "small"), ("--workers", processors), None)
        # Workers that sleep need no processor.
        self.real(("healthy", 0), ("--workers", 3 * processors), None)


if __name__ == "__main__":
    suite.main()
