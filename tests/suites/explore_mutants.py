"""Planted bugs of the library (tests/planted/mutants.json): shoal-explore finds each, and the
command that it prints as the shortest fails in the same way, every time. Without a bug, the same
programs do not fail."""

import re
import shlex

import suite

EXPLORE = suite.SOURCE / "tools/shoal-explore"
WORLD = "--ranks 7 --workers 3"
OPTIONS = "--packet-bytes 512 --window-bytes 2048"
REFERENCES = {"random_program": 100, "random_event_program": 100, "random_flow_program": 200,
              "random_memory_program": 100, "random_window_program": 200}


class Mutants(suite.Suite):
    timeout = 240
    # Some of these bugs read memory that was freed: overwritten by malloc, it is wrong in each run.
    environment = {"MALLOC_PERTURB_": "165"}

    @suite.cases(suite.planted("mutants"))
    def test(self, bug):
        command = [self.program(f"mutant_{bug['name']}"),
                   *f"{bug.get('world', WORLD)} {OPTIONS}".split()]
        found = self.run_command([EXPLORE, "--seeds", 3000, "--", *command], code=1,
                                 environment=self.environment)
        shortest = re.search("the shortest that fails in the same way:\n  (.*)\n",
                             found.output + found.errors)
        self.assertTrue(shortest, f"no command to replay the failure: {found}")
        self.assertIn("its last events:", found.output + found.errors, str(found))
        first, second = (self.run_command(shlex.split(shortest[1]), code=suite.ANY,
                                          environment=self.environment)
                         for _ in range(2))
        self.assertNotEqual(first.code, 0, f"the printed command does not fail: {first}")
        self.assertEqual(first, second)

    @suite.cases({name: (name, seeds) for name, seeds in REFERENCES.items()})
    def test_without_a_bug(self, reference):
        name, seeds = reference
        self.run_command([EXPLORE, "--seeds", seeds, "--", self.program(f"explore_{name}"),
                          *f"{WORLD} {OPTIONS}".split()])


if __name__ == "__main__":
    suite.main()
