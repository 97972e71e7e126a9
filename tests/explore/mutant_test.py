#!/usr/bin/env python3
"""mutant_test.py SHOAL_EXPLORE PROGRAM [ARGUMENT...]

PROGRAM has a planted bug: shoal-explore must find it within 3000 seeds, and what it prints as the
shortest command must fail in the same way, every time.
"""

import os
import re
import shlex
import subprocess
import sys

SEEDS = 3000


# Some planted bugs read memory that was freed: overwritten by malloc, it is wrong in each run.
ENVIRONMENT = {**os.environ, "MALLOC_PERTURB_": "165"}


def run(words):
    done = subprocess.run(words, capture_output=True, text=True, check=False, env=ENVIRONMENT)
    return done.returncode, done.stdout + done.stderr


def main():
    explore, program = sys.argv[1], sys.argv[2:]
    code, text = run([explore, "--seeds", str(SEEDS), "--", *program])
    print(text)
    if code != 1:
        sys.exit(f"shoal-explore ended with {code}: it did not find the planted bug")
    command = re.search(r"the shortest that fails in the same way:\n  (.*)\n", text)
    if command is None:
        sys.exit("no command to replay the failure was printed")
    if "its last events:" not in text:
        sys.exit("no log of the last events was printed")
    first = run(shlex.split(command[1]))
    if first[0] == 0:
        sys.exit("the printed command does not fail")
    if run(shlex.split(command[1])) != first:
        sys.exit("the printed command fails in another way the second time")


if __name__ == "__main__":
    main()
