"""Sums squares that the ranks compute."""

import shoal


@shoal.task
def square(x):
    return x * x


def main(world):
    """Runs on every rank."""
    if world.rank != 0:
        return None
    futures = [square.on(i % world.size)(i) for i in range(10)]
    return sum(shoal.gather(futures))


if __name__ == "__main__":
    total = shoal.run(main, ranks=2)
    if total is not None:  # this process has rank 0
        print("total", total)
