"""Simulated runs of one process, each with a seed of its own: hashes.py FIRST LAST STEP.

Prints the seed of each, and numbers of `random` and of numpy; shoal prints the trace hash."""

import random
import sys

import shoal

try:
    import numpy
except ImportError:
    numpy = None


@shoal.task
def part(x):
    shoal.sleep(1e-6 * x)
    return x * random.random()


def main(world):
    futures = [part.on((world.rank + i) % world.size)(i) for i in range(4)]
    numbers = {future: number for number, future in enumerate(futures)}
    ended, others = shoal.wait(futures, return_when=shoal.FIRST_COMPLETED)
    order = [numbers[future] for future in (*ended, *others)]
    return sum(shoal.gather(futures)), world.allgather(order)


if __name__ == "__main__":
    for seed in range(*map(int, sys.argv[1:4])):
        total = shoal.run(main, ranks=3, workers=2, args=[], sim=True, sim_seed=seed,
                          sim_order="uniform")
        print(seed, total, random.random(), numpy and numpy.random.random())
