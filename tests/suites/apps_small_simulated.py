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


class Many(suite.Suite):
    timeout = 280

    def test_100000_ranks(self):
        """They end in some seconds, and are not taken for a program that polls."""
        if suite.build().sanitize:
            self.skipTest("a rank takes 2 MB with a sanitizer, and 32 KiB without")
        with open("/proc/meminfo", encoding="ascii") as file:
            kib = {line.split(":")[0]: int(line.split()[1]) for line in file}
        if kib["MemAvailable"] < 6 << 20:
            self.skipTest("it needs 3.2 GB of memory")
        result = self.embedded("tutorial_hello", "--sim --ranks 100000 --workers 1")
        self.assertEqual(len(result.output.splitlines()), 100000)


if __name__ == "__main__":
    suite.main()
