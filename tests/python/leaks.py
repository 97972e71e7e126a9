"""Tasks, futures, calls and exceptions leave no object behind."""

import gc
import sys

import shoal


class Thing:
    """Counts its instances."""

    alive = 0

    def __init__(self):
        Thing.alive += 1

    def __del__(self):
        Thing.alive -= 1


def use(thing):
    return thing


def raises(thing):
    raise ValueError("no")


def main(world):
    count = int(world.args[1])
    for start in range(0, count, 1000):
        futures = [world.submit(use, Thing()) for _ in range(1000)]
        shoal.gather(futures)
        for future in [world.submit(raises, Thing()) for _ in range(10)]:
            assert isinstance(future.exception(), ValueError)
        for future in [world.call(world.rank, len, bytearray(100)) for _ in range(10)]:
            assert future.result() == 100
    world.spawn(use, Thing())
    world.wait()


if __name__ == "__main__":
    shoal.run(main, args=["1000"])
    gc.collect()
    before = sys.getallocatedblocks()
    shoal.run(main)
    gc.collect()
    assert Thing.alive == 0, Thing.alive
    grown = sys.getallocatedblocks() - before
    assert grown < 1000, grown
    assert shoal._core._counts() == (0, 0), shoal._core._counts()
    print("good")
