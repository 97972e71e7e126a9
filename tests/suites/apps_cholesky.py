"""apps/cholesky and the products of matrices: each verifies its result."""

import suite

SIMULATED = "--n 220 --repeat 2 --sim --ranks 6 --workers 2"


class Tiles(suite.Suite):

    def check_seeds(self, name, arguments):
        """Between simulated processes tiles travel in small or in large messages, in orders that
        seeds choose; the last tile of a row may be small beside large ones."""
        for seed in range(1, 5):
            self.embedded(name, f"{arguments} {SIMULATED} --sim-seed {seed}")

    def check_dry(self, name, arguments):
        """Simulated work that is only pretended takes as long as work that is done."""
        runs = [self.embedded(name, f"{arguments} --workers 2 --no-verify {mode}")
                for mode in ("--sim", "--sim-dry")]
        self.print_the_same(r"shoal +[0-9.e-]+ s(?s:.*)critical path +[0-9.e-]+ s", *runs)


class Cholesky(Tiles):

    def test_tiles(self):
        self.everywhere("cholesky", "--n 700 --tile 64")

    def test_small_tiles(self):
        self.everywhere("cholesky", "--n 200 --tile 20", ranks=[4], processes=[4])

    def test_random_blocks(self):
        self.everywhere("cholesky", "--n 500 --tile 40 --random-blocks 2", ranks=[4],
                        processes=[2])

    def test_same_bits(self):
        """The same checksum on each number of ranks, embedded and over each MPI."""
        arguments, runs = "--n 600 --tile 50 --checksum", []
        for ranks in (1, 2, 4):
            runs.append(self.embedded("cholesky", f"{arguments} --ranks {ranks}"))
            runs += [self.launched("cholesky", mpi, ranks, arguments) for mpi in suite.build().mpis]
        self.print_the_same("checksum +[0-9a-f]+", *runs)

    def test_same_bits_small_and_large(self):
        """The bits of the factor depend on the tiles only: not on ranks, workers, grid or how tiles
        travel. Some of these are large inputs, the others small ones."""
        runs = ("--ranks 1 --workers 1", "--ranks 4 --workers 2", "--ranks 4 --workers 1 --sim",
                "--ranks 6 --grid 6x1 --sim")
        self.print_the_same("checksum +[0-9a-f]+", *(
            self.embedded("cholesky", f"--n 400 --tile 45 --random-blocks 1.5 --checksum {run}")
            for run in runs))

    def test_array_file(self):
        self.embedded("cholesky", f"--matrix {suite.SMALL_DATA}/good_array.mtx")

    def test_more_ranks_than_tiles(self):
        self.embedded("cholesky", "--n 10 --tile 4 --ranks 9")

    def test_repeat(self):
        self.embedded("cholesky",
                      "--n 200 --tile 32 --ranks 3 --repeat 3 --compare-lapack --grid 3x1")

    @suite.cases({20: "--tile 20", 50: "--tile 50"})
    def test_simulated_tiles(self, tiles):
        self.check_seeds("cholesky", tiles)

    @suite.cases(["bcsstk13", "bcsstk16"])
    def test_badly_scaled(self, name):
        self.everywhere("cholesky", f"--matrix {self.data(name + '.mtx')} --tile 128", ranks=[4],
                        processes=[2])

    @suite.cases(["large", "huge", "tiny"])
    def test_squares_overflow_or_vanish(self, size):
        result = self.embedded("cholesky",
                               f"--matrix {suite.SMALL_DATA}/spd_{size}.mtx --tile 2 --ranks 2")
        self.prints(result, "residual +[0-9.e-]+ .* good")

    def test_dry(self):
        self.check_dry("cholesky", "--n 300 --tile 50 --ranks 6")

    def test_dry_1024_ranks(self):
        self.embedded("cholesky", "--sim-dry --ranks 1024 --workers 1 --n 16384 --tile 512")


class Products(Tiles):

    def test_gemm2d(self):
        self.everywhere("gemm2d", "--n 400 --tile 50")

    @suite.cases(["tiled", "blas"])
    def test_gemm2d_6_ranks(self, mode):
        self.embedded("gemm2d", f"--n 300 --tile 32 --repeat 2 --mode {mode} --ranks 6")

    @suite.cases({20: "--tile 20", 50: "--tile 50", "blas": "--tile 50 --mode blas"})
    def test_simulated_tiles(self, tiles):
        self.check_seeds("gemm2d", tiles)

    def test_gemm3d(self):
        self.everywhere("gemm3d", "--n 400 --tile 50", ranks=[8], processes=[8])

    @suite.cases(["--am small --mode tiled", "--am large --mode blas"])
    def test_gemm3d_8_ranks(self, ways):
        self.embedded("gemm3d", f"--n 300 --tile 32 --repeat 2 {ways} --ranks 8")

    @suite.cases({1: "--tile 64", 27: "--tile 30 --ranks 27 --workers 1"})
    def test_gemm3d_ranks(self, arguments):
        self.embedded("gemm3d", f"--n 200 {arguments}")

    @suite.cases({"gemm2d": 4, "gemm3d": 8})
    def test_dry(self, ranks):
        self.check_dry("gemm3d" if ranks == 8 else "gemm2d", f"--n 300 --tile 50 --ranks {ranks}")


if __name__ == "__main__":
    suite.main()
