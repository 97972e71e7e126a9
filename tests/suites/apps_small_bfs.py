"""apps/bfs, small graphs. Every variant finds the same levels, on any ranks and workers."""

import suite

VARIANTS = ["async", "events", "level_am"]


class Bfs(suite.Suite):

    @suite.cases(VARIANTS)
    def test_random_graph(self, variant):
        self.everywhere("bfs", f"--scale 11 --roots 16 --variant {variant}",
                        prints="trees +all 16 are good")

    @suite.cases(VARIANTS)
    def test_file(self, variant):
        self.everywhere("bfs", f"--graph {suite.SMALL_DATA}/small_graph.mtx --variant {variant}",
                        processes=[4],
                        prints="14 vertices, 14 edges\n(?s:.*)trees +all 12 are good")

    @suite.cases(VARIANTS)
    def test_more_ranks_than_vertices(self, variant):
        """Fewer vertices have an edge than there are searches, too."""
        result = self.embedded("bfs", f"--scale 2 --edgefactor 2 --ranks 9 --variant {variant}")
        self.prints(result, "trees +all [1-4] are good")


if __name__ == "__main__":
    suite.main()
