"""numpy arrays in calls, collective operations and global arrays; lambdas by cloudpickle."""

import os
import re
import threading
import warnings

import numpy as np

import shoal
from shoal import _arrays, _graph
from support import refuses


class Foreign:
    """An array of another library, which cannot be pickled, but gives its memory by DLPack."""

    def __init__(self, array):
        self.array, self.lock = array, threading.Lock()

    def __dlpack__(self, **options):
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


def doubled(array):
    array *= 2  # the receiver's copy can be written
    return array


def given(array):
    return array


def asks_for_huge_pages(array):
    """Whether the program has asked for huge pages in the middle of the array's memory."""
    address, found = array.ctypes.data + array.nbytes // 2, False
    with open("/proc/self/smaps") as lines:
        for line in lines:
            words = line.split()
            if re.fullmatch("[0-9a-f]+-[0-9a-f]+", words[0]):
                begin, end = (int(part, 16) for part in words[0].split("-"))
                found = begin <= address < end
            elif found and words[0] == "VmFlags:":
                return "hg" in words
    return False


def check_huge_pages(world, next_rank):
    if os.path.exists("/sys/kernel/mm/transparent_hugepage"):
        large = np.ones(1 << 20)
        assert world.call(next_rank, asks_for_huge_pages, large).result()
    world.barrier()


def shape_of(array, *, flip):
    return array.T.shape if flip else array.shape


def main(world):
    next_rank = (world.rank + 1) % world.size
    for dtype in (np.float64, np.float32, np.int16, np.complex128, bool):
        array = np.arange(12).reshape(3, 4).astype(dtype)
        back = world.call(next_rank, np.transpose, array).result()
        assert back.dtype == dtype and (back == array.T).all()
    large = np.random.default_rng(world.rank).random((300, 400))
    assert (world.call(next_rank, doubled, large).result() == 2 * large).all()
    check_huge_pages(world, next_rank)
    constant = large.copy()
    constant.flags.writeable = False
    back = world.call(next_rank, given, constant).result()
    assert (back == constant).all() and not back.flags.writeable
    assert world.launch != "embedded" or np.shares_memory(back, constant), "ranks share it"
    view, total = large[:], large.sum()
    view.flags.writeable = False  # but the array that it is a part of may change
    future = world.call(next_rank, np.sum, view)
    kept = large.copy()
    large[:] = 0
    assert abs(future.result() - total) < 1e-6
    large[:] = kept
    assert world.call(next_rank, shape_of, large[::2, ::3], flip=True).result() == (134, 150)
    got = world.call(next_rank, given, Foreign(kept)).result()
    assert type(got) is np.ndarray and (got == kept).all()
    structured = np.zeros(3, [("x", "i4"), ("y", "f8")])
    assert world.call(next_rank, len, structured).result() == 3
    records = world.allgather(np.full(2000, world.rank))
    assert [int(part[0]) for part in records] == list(range(world.size))
    assert world.broadcast(large, root=0).shape == (300, 400)
    ones = np.ones((100, 100))
    assert (world.allreduce(ones, shoal.SUM) == world.size).all() and (ones == 1).all()
    refuses(shoal.CheckError, "signed integers", world.allreduce, np.ones(3, np.uint8), shoal.SUM)
    check_collectives(world)
    ga = shoal.GlobalArray(100)
    if world.rank == 0:
        ga[:] = np.linspace(0, 1, 100)
        ga.quiet()
    world.barrier()
    assert isinstance(ga[10:20], np.ndarray) and np.allclose(ga[:], np.linspace(0, 1, 100))
    check_parts(world, next_rank)
    check_integers(world)
    offset = 5
    assert world.call(next_rank, lambda x: x + offset, 2).result() == 7
    return world.size


def check_collectives(world):
    me, size = world.rank, world.size
    ones = np.ones((100, 100))
    found = world.reduce(ones, shoal.SUM, 0)
    assert (found == size).all() if me == 0 else found is None
    assert (world.scan(ones, shoal.SUM) == me + 1).all() and (ones == 1).all()
    assert (world.scan(ones[::2], np.add) == me + 1).all()
    assert (world.exclusive_scan(ones, np.add, 0 * ones) == me).all()
    blocks = np.full((2 * size, 3), me, dtype=np.complex128)
    back = world.alltoall(blocks)
    assert back.shape == blocks.shape and back.dtype == blocks.dtype
    assert (back[:, 0] == np.repeat(np.arange(size), 2)).all()
    assert (world.alltoall(np.arange(2 * size)[::2]) == 2 * me).all()
    part = world.reduce_scatter(np.ones((2 * size, 1000)), shoal.SUM)
    assert part.shape == (2, 1000) and (part == size).all()
    assert (world.reduce_scatter(np.ones((size, 3)), np.add) == size).all()
    times = np.zeros(size, "M8[s]")
    refuses(shoal.CheckError, "memory is not shared", world.alltoall, times)
    refuses(shoal.CheckError, "array of objects", world.alltoall, np.array([None] * size))
    refuses(shoal.CheckError, "not contiguous", world.scan, np.ones((2, 3)).T, shoal.SUM)
    assert world.alltoall(list(times))[0] == times[0]


