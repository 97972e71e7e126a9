"""The number below 1000 from which it takes most steps to 1, in blocks that any rank works on."""

import shoal


def steps(n):
    """Number of steps to 1: to n / 2 from an even n, to 3 n + 1 from an odd one."""
    count = 0
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        count += 1
    return count


# [main]
@shoal.task
def longest(first, end):
    return max((steps(n), n) for n in range(first, end))


def main(world):
    if world.rank != 0:
        return None
    blocks = [longest.on(i % world.size)(first, first + 111)
              for i, first in enumerate(range(1, 1000, 111))]
    return max(shoal.gather(blocks))


if __name__ == "__main__":
    result = shoal.run(main)
    if result is not None:  # this process has rank 0
        print("%d steps from %d" % result)
# [/main]
