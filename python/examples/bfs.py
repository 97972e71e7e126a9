"""Asynchronous breadth-first search: each rank has some vertices of a graph, and tells others of
shorter distances by messages, without rounds. The graph is a sparse matrix of scipy if that is
there."""

import random

import shoal

VERTICES, EDGES = 500, 1500


def neighbours_of_all():
    """Lists of neighbours, the same on all ranks."""
    chance = random.Random(5)
    pairs = [(chance.randrange(VERTICES), chance.randrange(VERTICES)) for _ in range(EDGES)]
    rows, columns = zip(*(pairs + [(b, a) for a, b in pairs]))
    try:
        from scipy.sparse import csr_array
    except ImportError:
        lists = [[] for _ in range(VERTICES)]
        for row, column in zip(rows, columns):
            lists[row].append(column)
        return lists
    matrix = csr_array(([1] * len(rows), (rows, columns)), shape=(VERTICES, VERTICES))
    return [matrix.indices[first:end].tolist()
            for first, end in zip(matrix.indptr, matrix.indptr[1:])]


class Search(shoal.Object):
    """Distances of the vertices of a rank: vertex v lives on rank v % size."""

    def __init__(self):
        super().__init__()
        self.neighbours = neighbours_of_all()
        self.distances = {}

    def visit(self, vertices, distance):
        """Vertices of this rank can be reached in so many steps."""
        further = {}
        for vertex in vertices:
            if self.distances.get(vertex, VERTICES) > distance:
                self.distances[vertex] = distance
                for other in self.neighbours[vertex]:
                    further.setdefault(other % len(self), []).append(other)
        for rank, others in further.items():
            self[rank].visit.send(others, distance + 1)

    def summary(self):
        return len(self.distances), sum(self.distances.values()), max(self.distances.values())


def main(world):
    search = Search()
    if world.rank == 0:
        search[0].visit.send([0], 0)
    search.fence()
    if world.rank != 0:
        return None
    counts, sums, farthest = zip(*shoal.gather(one.summary() for one in search))
    return sum(counts), sum(sums), max(farthest)


if __name__ == "__main__":
    result = shoal.run(main, ranks=2)
    if result is not None:
        print("reached {}, total distance {}, farthest {}".format(*result))
