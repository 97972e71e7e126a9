"""Blocked Cholesky factorization A = L L^T by sequential task flow: the loops of the sequential
algorithm insert tasks, which run in parallel where the tiles live. Needs numpy; uses the kernels of
scipy if they are there."""

import numpy
import shoal

try:
    from scipy.linalg import solve_triangular
except ImportError:
    def solve_triangular(a, b, lower):
        return numpy.linalg.solve(a, b)

SIZE, TILE = 240, 48


@shoal.flow_task(a=shoal.read_write)
def factor(a):
    a[...] = numpy.linalg.cholesky(a)


@shoal.flow_task(diagonal=shoal.read, a=shoal.read_write)
def solve(diagonal, a):
    a[...] = solve_triangular(diagonal, a.T, lower=True).T


# [task]
@shoal.flow_task(left=shoal.read, right=shoal.read, a=shoal.read_write)
def update(left, right, a):
    a -= left @ right.T
# [/task]


def matrix():
    """A symmetric positive definite matrix, the same on all ranks."""
    i = numpy.arange(SIZE)
    return 1.0 / (1 + abs(i[:, None] - i)) + SIZE * numpy.eye(SIZE)


def main(world):
    # [flow]
    flow = shoal.Flow("cholesky")
    tiles = flow.tiles(matrix(), (TILE, TILE), owner=lambda i, j: (i + j) % world.size)
    count = tiles.shape[0]
    for k in range(count):
        factor.with_options(priority=count - k)(tiles[k, k])
        for i in range(k + 1, count):
            solve(tiles[k, k], tiles[i, k])
        for i in range(k + 1, count):
            for j in range(k + 1, i + 1):
                update(tiles[i, k], tiles[j, k], tiles[i, j])
    # [/flow]
    lower = numpy.block([[tiles[i, j].get() if j <= i else numpy.zeros((TILE, TILE))
                          for j in range(count)] for i in range(count)])
    lower = numpy.tril(lower)
    return abs(lower @ lower.T - matrix()).max()


if __name__ == "__main__":
    error = shoal.run(main, ranks=2)
    if error is not None:
        print("correct" if error < 1e-10 else f"wrong by {error}")
