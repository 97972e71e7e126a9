"""Dask's collections and joblib's loops on tasks of shoal; awaiting futures in asyncio."""

import asyncio
import sys

import dask
import dask.array
import dask.bag
import joblib
import numpy

import shoal
from support import refuses


@dask.delayed
def increment(x):
    return x + 1


@dask.delayed
def fail():
    raise LookupError("no such record")


def check_dask():
    total = dask.delayed(sum)([increment(i) for i in range(10)])
    nested = dask.delayed({"a": [total, 1]})
    assert dask.compute(total, nested, scheduler=shoal.dask_get) == (55, {"a": [55, 1]})
    assert total.compute(scheduler=shoal.dask_get, workers=2) == 55
    refuses(LookupError, "no such record", fail().compute, scheduler=shoal.dask_get)
    refuses(TypeError, "num_workers", total.compute, scheduler=shoal.dask_get, num_workers=2)


def check_collections():
    """Arrays with chunks of numpy, bags, and delayed functions over both."""
    table = numpy.arange(600.0).reshape(20, 30)
    array = dask.array.from_array(table, chunks=(7, 11))
    product = (array @ array.T + 1).rechunk((5, 20))
    means = (array - array.mean(axis=0)).std(axis=1)
    words = dask.bag.from_sequence(["shoal", "fish", "shoal", "net"] * 10, npartitions=4)
    counts = words.map(str.upper).frequencies()
    longest = words.fold(lambda a, b: max(a, b, key=len))
    largest = dask.delayed(max)(product.max(), means.sum())
    parts = [dask.delayed(numpy.sum)(part) for part in array.to_delayed().ravel()]
    results = dask.compute(product, means, counts, longest, largest, sum(parts),
                           scheduler=shoal.dask_get)
    expected = table @ table.T + 1
    deviations = (table - table.mean(axis=0)).std(axis=1)
    assert numpy.allclose(results[0], expected) and numpy.allclose(results[1], deviations)
    assert dict(results[2]) == {"SHOAL": 20, "FISH": 10, "NET": 10} and results[3] == "shoal"
    assert numpy.allclose(results[4:], [expected.max(), table.sum()])
    with dask.config.set(scheduler=shoal.dask_get):
        assert array.sum().compute() == table.sum()
        refuses(ZeroDivisionError, "by zero", words.map(lambda word: 1 // 0).compute)
        refuses(ValueError, "of block", array.map_blocks(fail_in_block, dtype=float).compute)


def fail_in_block(block, block_info=None):
    if block_info and block_info[0]["chunk-location"] == (2, 1):
        raise ValueError("no inverse of block (2, 1)")
    return block


def halve(x):
    if x % 2:
        raise ValueError(f"{x} is odd")
    return x // 2


def check_joblib():
    shoal.register_joblib()
    with joblib.parallel_config("shoal", n_jobs=2):
        results = joblib.Parallel()(joblib.delayed(halve)(2 * i) for i in range(50))
        assert results == list(range(50))
        refuses(ValueError, "3 is odd", joblib.Parallel(), [joblib.delayed(halve)(3)])
    assert joblib.Parallel(n_jobs=-1, backend="shoal")(
        joblib.delayed(pow)(i, 2) for i in range(5)) == [0, 1, 4, 9, 16]


async def check_asyncio(runtime):
    futures = [runtime.submit(halve, 2 * i) for i in range(5)]
    assert await asyncio.gather(*futures) == list(range(5))
    assert await asyncio.wait_for(runtime.submit(halve, 4), 60) == 2


def main(world):
    """With the tasks of each rank."""
    check_dask()
    if world.rank == 0:
        check_collections()
    return True


if __name__ == "__main__":
    if len(sys.argv) == 1:
        check_dask()
        check_collections()
        check_joblib()
        with shoal.Runtime(workers=2) as runtime:
            asyncio.run(check_asyncio(runtime))
    assert shoal.run(main, ranks=2)
    print("good")
