"""numpy arrays in calls, collective operations and global arrays; lambdas by cloudpickle."""

import threading

import numpy as np

import shoal
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
    constant = large.copy()
    constant.flags.writeable = False
    back = world.call(next_rank, given, constant).result()
    assert (back == constant).all() and not back.flags.writeable
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
    ga = shoal.GlobalArray(100)
    if world.rank == 0:
        ga[:] = np.linspace(0, 1, 100)
        ga.quiet()
    world.barrier()
    assert isinstance(ga[10:20], np.ndarray) and np.allclose(ga[:], np.linspace(0, 1, 100))
    offset = 5
    assert world.call(next_rank, lambda x: x + offset, 2).result() == 7
    return world.size


if __name__ == "__main__":
    if shoal.run(main) is not None:
        print("good")
