"""No program of the tutorial has a data race, nor does shoal report one in it by mistake: with
ThreadSanitizer, in simulated worlds of so many seeds each."""

import suite

SEEDS = 20


class Tutorials(suite.Suite):
    timeout = 120

    @suite.cases(suite.SIMULATED_TUTORIAL)
    def test(self, name):
        done = self.run_command([suite.SOURCE / "tools/shoal-explore", "--log", 0, "--no-shrink",
                                 "--seeds", SEEDS, "--", self.program(name),
                                 "--ranks", 2, "--workers", 2])
        self.assertIn(f"{SEEDS} seeds, no failure and no data race", done.output)


if __name__ == "__main__":
    suite.main()
