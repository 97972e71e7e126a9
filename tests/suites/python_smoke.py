"""The package shoal of this build, in a minute: each model once, in each way to run it."""

import suite
from python_programs import PROGRAMS, Programs


class Smoke(Programs):

    timeout = 20

    def runs(self, name, *options, ranks, **keywords):
        result = self.run_python(name, *options, **keywords)
        self.assertEqual(result.output.strip().splitlines()[-1],
                         PROGRAMS[name].format(ranks=ranks))

    def test_embedded(self):
        for name in PROGRAMS:
            self.runs(name, "--ranks", 2, "--workers", 2, ranks=2)

    def test_simulated(self):
        self.runs("calls", "--sim", "--ranks", 3, ranks=3, PYTHONHASHSEED="0")

    def test_launched(self):
        self.first_mpi()
        for mpi in suite.build().mpis:
            self.runs("calls", launcher=[*suite.build().launchers[mpi], 2], ranks=2)


if __name__ == "__main__":
    suite.main()
