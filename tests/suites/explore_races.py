"""Data races that shoal-explore finds in the programs of tests/explore/races.cpp (with
ThreadSanitizer), and others in which there is none.

In those that begin with "racy_" the first few seeds must show the race; the others have none, in
any order. A race with a handler, or in global memory, must name both of its sides, by kind of
access and by task.
"""

import re

import suite

RACY_SEEDS = 3
CLEAN_SEEDS = 5

MAIN = r"the main function, rank {}"
PUT = r"put of 'the main function', rank {}"
# The two sides of races with handlers and in global memory: what they do, and as whom.
SIDES = {
    "racy_handler_and_task": {("write", r"handlers of rank \d"), ("read", r"task, rank \d")},
    "racy_get_beside_put": {("write", PUT.format(1)), ("read", r"task, rank \d")},
    "racy_puts_of_ranges": {("write", PUT.format(1)), ("write", MAIN.format(0))},
    "racy_add_beside_put": {("atomic write", MAIN.format(1)), ("write", MAIN.format(0))},
    "racy_additions_beside_put": {
        ("atomic write", r"operation of 'the main function', rank 1"), ("write", MAIN.format(0))},
    "racy_get_before_remote_completion": {("write", PUT.format(1)), ("read", MAIN.format(0))},
    "racy_own_get_before_remote_completion": {("write", PUT.format(1)), ("read", MAIN.format(1))},
    "racy_use_before_the_end_of_a_get": {
        ("write", r"get of 'the main function', rank \d"), ("write", MAIN.format(r"\d"))},
}


def sides_of(report):
    """Kind of access and name of each side of a report, such as ("write", "task, rank 0")."""
    names = dict(re.findall(r"Thread (T\d+) '(.*)'(?: \(|$)", report, re.MULTILINE))
    accesses = re.findall(r"([\w ]+) of size \d+ at \w+ by (?:main thread|thread (T\d+))", report)
    return [(kind.strip().lower().removeprefix("previous "), names.get(thread, ""))
            for kind, thread in accesses]


def are_named(report, wanted):
    sides = sides_of(report)
    return len(sides) == len(wanted) and all(
        any(kind == side[0] and re.fullmatch(name, side[1]) for side in sides)
        for kind, name in wanted)


class Races(suite.Suite):
    timeout = 60

    def test_all_programs(self):
        names = self.embedded("explore_races", "--list").output.split()
        self.assertLessEqual(SIDES.keys(), set(names))
        for name in names:
            with self.subTest(name):
                self.check(name, name.startswith("racy_"))

    def check(self, name, racy):
        done = self.run_command([suite.SOURCE / "tools/shoal-explore", "--log", 0, "--no-shrink",
                                 "--seeds", RACY_SEEDS if racy else CLEAN_SEEDS, "--",
                                 self.program("explore_races"), name,
                                 "--ranks", 2, "--workers", 3], code=1 if racy else 0)
        text = done.output + done.errors
        report, summary, _ = text.partition("SUMMARY: ThreadSanitizer: data race")
        if racy:
            self.assertTrue(summary, f"no report of a data race: {done}")
            self.assertIn("races.cpp", report,
                          f"the report does not name the program's source: {done}")
        if name in SIDES:
            self.assertTrue(are_named(report, SIDES[name]),
                            f"not {SIDES[name]}, but {sides_of(report)}: {done}")


if __name__ == "__main__":
    suite.main()
