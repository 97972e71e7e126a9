"""Runtime and Executor: programs with threads of their own."""

import asyncio
import concurrent.futures
import threading

import shoal
from support import refuses


@shoal.task
def square(x):
    shoal.sleep(1e-6)
    return x * x


def total(count):
    return sum(shoal.gather(square.map(range(count))))


def raises():
    raise LookupError("no such record")


def check_threads(runtime):
    results = []

    def client():
        results.append(runtime.submit(total, 10).result())
        results.append(runtime.submit_to(1, total, 10).result())
        refuses(LookupError, "no such record", runtime.submit(raises).result)

    clients = [threading.Thread(target=client) for _ in range(4)]
    for thread in clients:
        thread.start()
    for thread in clients:
        thread.join()
    assert results == [285] * 8, results


async def awaits(runtime):
    """Futures of shoal in a loop of asyncio."""
    first, second = await asyncio.gather(*(wrap(runtime.submit(total, 10)) for _ in range(2)))
    try:
        await runtime.submit(raises)
        raise AssertionError("no exception")
    except LookupError:
        pass
    return first + second + await runtime.submit(abs, -1)


async def wrap(future):
    return await future


def main(world):
    graph = shoal.TaskGraph(lambda key: None)
    graph.fulfill(world.rank)
    return world.allreduce(world.rank, shoal.SUM)


if __name__ == "__main__":
    with shoal.Runtime(ranks=2, workers=2) as runtime:
        check_threads(runtime)
        assert runtime.run(main) == 1
        assert runtime.submit(square, 5).result() == 25
        assert asyncio.run(awaits(runtime)) == 571
        refuses(shoal.CheckError, "there is no rank 2", runtime.submit_to, 2, total)
        assert runtime.is_running
    refuses(shoal.CheckError, "was stopped", runtime.submit, total, 1)
    with shoal.Runtime(workers=1) as first, shoal.Runtime(workers=1) as second:
        assert first.submit(abs, -1).result() + second.submit(abs, -2).result() == 3
    with shoal.Executor(workers=2) as executor:
        assert list(executor.map(abs, [-1, 2, -3])) == [1, 2, 3]
        future = executor.submit(raises)
        assert isinstance(future.exception(), LookupError)
        assert concurrent.futures.wait([executor.submit(abs, 1)]).not_done == set()
    refuses(shoal.ConfigError, "sim", shoal.Runtime, sim=True)
    assert shoal._core._counts() == (0, 0), shoal._core._counts()
    print("good")