def check_warning():
    """A Python that compiles `ga[i:j] += x` in another way is told of."""
    known = _arrays._COPY
    _arrays._COPY = None
    _arrays._warn_of_python.cache_clear()
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            _arrays._warn_of_python()
            _arrays._warn_of_python()
        assert [one.category for one in caught] == [RuntimeWarning], caught
    finally:
        _arrays._COPY = known


def check_parts(world, next_rank):
    """`ga[i:j] += x` of all ranks at once loses nothing."""
    world.barrier()
    for dtype in (int, float):
        ga = shoal.GlobalArray(5 * world.size, dtype, name="sums")
        for _ in range(50):
            ga[1:-1] += np.arange(5 * world.size - 2)
            ga[0:2] -= 1
        ga.quiet()
        world.barrier()
        expected = 50 * world.size * np.array([-1, -1, *range(1, 5 * world.size - 2), 0])
        assert (ga[:] == expected).all(), ga[:]
        world.barrier()
        part = ga[0:3]
        assert type(part) is type(world.call(next_rank, given, part).result()) is np.ndarray
        for bad in (np.ones((1, 3), dtype), np.ones((3, 1), dtype), np.array(1, dtype)):
            refuses(shoal.CheckError, "for 3 elements: give one of one dimension",
                    ga.__setitem__, slice(0, 3), bad)
        for bad in (np.ones(3, complex), np.ones(3, "complex64")):
            refuses(TypeError, "'sums' of .* is no ", ga.__setitem__, slice(0, 3), bad)
        refuses(TypeError, "is no ", ga.__setitem__, 0, np.complex64(1))
        refuses(TypeError, "is no ", ga.fetch_add, 0, np.ones(1))
        if world.rank == 0:
            check_one_writer(ga, dtype)
        world.barrier()
    refuses(TypeError, "'numpy.float64'", shoal.GlobalArray(3, int).__setitem__, slice(0, 3),
            np.ones(3))


def check_one_writer(ga, dtype):
    """A part is an array of the program, which may do anything else with it."""
    part = ga[0:4]
    part += 1
    part[0] = 7
    ga[0:4] = part
    ga.quiet()
    assert list(ga[0:4]) == list(part)
    part[:] = 0
    for count in range(3):
        part += 1
        ga[0:4] = part
        ga.quiet()
        assert list(ga[0:4]) == [count + 1] * 4
    ga[0:4] *= 5
    ga.quiet()
    assert list(ga[0:4]) == [15] * 4
    ga[2:2] += 1
    ga[0:4] = np.asfortranarray(np.arange(8, dtype=dtype))[::2]
    ga[4:5] = np.full(1, 3, "uint64")
    ga.quiet()
    assert list(ga[0:5]) == [0, 2, 4, 6, 3]
    refuses(TypeError, "Cannot cast|no real", add_part, ga, 1j)
    refuses(ValueError, "broadcast", add_part, ga, np.ones(3, dtype))
    assert list(ga[0:5]) == [0, 2, 4, 6, 3]


def check_integers(world):
    """Those of numpy are taken wherever an integer is."""
    one, rank = np.int64(1), np.int32(world.rank)
    here = [(rank, "x")]
    assert world.call(rank, given, 3).result() == world.broadcast(3, root=np.int8(0))
    assert shoal.task(given, priority=one, retries=one, rank=rank)(5).result() == 5
    events, graph = shoal.Events(), shoal.TaskGraph(print, one, rank=lambda key: rank,
                                                    priority=lambda key: one)
    events.fire(rank, "x", 7)
    assert events.wait(here)[0].value == 7
    events.submit(here, given, priority=one, retries=one)
    flow = shoal.Flow(tasks_max=np.int64(100))
    total = flow.data(1, owner=np.int64(0))
    flow.task(lambda total: total + 1, retries=one, priority=one, total=shoal.read_write).on(
        np.int64(0))(total)
    assert flow.get(total) == 2
    shoal.Cache(given, items_max=one), shoal.Semaphore(one).release(one)
    assert len(shoal.GlobalArray(np.int64(5))) == 5
    assert world.split(one, key=rank).size == world.size
    events.fire(rank, "x")
    refuses(shoal.CheckError, "is no number of dep", graph.fulfill, 1, count=np.float64(1))
    for number, same in ((np.int64(1), 1), (np.float32(0.5), 0.5), (np.str_("a"), "a"),
                         (np.bool_(True), 1), ((np.int32(2), 0), (2, 0))):
        assert _graph.encode_key(number) == _graph.encode_key(same), number


def add_part(ga, value):
    ga[0:4] += value


if __name__ == "__main__":
    check_warning()
    if shoal.run(main) is not None:
        print("good")
