"""Factorizations in sequential flows, and the solution of least squares: each verifies its
result."""

import suite

GOOD = "residual +[0-9.e-]+ .* good"
SOLVED = f"{GOOD}[^@]*distance +[0-9.e+-]+"
FACTORIZATIONS = ["flow_cholesky", "lu", "qr"]
ALL = [*FACTORIZATIONS, "least_squares"]


class Flows(suite.Suite):

    @suite.cases(FACTORIZATIONS)
    def test_tiles(self, name):
        self.everywhere(name, "--n 300 --tile 48", prints=GOOD)

    @suite.cases(ALL)
    def test_one_row_of_ranks(self, name):
        self.embedded(name, "--n 200 --tile 32 --ranks 3 --grid 1x3 --repeat 2")

    @suite.cases(ALL)
    def test_simulated(self, name):
        self.embedded(name, "--sim-check --ranks 6 --workers 2 --n 120 --tile 24")

    @suite.cases(FACTORIZATIONS)
    def test_less_than_a_tile(self, name):
        self.embedded(name, "--n 10 --tile 16 --ranks 2")

    @suite.cases({"qr": "qr --ranks 256 --workers 1 --n 4096 --tile 256",
                  "least_squares": "least_squares --ranks 64 --n 2048 --tile 128"})
    def test_dry(self, line):
        self.embedded(*f"{line} --sim-dry".split(" ", 1))


class LeastSquares(suite.Suite):

    def test_random(self):
        self.everywhere("least_squares", "--n 301 --tile 48", prints=SOLVED)

    def test_matrix(self):
        self.everywhere("least_squares", f"{self.data('west0067.mtx')} --tile 16", ranks=[4],
                        processes=[2], prints=SOLVED)

    def test_one_column(self):
        self.prints(self.embedded("least_squares", "--n 1"), SOLVED)

    @suite.cases({"ranks_1": ("tall", 1), "ranks_4": ("tall", 4), "large": ("tall_large", 2),
                  "huge": ("tall_huge", 2), "tiny": ("tall_tiny", 2)})
    def test_file(self, case):
        """Squares of some of these numbers overflow or vanish: right results are good."""
        name, ranks = case
        self.prints(self.embedded("least_squares",
                                  f"{suite.SMALL_DATA}/{name}.mtx --tile 2 --ranks {ranks}"),
                    SOLVED)


if __name__ == "__main__":
    suite.main()
