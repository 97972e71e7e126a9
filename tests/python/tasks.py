"""Tasks and futures, on any number of ranks."""

import asyncio
import contextvars
import sys

import shoal
from support import refuses

where = contextvars.ContextVar("where", default="nowhere")
tries = []
attempts = []
notes = []


@shoal.task
def square(x):
    return x * x


@shoal.task
def total(numbers, more=()):
    return sum(numbers) + sum(more)


@shoal.task
def divide(a, b):
    return a // b


@shoal.task(name="deep", priority=3)
def deep(levels):
    """A task that waits for one that waits for ..."""
    return levels if levels == 0 else deep(levels - 1).result() + 1


@shoal.task
async def polynomial(x):
    return await square(x) + await square(2 * x)


@shoal.task
async def awaits_failure():
    try:
        await divide(1, 0)
    except ZeroDivisionError as error:
        return str(error)


@shoal.task(retries=2)
def third_time():
    rank = shoal.current_world().rank
    tries.append(rank)
    if tries.count(rank) % 3:
        raise OSError("not yet")
    return tries.count(rank)


def note(text):
    notes.append(text)


@shoal.task(retries=2)
def withholds(values, deep):
    """Two attempts that fail, in all that they do."""
    attempts.append((list(values), list(deep["a"]), where.get()))
    values.append("changed")
    deep["a"].append("changed")
    where.set("changed")
    shoal.current_world().send(shoal.current_world().rank, note, "sent")
    shoal.current_world().spawn(note, "spawned")
    if len(attempts) < 3:
        raise OSError("not yet")
    return len(attempts)


@shoal.task(retries=3)
def never(error):
    attempts.append(error)
    raise error("not today")


@shoal.task(retries=3)
def cannot_be_withheld(call):
    attempts.append(call)
    try:
        call()
    except shoal.CheckError:
        pass
    return "not refused"


@shoal.task
def keeps_context(name):
    before = where.get()
    where.set(name)
    shoal.sleep(1e-5)
    return before, where.get()


@shoal.task
def keeps_exception(number):
    """The exception that is being handled belongs to the task, also while others run."""
    try:
        raise KeyError(number)
    except KeyError as error:
        for _ in range(3):
            shoal.yield_now()
            shoal.sleep(1e-5)
            assert sys.exc_info()[1] is error, sys.exc_info()
            assert sys.exc_info()[1].args == (number,)
    assert sys.exc_info() == (None, None, None)
    return number


def waits_in_key(number):
    return square(number).result()


@shoal.task
def waits_below_c(numbers):
    """Python, C, and Python again are on the stack that is parked."""
    return sorted(numbers, key=waits_in_key, reverse=True)


def check_results():
    assert square(7).result() == 49
    assert total([square(1), square(2)], more=(square(3),)).result() == 14
    assert total({"a": 1}.values()).result() == 1
    assert shoal.gather(square.map(range(5))) == [0, 1, 4, 9, 16]
    assert deep(100).result() == 100
    assert polynomial(3).result() == 45
    assert "zero" in awaits_failure().result()
    assert third_time().result() % 3 == 0
    assert waits_below_c([3, 1, 2]).result() == [3, 2, 1]
    assert shoal.gather(keeps_exception.map(range(20))) == list(range(20))


def check_errors():
    future = divide(1, 0)
    try:
        future.result()
        raise AssertionError("no exception")
    except ZeroDivisionError as error:
        names = []
        trace = error.__traceback__
        while trace is not None:
            names.append(trace.tb_frame.f_code.co_name)
            trace = trace.tb_next
        assert "divide" in names, names
    assert isinstance(future.exception(), ZeroDivisionError)
    assert square(1).exception() is None
    try:
        total([square(1), divide(1, 0)]).result()
        raise AssertionError("no exception")
    except ZeroDivisionError:
        pass


def check_retries(world):
    """What an attempt does is withheld until one has succeeded; all begin with the same values."""
    attempts.clear()
    where.set("before")
    values, deep = [1], {"a": [square(2)]}
    assert withholds(values, deep).result() == 3
    while len(notes) < 2:
        shoal.yield_now()
    assert attempts == [([1], [4], "before")] * 3, attempts
    assert (values, notes.count("sent"), notes.count("spawned")) == ([1], 1, 1), notes
    for rank in (world.rank, (world.rank + 1) % world.size):
        error = never.on(rank)(OSError).exception()
        assert type(error) is shoal.RetryError and error.attempts == 4, error
        assert str(error) == "failed 4 times, the last: OSError: not today", error
        assert type(error.last) is OSError
    for kind in (shoal.CheckError, SystemExit):
        attempts.clear()
        refuses(kind, "not today", never(kind).result)
        assert len(attempts) == 1, attempts
    promise = shoal.Promise("an answer")
    calls = (world.barrier, shoal.yield_now, square(1).result, lambda: promise.set_result(1),
             lambda: world.call(0, note, "called"))
    for call in calls:
        attempts.clear()
        refuses(shoal.CheckError, "attempt 1 of 4 of 'cannot_be_withheld|in a handler",
                cannot_be_withheld(call).result)
        assert len(attempts) == 1, attempts
    promise.set_result(2)
    refuses(shoal.CheckError, "no number of retries", shoal.task, print, retries=-1)


def check_context():
    where.set("main")
    futures = keeps_context.map(["a", "b", "c"])
    assert shoal.gather(futures) == [("main", "a"), ("main", "b"), ("main", "c")]
    assert where.get() == "main"


def check_waits(world):
    slow = world.submit(shoal.sleep, 0.05)
    quick = square(2)
    done, others = shoal.wait([slow, quick], return_when=shoal.FIRST_COMPLETED)
    assert quick in done and slow in others
    assert shoal.wait([slow, quick]) == ({slow, quick}, set())
    assert list(shoal.as_completed([quick])) == [quick]
    assert {future.result() for future in shoal.as_completed(square.map(range(4)))} == {0, 1, 4, 9}
    never, failed = shoal.Promise("never"), divide(1, 0)
    futures = [square(1), failed, never.future]
    done, others = shoal.wait(futures, return_when=shoal.FIRST_EXCEPTION)
    assert failed in done and never.future in others
    assert shoal.wait([never.future], timeout=1e-4) == (set(), {never.future})
    never.set_result(None)
    pending = world.submit(shoal.sleep, 0.05)
    try:
        pending.result(timeout=1e-4)
        raise AssertionError("no timeout")
    except TimeoutError:
        pass
    assert pending.result() is None and pending.done()
    promise = shoal.Promise("an answer")
    world.submit(promise.set_result, [42])
    assert promise.future.result() == [42]
    called = []
    square(3).add_done_callback(lambda future: called.append(future.result()))
    world.wait()
    assert called == [9]


def check_locks(world):
    mutex = shoal.Mutex("counter")
    counter = [0]

    def add():
        with mutex:
            value = counter[0]
            shoal.sleep(1e-6)
            counter[0] = value + 1

    shoal.gather(world.submit(add) for _ in range(50))
    assert counter == [50], counter


async def awaits_squares():
    return await asyncio.gather(*map(square, range(4)))


def main(world):
    assert shoal.current_world() is world
    check_results()
    check_errors()
    if world.rank == 0:
        check_retries(world)
    check_context()
    check_waits(world)
    check_locks(world)
    assert asyncio.run(awaits_squares()) == [0, 1, 4, 9]  # also on the only worker
    world.wait()
    return world.rank


if __name__ == "__main__":
    result = shoal.run(main)
    if result is not None:
        print("good", result)
