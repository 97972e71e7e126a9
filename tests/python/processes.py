"""shoal.run(processes=): processes.py CASE."""

import os
import sys
import time

import shoal


class Result:
    """Comes back by its name."""

    def __init__(self, ranks):
        self.ranks = ranks


class Odd(Exception):
    pass


def whole(world):
    assert world.launch == "mpi" or world.size == 1, world.launch
    return Result(world.allgather(world.rank))


async def awaits(world):
    return await world.call((world.rank + 1) % world.size, abs, -3)


def raises(world):
    if world.rank == world.size - 1:
        raise Odd(f"rank {world.rank} of {world.size}")
    world.barrier()


def unsendable(world):
    return lambda: world


def waits(world):
    os.write(1, b"waits %d\n" % os.getpid())  # whole lines, also of two processes
    shoal.sleep(3600)


def spins(world):
    os.write(1, b"waits %d\n" % os.getpid())
    time.sleep(3600)


CASES = {"whole": whole, "raises": raises, "unsendable": unsendable, "waits": waits,
         "spins": spins}

if __name__ == "__main__":
    case = sys.argv[1]
    if case == "twice":
        assert shoal.run(whole, processes=2, args=[]).ranks == [0, 1]
        assert shoal.run(whole, processes=3, args=[], workers=1).ranks == [0, 1, 2]
        assert shoal.run(awaits, processes=2, args=[]) == 3
        print("good")
    elif case == "closure":
        offset = 10
        print(shoal.run(lambda world: world.size + offset, processes=2, args=[]))
    elif case == "unguarded":
        pass
    elif case == "simulated":
        assert shoal.run(lambda world: world.size, processes=3, args=[], sim=True) == 3
        print("good")
    else:
        try:
            print(shoal.run(CASES[case], processes=2, args=[]))
        except Odd as error:
            print("odd:", error, "|", error.__cause__)

if sys.argv[1] == "unguarded":
    shoal.run(whole, processes=2, args=[])
