"""Applications of global memory and of objects: other ways than those of apps_small, matrices, and
peers."""

import suite


class Memory(suite.Suite):

    @suite.cases(["gups --log-size 12 --gather", "barnes_hut --bodies 1000 --cache-bytes 20000",
                  "ebms --particles 2000 --prefetch"])
    def test(self, line):
        self.everywhere(*line.split(" ", 1), ranks=[3], processes=[2], prints="verified")

    @suite.cases(["gups --ranks 16 --log-size 10", "sparse_solve --ranks 8 --grid 12 --levels 2",
                  "barnes_hut --ranks 8 --bodies 500", "ebms --ranks 16 --particles 1000"])
    def test_simulated(self, line):
        self.prints(self.embedded(*f"{line} --sim".split(" ", 1)), "verified")

    def test_barnes_hut_as_bare_mpi(self):
        """Both have the same trees, so all bodies end at the same places, to the last bit."""
        self.print_the_same("checksum +[0-9a-f]+",
                            self.embedded("barnes_hut", "--bodies 700 --checksum --ranks 3"),
                            self.launched("barnes_hut_mpi_openmpi", "openmpi", 3,
                                          "--bodies 700 --checksum"))


class SparseSolve(suite.Suite):

    def test_symmetric(self):
        self.everywhere("sparse_solve", str(self.data("bcsstk13.mtx")), ranks=[3], processes=[4],
                        prints="verified")

    def test_unsymmetric_with_an_empty_diagonal(self):
        self.everywhere("sparse_solve", f"{self.data('west0067.mtx')} --block 2", ranks=[3],
                        processes=[2], prints="ILU(?s:.*)verified")

    def test_symmetric_pattern(self):
        result = self.embedded("sparse_solve", f"--ranks 3 {self.data('jagmesh7.mtx')}")
        self.prints(result, "1138 rows, IC(?s:.*)verified")

    def test_unsymmetric_pattern(self):
        result = self.embedded("sparse_solve",
                               f"--ranks 2 --block 1 {suite.SMALL_DATA}/general_pattern.mtx")
        self.prints(result, "4 rows, ILU(?s:.*)shift 0,(?s:.*)verified")


class Objects(suite.Suite):

    @suite.cases({"S": (1, 2, 4, 8), "W": (4,)})
    def test_nas_cg(self, counts):
        """Class S has every number of ranks; W, which takes ten times as long, one of several
        columns."""
        name = "W" if len(counts) == 1 else "S"
        self.everywhere("nas_cg", f"--class {name} --workers 1", ranks=counts,
                        processes=counts[-1:], prints="official(?s:.*); verified")


if __name__ == "__main__":
    suite.main()
