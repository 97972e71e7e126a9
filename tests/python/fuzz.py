"""Public calls with arbitrary arguments, by hypothesis: fuzz.py SECONDS.

Each example is a simulated run of two ranks, in which one rank makes some calls. Exceptions are
what a wrong call may end in; a crash of the interpreter, a hang, an exception without a text, and
one that speaks of the arguments of the extension module are not."""

import array
import os
import sys
import time
import warnings

import numpy as np
from hypothesis import HealthCheck, Phase, given, settings, strategies as st

import shoal

warnings.simplefilter("ignore")


class Hostile:
    """Whatever is asked of it fails."""

    def fail(self, *arguments):
        raise LookupError("hostile")

    __eq__ = __hash__ = __index__ = __bool__ = __len__ = __iter__ = __float__ = fail
    __reduce_ex__ = __call__ = __getitem__ = __repr__ = fail


def echo(*arguments, **keywords):
    return arguments


def raises(*arguments):
    raise OSError("as asked")


def waits(*arguments):
    shoal.sleep(1e-3)


async def coroutine(*arguments):
    await shoal.current_world().submit(echo, 1)


class Bank(shoal.Object):
    def deposit(self, amount):
        return amount


OBJECTS = [echo, raises, waits, coroutine, print, len, shoal.task(echo), Hostile, Bank, object()]
NUMBERS = st.sampled_from([0, 1, -1, 2, 99, 2**31, -2**31, 2**63, 2**70, True])
ARRAYS = st.sampled_from([
    lambda: np.arange(4.0), lambda: np.zeros((2, 3), "i4")[:, ::2], lambda: np.zeros(0),
    lambda: np.array(["a", None], object), lambda: np.arange(3, dtype=">i8"), lambda: np.float32(1),
    lambda: array.array("d", [1, 2]), lambda: bytearray(3), lambda: memoryview(b"abcdef")[::2],
    lambda: memoryview(bytearray(8)).cast("d"), lambda: np.zeros(2, "i4,f8"),
    lambda: np.datetime64("2020-01-01")])
values = st.one_of(
    NUMBERS, st.floats(), st.text(max_size=5), st.binary(max_size=5), st.none(),
    st.sampled_from(OBJECTS), st.builds(Hostile), st.builds(lambda make: make(), ARRAYS),
    st.lists(st.one_of(NUMBERS, st.text(max_size=3)), max_size=3),
    st.dictionaries(st.text(max_size=2), NUMBERS, max_size=2),
    st.tuples(st.one_of(NUMBERS, st.text(max_size=2)), st.text(max_size=2)))
arguments = st.lists(values, max_size=4)
keywords = st.dictionaries(
    st.sampled_from(["name", "rank", "priority", "retries", "timeout", "indegree", "owner", "value",
                     "count", "dtype", "size", "team", "left", "persistent"]), values, max_size=2)

WORLD = ["submit", "spawn", "call", "send", "send_task", "allgather", "gather", "broadcast",
         "allreduce", "reduce", "scan", "exclusive_scan", "alltoall", "reduce_scatter", "split",
         "barrier", "flush", "wait", "cancel", "now"]
NAMES = ["Actor", "Cache", "Counter", "Deadline", "Events", "Executor", "Flow", "GlobalArray",
         "GlobalVar", "Mutex", "Object", "Promise", "Runtime", "Semaphore", "Task", "TaskGraph",
         "Timer", "TraceReport", "WorldExecutor", "as_completed", "current_world", "dask_get",
         "flow_task", "gather", "register_joblib", "run", "sleep", "task", "wait", "wrap_future",
         "yield_now"]
METHODS = ["result", "exception", "add_done_callback", "done", "set_result", "set_exception",
           "future", "lock", "unlock", "try_lock", "acquire", "release", "fulfill", "send",
           "send_all", "fire", "fire_after", "fire_object", "fire_when_readable", "fire_on_signal",
           "fire_when_memory_above", "locked", "submit", "wait", "wait_any", "cancel", "remove",
           "get", "set", "refresh", "add", "value", "quiet", "owner", "fetch_add", "data", "tiles",
           "task", "migrate", "invalidate", "on", "map", "with_options", "__getitem__",
           "__setitem__", "__iter__", "__enter__", "__exit__", "__call__", "create", "shutdown",
           "fence", "deposit", "__len__", "__reduce_ex__"]
steps = st.lists(st.tuples(st.one_of(st.sampled_from(WORLD), st.sampled_from(NAMES),
                                     st.sampled_from(METHODS)), arguments, keywords,
                           st.integers(0, 9)), min_size=1, max_size=8)


def take(function, arguments, keywords):
    """Returns the result of a call, or None if it is refused."""
    try:
        result = function(*arguments, **keywords)
        if hasattr(type(result), "__next__"):
            result = next(result, None)
        return result
    except shoal.CancelledError:
        raise
    except Exception as error:
        if isinstance(error, shoal.Error):
            assert str(error), f"{error!r} says nothing"
        if not type(function).__name__.startswith("nb_"):  # wait(), say, which takes no argument
            assert "incompatible function arguments" not in str(error), error
        return None


def make_calls(world, calls):
    made = [world, world.submit(echo, 1), shoal.Promise()]
    for name, given_arguments, given_keywords, place in calls:
        # Objects that were made before are arguments, too.
        given_arguments = [made[place % len(made)] if argument is None else argument
                           for argument in given_arguments]
        target = shoal if name in NAMES else world if name in WORLD else made[place % len(made)]
        function = getattr(target, name, None)
        if callable(function):
            result = take(function, given_arguments, given_keywords)
            if result is not None:
                made.append(result)


def run_calls(calls):
    def main(world):
        if world.rank == 0:
            make_calls(world, calls)

    try:
        shoal.run(main, ranks=2, workers=1, args=["--sim"])
    except (Exception, SystemExit) as error:
        assert str(error) or isinstance(error, SystemExit), f"{error!r} says nothing"


def main(seconds):
    end = 0.0
    count = 0
    log = os.open(os.devnull, os.O_WRONLY)
    errors = os.dup(2)
    os.dup2(log, 1)  # programs that fail report that
    os.dup2(log, 2)

    @settings(max_examples=10**9, deadline=None, database=None, phases=[Phase.generate],
              suppress_health_check=list(HealthCheck))
    @given(steps)
    def fuzz(calls):
        nonlocal count, end
        if count == 0:
            end = time.monotonic() + seconds  # hypothesis took its time to start
        elif time.monotonic() > end:
            raise KeyboardInterrupt  # the only way to end it
        count += 1
        if "FUZZ_SHOW" in os.environ:
            os.write(errors, f"{[(name, place) for name, _, _, place in calls]}\n".encode())
        run_calls(calls)

    try:
        fuzz()
    except KeyboardInterrupt:
        pass
    finally:
        os.dup2(errors, 2)
    os.write(2, f"{count} examples\n".encode())


if __name__ == "__main__":
    main(float(sys.argv[1]))
