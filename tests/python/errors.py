"""Exceptions of shoal keep their classes through the library, on this rank and from others."""

import shoal
from support import refuses

ERRORS = [shoal.Error("a"), shoal.CheckError("b"), shoal.ConfigError("c"),
          shoal.TransportError("d"), shoal.DecodeError("e"), shoal.BrokenPromise("f"),
          shoal.RemoteError("g"), shoal.StuckError("h"),
          shoal.TaskError("i", 3, "the task", "its text"), LookupError("j")]


def raises(error):
    raise error


def caught(future):
    try:
        future.result()
    except Exception as error:
        return error
    raise AssertionError("no exception")


def of_python(world):
    for error in ERRORS:
        for future in (world.submit(raises, error),
                       world.call((world.rank + 1) % world.size, raises, error)):
            found = caught(future)
            assert type(found) is type(error), repr(found)
            if isinstance(error, shoal.TaskError):
                assert (found.rank, found.task, found.text) == (3, "the task", "its text")
            else:
                assert str(found) == str(error), repr(found)


def of_the_library(world):
    promise = shoal.Promise("the answer")
    future = promise.future
    del promise
    refuses(shoal.BrokenPromise, "the answer", future.result)
    fulfilled = shoal.Promise("twice")
    fulfilled.set_result(1)
    refuses(shoal.CheckError, "fulfilled already", fulfilled.set_result, 2)
    late = shoal.Promise("late")
    refuses(TimeoutError, "0.001", late.future.result, 0.001)
    late.set_result(None)


def catches(world):
    """A failure that all main functions catch: their values are kept. The object
    ends with them, which waits for all work once more."""
    shoal.Events("unused")
    if world.rank == 0:
        world.spawn(raises, LookupError("no more bananas"))
    try:
        world.wait()
    except shoal.TaskError as error:
        return f"saved after {error.text.splitlines()[-1]}"


def main(world):
    of_python(world)
    of_the_library(world)
    world.barrier()
    return True


if __name__ == "__main__":
    is_first = shoal.run(main)  # this process has rank 0
    saved = shoal.run(catches)
    assert saved == ("saved after LookupError: no more bananas" if is_first else None), saved
    if is_first:
        print("good")
