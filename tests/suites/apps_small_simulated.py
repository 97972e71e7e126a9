"""Programs of the tutorial and applications in virtual time: twice the same, in each kind of
order."""

import suite

TILES = "--n 120 --tile 20"
PROGRAMS = {**dict.fromkeys(suite.SIMULATED_TUTORIAL, ""), "cholesky": TILES, "gemm2d": TILES,
            "gemm3d": TILES, "bfs": "--scale 6 --roots 4"}


class Twice(suite.Suite):
    timeout = 60

    @suite.cases({name: (name, arguments) for name, arguments in PROGRAMS.items()})
    def test(self, case):
        name, arguments = case
        self.program(name)
        for order in ("time", "uniform", "priorities", "late"):
            with self.subTest(order):
                self.embedded(name,
                              f"--sim-check --ranks 8 --workers 2 --sim-order {order} {arguments}",
                              environment={"OPENBLAS_NUM_THREADS": "1"})


if __name__ == "__main__":
    suite.main()
