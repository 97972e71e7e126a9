"""k-means clustering: each rank has some points, and all agree on the centres by reductions of
arrays. Needs numpy."""

import numpy
import shoal

POINTS, CLUSTERS = 3000, 4


@shoal.task
def assign(points, centres):
    """Sums and counts of the points that are nearest to each centre."""
    nearest = ((points[:, None] - centres) ** 2).sum(axis=2).argmin(axis=1)
    sums = numpy.zeros((CLUSTERS, 3))  # x, y, number
    for cluster in range(CLUSTERS):
        mine = points[nearest == cluster]
        sums[cluster] = *mine.sum(axis=0), len(mine)
    return sums


def all_points():
    chance = numpy.random.default_rng(1)
    middles = numpy.array([[0, 0], [10, 0], [0, 10], [10, 10]])
    return middles[numpy.arange(POINTS) % CLUSTERS] + chance.normal(size=(POINTS, 2))


def main(world):
    points = all_points()[world.rank::world.size]
    centres = all_points()[:CLUSTERS]
    for _ in range(100):
        parts = assign.map(numpy.array_split(points, 2 * world.worker_count),
                           [centres] * 2 * world.worker_count)
        sums = world.allreduce(sum(shoal.gather(parts)), shoal.SUM)
        moved = sums[:, :2] / sums[:, 2:]
        if abs(moved - centres).max() < 1e-9:
            break
        centres = moved
    return centres


if __name__ == "__main__":
    centres = shoal.run(main, ranks=2)
    if centres is not None:
        print(" ".join(f"({round(x)}, {round(y)})" for x, y in centres))
