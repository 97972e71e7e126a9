"""Collective operations of objects and of arrays, in the world and in a team."""

import array
import ctypes
import sys

import shoal
from support import refuses

COUNTS = 3, 10000  # elements: large arrays travel in other ways than small ones


def append(a, b):
    """The order counts."""
    return a + b


def check_objects(team):
    me, size = team.rank, team.size
    names = [f"{rank}." for rank in range(size)]
    for root in range(size):
        found = team.reduce(names[me], append, root)
        assert found == ("".join(names) if me == root else None), found
    assert team.reduce(1, shoal.MAX) == (1 if me == 0 else None)
    assert team.scan(names[me], append) == "".join(names[:me + 1])
    assert team.exclusive_scan(names[me], append, "<") == "<" + "".join(names[:me])
    assert team.exclusive_scan(1, shoal.SUM, 5) == 5 + me
    sent = [{"from": me, "to": to} for to in range(size)]
    for values in sent, tuple(sent), iter(sent):
        assert team.alltoall(values) == [{"from": rank, "to": me} for rank in range(size)]
    found = team.reduce_scatter([f"{me}{to}." for to in range(size)], append)
    assert found == "".join(f"{rank}{me}." for rank in range(size)), found
    # The names of local variables do not count.
    functions = (lambda a, b: a + b), (lambda x, y: x + y)
    assert team.allreduce(1, functions[me % 2]) == size


def check_arrays(team):
    me, size = team.rank, team.size
    for kind in "iqfd":
        for count in COUNTS:
            mine = array.array(kind, [me + 1] * count)
            found = team.reduce(mine, shoal.SUM, size - 1)
            expected = array.array(kind, [size * (size + 1) // 2] * count)
            assert found == (expected if me == size - 1 else None)
            assert team.scan(mine, shoal.SUM) == array.array(
                kind, [(me + 1) * (me + 2) // 2] * count)
            assert team.scan(mine, shoal.MIN) == array.array(kind, [1] * count)
            assert list(mine) == [me + 1] * count
            parts = array.array(kind, (me * size + to for to in range(size) for _ in range(count)))
            kept = parts[:]
            assert team.alltoall(parts) == array.array(
                kind, (rank * size + me for rank in range(size) for _ in range(count)))
            assert team.reduce_scatter(parts, shoal.SUM) == array.array(
                kind, [sum(rank * size + me for rank in range(size))] * count)
            assert team.reduce_scatter(parts, shoal.MAX) == array.array(
                kind, [(size - 1) * size + me] * count)
            assert parts == kept
    # All kinds of elements are exchanged, and views have shapes.
    assert list(team.alltoall(array.array("B", range(size)))) == [me] * size
    rows = memoryview(array.array("d", [me] * (2 * size))).cast("B").cast("d", (size, 2))
    assert team.alltoall(rows).tolist() == [[rank, rank] for rank in range(size)]
    assert team.allreduce(rows, shoal.SUM).tolist() == [[sum(range(size))] * 2] * size
    assert team.alltoall(memoryview(array.array("d", [me] * (2 * size)))[::2]).tolist() == list(
        range(size))
    # Formats may name the order of bytes, as those of ctypes do.
    for kind in ctypes.c_int32, ctypes.c_int64, ctypes.c_double:
        mine = memoryview((kind * size)(*[me] * size))
        assert mine.format[0] in "<>", mine.format
        assert team.alltoall(mine).tolist() == list(range(size))
        for given in mine, mine.obj:
            assert list(team.allreduce(given, shoal.SUM)) == [sum(range(size))] * size
        assert list(team.reduce_scatter(mine, shoal.MAX)) == [size - 1]
    assert team.alltoall(memoryview(b"")).tolist() == []


def check_refusals(world):
    other = "__ctype_be__" if sys.byteorder == "little" else "__ctype_le__"
    swapped = memoryview((getattr(ctypes.c_int32, other) * world.size)())
    numbers = array.array("d", [1.0] * world.size)
    refuses(shoal.CheckError, r"reduce\(\): 99 is no rank", world.reduce, 1, shoal.SUM, 99)
    for call in world.allreduce, world.reduce, world.scan, world.reduce_scatter:
        name = call.__name__
        refuses(shoal.CheckError, rf"{name}\(\): \[1\] cannot be called", call, 1, [1])
        refuses(shoal.CheckError, rf"{name}\(\) of an array of elements 'H': give one of signed",
                call, array.array("H", [1] * world.size), shoal.SUM)
    refuses(shoal.CheckError, r"alltoall\(\) of a memoryview of elements '[<>]i': give the array",
            world.alltoall, swapped)
    refuses(shoal.CheckError, r"elements '[<>]i': give one of .* in the byte order of this machine",
            world.allreduce, swapped, shoal.SUM)
    refuses(shoal.CheckError, r"exclusive_scan\(\): 3 cannot be", world.exclusive_scan, 1, 3, 0)
    refuses(shoal.CheckError, r"exclusive_scan\(\) of an array by SUM: give .*numpy.add",
            world.exclusive_scan, numbers, shoal.SUM, 0)
    for call in world.alltoall, lambda values: world.reduce_scatter(values, shoal.SUM):
        refuses(shoal.CheckError, "3 is no list: give a value for each rank", call, 3)
        refuses(shoal.CheckError, rf"got {world.size + 1} values for {world.size} ranks", call,
                [1] * (world.size + 1))
        refuses(shoal.CheckError, "cannot be sent", call, [print] * (world.size - 1) + [world])
        if world.size > 1:
            refuses(shoal.CheckError, rf"of an array of shape \({world.size + 1},\) on "
                    f"{world.size} ranks: give as many rows", call, numbers + numbers[:1])


def main(world):
    team = world.split(world.rank % 2)
    for one in world, team:
        check_objects(one)
        check_arrays(one)
    check_refusals(world)
    world.barrier()
    return True


if __name__ == "__main__":
    if shoal.run(main):  # this process has rank 0
        print("good")
