"""Futures of concurrent.futures that threads of the program fulfil: foreign.py [CASE]."""

import concurrent.futures
import gc
import sys
import threading

import shoal
from support import refuses


def check_waits(world, pool):
    """Everything waits for threads that have not answered: nothing is stuck."""
    begin = threading.Event()

    def answers(x):
        assert begin.wait(60)
        return x * x

    futures = [shoal.wrap_future(pool.submit(answers, x)) for x in range(3)]
    waiting = [world.submit(abs, future) for future in futures]
    threading.Timer(0.1, begin.set).start()  # long after a StuckError would have been raised
    assert shoal.gather(waiting) == [0, 1, 4]
    assert shoal.wait(futures) == (set(futures), set())
    assert shoal.wrap_future(futures[0]) is futures[0]

    async def awaits():
        return await shoal.wrap_future(pool.submit(abs, -3)) + await futures[2]

    assert world.submit(awaits).result() == 7


def check_answers(world, pool):
    def fails():
        raise LookupError("no such record")

    refuses(LookupError, "no such record", shoal.wrap_future(pool.submit(fails)).result)
    ended = concurrent.futures.Future()
    ended.set_result(5)
    assert shoal.wrap_future(ended).result() == 5
    cancelled = concurrent.futures.Future()
    cancelled.cancel()
    refuses(concurrent.futures.CancelledError, "", shoal.wrap_future(cancelled).result)
    refuses(shoal.CheckError, "wrap_future..: 3 is no future of concurrent.futures",
            shoal.wrap_future, 3)
    refuses(shoal.CheckError, "its name is 3", shoal.wrap_future, concurrent.futures.Future(), 3)
    for call in (shoal.wait, shoal.as_completed):
        refuses(shoal.CheckError, "no future of shoal: .*or a shoal.wrap_future",
                call, [concurrent.futures.Future()])
    with shoal.WorldExecutor() as executor:
        assert shoal.wrap_future(executor.submit(abs, -2)).result() == 2
    if world.launch == "simulated":
        return
    waits = concurrent.futures.Future()
    future = shoal.wrap_future(waits, "the answer")
    refuses(TimeoutError, "0.001 seconds", future.result, 0.001)
    threading.Timer(0.01, waits.cancel).start()
    refuses(concurrent.futures.CancelledError, "", future.result)
    forgotten = shoal.wrap_future(concurrent.futures.Future())  # its thread has died, say
    gc.collect()
    refuses(shoal.BrokenPromise, "set_result.. or set_exception.. by a thread", forgotten.result)


def main(world):
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        check_waits(world, pool)
        check_answers(world, pool)
    return True


def outlasts(world):
    """Its main function has returned: the run goes on until the threads have answered."""
    waits = concurrent.futures.Future()
    future = shoal.wrap_future(waits)
    future.add_done_callback(lambda future: print("got", future.result()))
    threading.Timer(0.1, waits.set_result, [world.rank]).start()


late = []


def fails(world):
    """The world fails: nobody waits for the threads, which answer later."""
    late.append(concurrent.futures.Future())
    future = shoal.wrap_future(late[-1])
    world.submit(future.result)
    raise LookupError("no more bananas")


def never(world):
    waits = concurrent.futures.Future()
    late.append(waits)
    shoal.wrap_future(waits, "the answer of the instrument").result()  # asks


def in_a_runtime():
    with shoal.Runtime(workers=1) as runtime, concurrent.futures.ThreadPoolExecutor(2) as pool:
        runtime.submit(lambda: check_waits(shoal.current_world(), pool)).result()


if __name__ == "__main__":
    case = sys.argv[1] if len(sys.argv) > 1 else ""
    if case == "outlasts":
        shoal.run(outlasts, ranks=2, args=[])
    elif case == "fails":
        refuses(LookupError, "no more bananas", shoal.run, fails, ranks=2, args=[])
        for future in late:
            future.set_result(3)
        print("good")
    elif case == "runtime":
        in_a_runtime()
        print("good")
    elif case == "never":
        shoal.run(never, args=sys.argv[2:])
    elif shoal.run(main) is not None:
        print("good")
