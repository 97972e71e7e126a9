"""Programs with a planted cause of slowness, their opposites, and healthy programs: shoal-trace
names the cause, and nothing else. Simulated over seeds, where virtual time contains the cause, and
on real threads: the verdict on a simulated run is that on the real one. Where virtual time does not
contain it, the simulated run has no verdict and says so."""

import json
import os
import shlex
import shutil

import suite

SEEDS = int(os.environ.get("TRACE_CAUSES_SEEDS", "3"))  # of each simulated program
RUNS = int(os.environ.get("TRACE_CAUSES_RUNS", "1"))  # of each real one
HEALTHY = 10
# Other programs of the machine: says so in place of any verdict.
DISTURBED = "disturbed"

ONE_RANK = ("--ranks", 1, "--workers", 4)
TWO_RANKS = ("--ranks", 2, "--workers", 2)
SINGLE = ("--ranks", 2, "--workers", 1)
FOUR_RANKS = ("--ranks", 4, "--workers", 1)

# Each cause: its hint, and the ranks and workers. Virtual time contains all of these.
CAUSES = {
    "bound": ("bound-to-one-worker", ONE_RANK),
    "handlers": ("work-in-handlers", TWO_RANKS),
    "steps": ("wait-per-step", TWO_RANKS),
    "insertion": ("slow-insertion", ONE_RANK),
    "lock": ("contended-lock", ONE_RANK),
    "slow": ("slow-rank", FOUR_RANKS),
    "overloaded": ("overloaded-rank", FOUR_RANKS),
    "priority": ("missing-priority", FOUR_RANKS),
    "flow_priority": ("missing-priority", ONE_RANK),
    "receiver": ("busy-receiver", SINGLE),
    "short": ("short-tasks", ("--ranks", 1, "--workers", 2)),
}
# The opposite of a cause may be one that has a name, too.
OPPOSITES = {"slow": "outlier"}
# The opposite does less, besides: the difference has other causes.
OTHER_WORK = ("memory",)
# Of memory and the network: simulated only, as the machine of the test decides.
MODEL = suite.SOURCE / "apps/contention/machines/henrisubnuma.json"
SIMULATED = {
    "memory": ("memory-bound", (*ONE_RANK[:3], 18, "--sim-memory", MODEL)),
    "hot": ("hot-link", (*FOUR_RANKS, "--sim-net", "fixed:50us,1G")),
    "window": ("window-full", (*SINGLE, "--window-bytes", "16K")),
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
# Of these, the verdict cannot name the place in the source.
WITHOUT_PLACE = ("narrow-mask", "more-workers-than-cores", "disturbed")
# True of a run without a cause.
HEALTHY_BOUNDS = ("work", "chain")
ANY_BOUNDS = (*HEALTHY_BOUNDS, "messages", "imbalance", "waiting")


class Causes(suite.Suite):

    def setUp(self):
        self.scratch = self.folder()
        self.planted = self.program("trace_planted")

    def tool(self, *arguments):
        return json.loads(self.run_command([self.program("shoal-trace"), *arguments]).output)

    def hints(self, *command, name="run"):
        """The kinds of hints on a run, with their texts."""
        path = self.scratch / f"{name}.trace"
        self.run_command([*command, "--trace", path])
        facts = self.tool("summary", "--json", path)
        simulated = "--sim-dry" in command
        self.assertEqual("Not modelled: more workers than processors" in
                         facts.get("not_modelled", ""), simulated, facts)
        return {hint["kind"]: hint["text"] for hint in facts.get("hints", [])}

    def check_verdict(self, wanted, line, bounds, name="run"):
        """The verdict names what the hints do; without one, a bound that the run is near to."""
        verdict = self.tool("why", "--json", self.scratch / f"{name}.trace")
        line = f"{line}\n{verdict}"
        self.assertEqual(len(verdict["sentences"]), 3, line)
        self.assertLessEqual(verdict["without_ns"], verdict["duration_ns"], line)
        if verdict["cause"] == "":
            self.assertIsNone(wanted, line)
            self.assertIn(verdict["bound"], bounds, line)
            return
        self.assertIn(verdict["cause"], (wanted, DISTURBED), line)
        self.assertEqual(verdict["bound"], BOUNDS[verdict["cause"]], line)
        if verdict["cause"] not in WITHOUT_PLACE:
            self.assertRegex(verdict["place"], r"planted\.cpp:[0-9]+", line)
            self.assertIn(verdict["place"], verdict["sentences"][2], line)

    def simulated(self, words, options, wanted, bounds=ANY_BOUNDS, name="run"):
        for seed in range(1, SEEDS + 1):
            command = [self.planted, *words, *options, "--sim-dry", "--sim-seed", seed]
            hints = self.hints(*command, name=f"{name}{seed}")
            line = f"{shlex.join(map(str, command))}\n{hints}"
            self.assertEqual(set(hints), {wanted} - {None}, line)
            self.check_verdict(wanted, line, bounds, f"{name}{seed}")

    def check_differences(self, wanted):
        """Why the run with the cause is slower than its opposite, if it is."""
        for seed in range(1, SEEDS + 1):
            other, run = (self.scratch / f"{name}{seed}.trace" for name in ("opposite", "run"))
            verdict = self.tool("diff", "--json", other, run)
            line = f"{wanted}, seed {seed}: {verdict}"
            if verdict["bound"] == "nothing" or verdict["sentences"][0].startswith("A takes"):
                continue
            self.assertEqual(verdict["cause"], wanted, line)
            self.assertEqual(verdict["bound"], BOUNDS[wanted], line)
            self.assertRegex(verdict["sentences"][0], "^B takes .* longer than A", line)

    def real(self, words, options, wanted, prefix=(), bounds=ANY_BOUNDS):
        for _ in range(RUNS):
            command = [*prefix, self.planted, *words, *options]
            hints = self.hints(*command)
            line = f"{shlex.join(map(str, command))}\n{hints}"
            self.assertLessEqual(set(hints), {wanted, DISTURBED}, line)
            if wanted is not None:
                self.assertTrue(set(hints) & {wanted, DISTURBED}, line)
            self.check_verdict(wanted, line, bounds)

    @suite.cases({name: (name, *cause) for name, cause in {**CAUSES, **SIMULATED}.items()})
    def test_simulated(self, cause):
        name, hint, options = cause
        for size in ("small", "large"):
            self.simulated((name, size), options, hint)
            self.simulated((name, size, "opposite"), options, OPPOSITES.get(name), name="opposite")
            if name not in OTHER_WORK:
                self.check_differences(hint)

    def test_simulated_link(self):
        """Messages from one rank to another take longer; opposite: all messages do."""
        for size in ("small", "large"):
            slow = (*FOUR_RANKS, "--sim-faults", "delay:p=1,by=500us,from=0,to=1")
            self.simulated(("link", size), slow, "slow-link")
            evenly = (*FOUR_RANKS, "--sim-faults", "delay:p=1,by=500us")
            self.simulated(("link", size), evenly, None, name="opposite")
            self.check_differences("slow-link")

    @suite.cases({name: (name, *cause) for name, cause in CAUSES.items()})
    def test_real(self, cause):
        name, hint, options = cause
        for size in ("small", "large"):
            self.real((name, size), options, hint)
            self.real((name, size, "opposite"), options, OPPOSITES.get(name))

    def test_not_modelled(self):
        """Masks, more workers than processors, and other programs: virtual time has none."""
        processors = len(os.sched_getaffinity(0))
        for size in ("small", "large"):
            self.simulated(("spins", size), ("--workers", 4 * processors), None)

    @suite.cases(range(HEALTHY))
    def test_healthy(self, number):
        for options in (ONE_RANK, FOUR_RANKS):
            self.simulated(("healthy", number), options, None, HEALTHY_BOUNDS)
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
        for size, times in (("small", 2), ("large", 4)):
            self.real(("spins", size), ("--workers", times * processors), "more-workers-than-cores")
        self.real(("spins", "small"), ("--workers", processors), None)
        # Workers that sleep need no processor.
        self.real(("healthy", 0), ("--workers", 3 * processors), None)


if __name__ == "__main__":
    suite.main()
