"""Applications of global memory, small runs: each verifies its result."""

import suite


class Memory(suite.Suite):

    @suite.cases(["gups --log-size 12", "sparse_solve --grid 20", "barnes_hut --bodies 1000",
                  "ebms --particles 2000"])
    def test(self, line):
        self.everywhere(*line.split(" ", 1), prints="verified")


if __name__ == "__main__":
    suite.main()
