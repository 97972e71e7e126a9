"""Dask's collections and joblib's loops on tasks of shoal; awaiting futures in asyncio."""

import asyncio

import dask
import joblib

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
    check_dask()  # with the tasks of this rank
    return True


if __name__ == "__main__":
    check_dask()
    check_joblib()
    with shoal.Runtime(workers=2) as runtime:
        asyncio.run(check_asyncio(runtime))
    assert shoal.run(main, ranks=2)
    print("good")
