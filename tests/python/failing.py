"""Programs that fail: failing.py CASE."""

import sys
import time

import shoal


def raises(world):
    if world.rank == world.size - 1:
        raise LookupError("no more bananas")
    world.barrier()


def task_raises(world):
    def breakfast():
        raise LookupError("no more bananas")
    if world.rank == world.size - 1:
        world.spawn(breakfast)
    try:
        world.wait()
    except shoal.TaskError as error:
        assert error.rank == world.size - 1 and error.task.endswith("breakfast"), vars(error)
        assert "LookupError: no more bananas" in error.text and "in breakfast" in error.text
        # In one piece: ranks of a process share the stream.
        print(f"known on {world.rank}\n", end="", flush=True)
        raise


def dropped(world):
    """An error of a future that nobody has taken fails the world."""
    def breakfast():
        raise LookupError("no more bananas")
    if world.rank == 0:
        world.submit(breakfast)
    world.wait()


def breakfast():
    raise LookupError("no more bananas")


def call_dropped(world):
    """As dropped(), of a call whose future goes before the answer comes."""
    if world.rank == 0:
        world.call(world.size - 1, breakfast)
    world.wait()


def answer_dropped(world):
    """The same, of a future that goes when the answer is there."""
    if world.rank == 0:
        future = world.call(world.size - 1, breakfast)
        while not future.done():
            shoal.sleep(1e-5)
        del future
    world.wait()


def stuck(world):
    """Nothing can fulfil the promise, and the task names it."""
    promise = shoal.Promise("the answer")
    def asks():
        promise.future.result()
    world.spawn(asks)
    world.wait()


def stuck_event(world):
    """As stuck(), of a task of events."""
    promise = shoal.Promise("the answer")
    def asks(events):
        promise.future.result()
    shoal.Events().submit([], asks)
    world.wait()


def asks_there():
    promise = shoal.Promise("the answer")
    promise.future.result()


def stuck_call(world):
    """As stuck(), of a call on another rank: named from Python 3.12 on."""
    if world.rank == 0:
        world.call(world.size - 1, asks_there).result()


def gets(future):
    return future.result()  # asks


async def answer_of(future):
    return await future  # awaits


def stuck_lines(world):
    """As stuck(): the report has the lines where the tasks wait."""
    promise, key = shoal.Promise("the answer"), shoal.Mutex("the key")

    def asks():
        with key:
            gets(promise.future)

    def locks():
        while key.try_lock():  # asks() comes first
            key.unlock()
            shoal.yield_now()
        with key:  # locks
            pass

    async def awaits():
        await answer_of(promise.future)
    if world.rank == 0:
        for function in asks, locks, awaits:
            world.spawn(function)
    world.wait()


def stuck_main(world):
    """As stuck_lines(), of a main function in an operation that others do not begin."""
    if world.rank == 0:
        world.barrier()  # main


def computes():
    end = time.monotonic() + 3
    while time.monotonic() < end: pass  # computes


def slow(world):
    """Goes on after a while, in which --stall-report reports it: its thread runs no Python."""
    if world.rank == 0:
        world.spawn(computes)
        late = shoal.Promise("late")
        try:
            late.future.result(3)  # slow
        except TimeoutError:
            pass
    world.barrier()  # meets


def handler_waits(world):
    world.send(0, shoal.sleep, 1e-6)
    world.wait()


def handler_gets(world):
    future = world.submit(int)
    shoal.sleep(1e-5)
    world.send(0, lambda: future.result())
    world.wait()


def exits(world):
    sys.exit(3)


def cancels(world):
    never = shoal.Promise("never")

    def waits():
        try:
            never.future.result()
        except Exception as error:
            print("not refused", repr(error), flush=True)
    world.submit(waits)
    shoal.sleep(1e-4)
    world.cancel("enough")
    world.wait()


if __name__ == "__main__":
    shoal.run(globals()[sys.argv[1]])
    print("not refused")
