"""Programs of distributed objects, small runs: each verifies its result."""

import suite


class Objects(suite.Suite):

    @suite.cases([
        "jacobi --n 40 --iterations 20", "kmeans --points 2000 --clusters 5",
        "kmeans --points 2000 --copy",
        "nas_cg --class S", "hub_bfs --vertices 500 --strategy everywhere",
        "hub_bfs --vertices 500 --strategy neighbors", "hub_bfs --vertices 500 --strategy striped",
        "hub_bfs --vertices 500 --strategy flat",
        "hub_bfs --vertices 500 --problem lightest-edges --strategy STRIPED",
        "components --vertices 700",
        "components --vertices 700 --no-tunnel", "saxpy --n 5000", "saxpy --n 5000 --levels 0",
        "min_element --step 500 --count 6", "min_element --step 500 --flat"])
    def test(self, line):
        self.program(line.split()[0])
        for world in ("--ranks 4 --workers 2", "--sim --ranks 2"):
            with self.subTest(world):
                self.prints(self.embedded(*f"{line} {world}".split(" ", 1)), "; verified")


if __name__ == "__main__":
    suite.main()
