"""apps/cholesky and the products of matrices: each verifies its result."""

import suite


class Cholesky(suite.Suite):

    def test_tiles(self):
        self.everywhere("cholesky", "--n 700 --tile 64")

    def test_small_tiles(self):
        self.everywhere("cholesky", "--n 200 --tile 20")

    def test_random_blocks(self):
        self.everywhere("cholesky", "--n 500 --tile 40 --random-blocks 2")

    def test_same_bits(self):
        """The same checksum on each number of ranks, embedded and over each MPI."""
        arguments, pattern = "--n 600 --tile 50 --checksum", "checksum +[0-9a-f]+"
        lines = set()
        for ranks in (1, 2, 4):
            lines.add(self.prints(self.embedded("cholesky", f"{arguments} --ranks {ranks}"),
                                  pattern))
            for mpi in suite.build().mpis:
                lines.add(self.prints(self.launched("cholesky", mpi, ranks, arguments), pattern))
        self.assertEqual(len(lines), 1, lines)


class Products(suite.Suite):

    def test_gemm2d(self):
        self.everywhere("gemm2d", "--n 400 --tile 50")

    def test_gemm3d(self):
        self.everywhere("gemm3d", "--n 400 --tile 50", ranks=[8], processes=[8])


if __name__ == "__main__":
    suite.main()
