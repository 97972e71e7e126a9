"""apps/insitu, small runs: each verifies its result."""

import suite

REPORT = "per second\n +latency +[0-9.e+]+ us[^\n]*\n +results +good"


class Insitu(suite.Suite):

    def test_default_size(self):
        self.everywhere("insitu", "--timesteps 10", prints=f"items +[0-9]+ in [^\n]* {REPORT}")

    @suite.cases({1: (1, 40), 2: (2, 40), 3: (3, 40), 6: (6, 120)})
    def test_ranks(self, counts):
        """Ranks alone, and with as many or one less to compute."""
        ranks, items = counts
        result = self.embedded("insitu", f"--ranks {ranks} --workers 2 --timesteps 5 --size 100")
        self.prints(result, f"items +{items} in [^\n]* {REPORT}")


if __name__ == "__main__":
    suite.main()
