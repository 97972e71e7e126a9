#!/usr/bin/env python3
"""races_test.py SHOAL_EXPLORE PROGRAM: data races that shoal-explore finds, and finds not.

PROGRAM (races.cpp, with ThreadSanitizer) has several programs in it. In those that begin with
"racy_" the first few seeds must show the race; the others have none, in any order. A race in global
memory must name both of its sides, by kind of access and by task.
"""

import concurrent.futures
import re
import subprocess
import sys

EXPLORE, PROGRAM = sys.argv[1:3]
RACY_SEEDS = 3
CLEAN_SEEDS = 12

MAIN = r"the main function, rank {}"
PUT = r"put of 'the main function', rank {}"
# The two sides of races in global memory: what they do, and as whom.
SIDES = {
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


def failure_of(name):
    racy = name.startswith("racy_")
    done = subprocess.run(
        [EXPLORE, "--jobs", "1", "--log", "0", "--no-shrink",
         "--seeds", str(RACY_SEEDS if racy else CLEAN_SEEDS),
         "--", PROGRAM, name, "--ranks", "2", "--workers", "3"],
        capture_output=True, text=True, check=False)
    text = done.stdout + done.stderr
    if done.returncode != (1 if racy else 0):
        return f"{name}: exit code {done.returncode}\n{text}"
    if racy and "SUMMARY: ThreadSanitizer: data race" not in text:
        return f"{name}: no report of a data race\n{text}"
    if racy and "races.cpp" not in text.split("SUMMARY", maxsplit=1)[0]:
        return f"{name}: the report does not name the program's source\n{text}"
    report = text.split("SUMMARY", maxsplit=1)[0]
    if name in SIDES and not are_named(report, SIDES[name]):
        return f"{name}: the report does not name {SIDES[name]}, but {sides_of(report)}\n{text}"
    return None


def main():
    names = subprocess.run([PROGRAM, "--list"], capture_output=True, text=True,
                           check=True).stdout.split()
    unknown = SIDES.keys() - set(names)
    if unknown:
        sys.exit(f"no such programs: {unknown}")
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        failures = [text for text in pool.map(failure_of, names) if text is not None]
    print("\n".join(failures))
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
