"""Runtime and Executor: programs with threads of their own."""

import asyncio
import concurrent.futures
import threading
import time

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


async def awaits_square(x):
    return await square(x)


def yields():
    yield 1


def check_executor():
    with shoal.Executor(workers=2) as executor:
        assert list(executor.map(abs, [-1, 2, -3])) == [1, 2, 3]
        failed = executor._runtime.submit(raises)
        for future in (executor.submit(raises), executor.submit(abs, failed)):
            assert isinstance(future.exception(), LookupError)
        assert concurrent.futures.wait([executor.submit(abs, 1)]).not_done == set()
        assert executor.submit(awaits_square, 4).result() == 16
        assert executor.submit(square, 5).result() == 25
        assert shoal.gather([executor.submit(square, i) for i in range(3)]) == [0, 1, 4]
        refuses(shoal.CheckError, "Executor.submit..: yields is a generator", executor.submit,
                yields)
    # One call runs, and the other is cancelled before its end.
    executor, runs, cancelled = shoal.Executor(workers=1), threading.Event(), threading.Event()

    def holds_the_worker():
        runs.set()
        assert cancelled.wait(60)

    first, second = executor.submit(holds_the_worker), executor.submit(abs, -1)
    second.add_done_callback(lambda future: cancelled.set())
    runs.wait()
    executor.shutdown(cancel_futures=True)
    assert second.cancelled() and first.result() is None


def check_makes(runtime):
    """No main function runs, with which they would end."""
    for make in (shoal.Events, shoal.Flow, shoal.Object, shoal.Counter, shoal.GlobalVar,
                 lambda: shoal.TaskGraph(print), lambda: shoal.current_world().split(0)):
        refuses(shoal.CheckError, "cannot be made here: make it in the main function",
                runtime.submit(make).result)


def check_wrong_options():
    for wrong, text in (({"ranks": "x"}, "'x' is no number of ranks"),
                        ({"ranks": 0}, "0 is no number of ranks"),
                        ({"workers": -1}, "-1 is no number of workers"),
                        ({"name": 5}, "its name is 5: give a str")):
        refuses(shoal.CheckError, f"shoal.Runtime..: {text}", shoal.Runtime, **wrong)
    refuses(shoal.CheckError, "'x' is no number of workers", shoal.Executor, "x")
    refuses(shoal.ConfigError, "0 is no number of processes", shoal.run, square, processes=0)
    refuses(shoal.ConfigError, "shoal.Runtime.. has no option 'wrokers': did you mean 'workers'",
            shoal.Runtime, wrokers=1)


def check_stop_in_a_task():
    """Refused: the work would wait for its own end."""
    runtime = shoal.Runtime(workers=2, name="its own")

    def enters():
        with runtime:
            pass

    def enters_on_each_rank(world):
        enters()

    text = "stop.. of shoal.Runtime 'its own' was called in a task.* by submit"
    refuses(shoal.CheckError, text, runtime.submit(runtime.stop).result)
    refuses(shoal.CheckError, text, runtime.submit(enters).result)
    assert runtime.is_running and runtime.submit(square, 3).result() == 9
    refuses(shoal.CheckError, text, runtime.run, enters_on_each_rank)
    runtime.stop()


def check_last_reference_in_a_task():
    """The runtime ends on a thread of its own, when its work has ended, and tells its error."""
    begin, ended, told = threading.Event(), [], []

    def drops(box, then):
        assert begin.wait(60)
        box.clear()
        ending.extend(thread for thread in threading.enumerate() if "end of" in thread.name)
        ended.append(square(2).result())
        then()

    def fails():
        shoal.current_world().spawn(raises)

    usual, threading.excepthook = threading.excepthook, lambda error: told.append(error.exc_value)
    for then in (lambda: None, fails):
        box, ending = [shoal.Runtime(workers=2)], []
        box[0].submit(drops, box, then)
        begin.set()
        while not ending:
            time.sleep(0.001)
        ending[0].join()
        begin.clear()
    threading.excepthook = usual
    assert ended == [4, 4] and len(told) == 1, (ended, told)
    assert isinstance(told[0], shoal.TaskError) and "no such record" in str(told[0])


def check_stops_of_threads():
    """All return when the work has ended."""
    runtime, ended = shoal.Runtime(workers=2), []
    runtime.submit(lambda: (shoal.sleep(0.01), ended.append(True)))
    threads = [threading.Thread(target=runtime.stop) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert ended


def says_good(box):
    box.clear()
    time.sleep(0.1)
    print("good")


def main(world):
    graph = shoal.TaskGraph(lambda key: None)
    graph.fulfill(world.rank)
    return world.allreduce(world.rank, shoal.SUM)


def check_guide():
    # [runtime]
    with shoal.Runtime(ranks=2, workers=4) as runtime:
        future = runtime.submit(square, 3)  # from any thread
        total = runtime.run(main)  # on every rank
    # [/runtime]
    assert future.result() == 9 and total == 1


if __name__ == "__main__":
    check_guide()
    with shoal.Runtime(ranks=2, workers=2) as runtime:
        check_threads(runtime)
        assert runtime.run(main) == 1
        check_makes(runtime)
        assert runtime.submit(square, 5).result() == 25
        assert asyncio.run(awaits(runtime)) == 571
        refuses(shoal.CheckError, "2 is no rank", runtime.submit_to, 2, total)
        assert runtime.is_running
    refuses(shoal.CheckError, "was stopped", runtime.submit, total, 1)
    with shoal.Runtime(workers=1) as first, shoal.Runtime(workers=1) as second:
        assert first.submit(abs, -1).result() + second.submit(abs, -2).result() == 3
    check_executor()
    check_wrong_options()
    check_stop_in_a_task()
    check_last_reference_in_a_task()
    check_stops_of_threads()
    refuses(shoal.ConfigError, "sim", shoal.Runtime, sim=True)
    assert shoal._core._counts() == (0, 0), shoal._core._counts()
    # They end with the interpreter, after their work: one that is known, and one that is dropped.
    known, dropped = shoal.Runtime(workers=1), [shoal.Runtime(workers=1)]
    known.submit(print, "good")
    dropped[0].submit(says_good, dropped)
