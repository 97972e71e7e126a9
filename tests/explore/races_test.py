#!/usr/bin/env python3
"""races_test.py SHOAL_EXPLORE PROGRAM: data races that shoal-explore finds, and finds not.

PROGRAM (races.cpp, with ThreadSanitizer) has several programs in it. In those that begin with
"racy_" the first few seeds must show the race; the others have none, in any order.
"""

import concurrent.futures
import subprocess
import sys

EXPLORE, PROGRAM = sys.argv[1:3]
RACY_SEEDS = 3
CLEAN_SEEDS = 12


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
    return None


def main():
    names = subprocess.run([PROGRAM, "--list"], capture_output=True, text=True,
                           check=True).stdout.split()
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        failures = [text for text in pool.map(failure_of, names) if text is not None]
    print("\n".join(failures))
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
