"""Tasks and futures."""

import concurrent.futures
import contextvars
import copy
import functools
import sys
import time

from . import _core, _errors
from ._run import (_call_to_end, _check_name, _current, _function_of, _name_of, _priority_of,
                   _retries_of, current_world)
from ._sync import Promise, _check_timeout, _take_turn
from ._wire import PLAIN, _is_found_by_name

ALL_COMPLETED = "ALL_COMPLETED"
FIRST_COMPLETED = "FIRST_COMPLETED"
FIRST_EXCEPTION = "FIRST_EXCEPTION"

_CONTAINERS = (list, tuple, dict, set, frozenset)


def _has_future(value):
    if type(value) in PLAIN:
        return False
    if isinstance(value, dict):
        value = value.values()
    elif not isinstance(value, _CONTAINERS):
        return isinstance(value, _core.Future)
    for item in value:
        if type(item) not in PLAIN and _has_future(item):
            return True
    return False


def _resolve(value):
    """The value with the results of futures in place of the futures, at any depth."""
    if isinstance(value, _core.Future):
        return value.result()
    if not _has_future(value):
        return value
    if isinstance(value, dict):
        return type(value)((key, _resolve(item)) for key, item in value.items())
    if isinstance(value, tuple) and hasattr(value, "_fields"):  # a named tuple
        return type(value)(*(_resolve(item) for item in value))
    return type(value)(_resolve(item) for item in value)


def _drive(coroutine):
    """Runs a coroutine to its end: an `await` of a future parks the task."""
    send, value = coroutine.send, None
    while True:
        try:
            awaited = send(value)
        except StopIteration as end:
            return end.value
        try:
            if not isinstance(awaited, _core.Future):
                raise _errors.CheckError(
                    f"a task awaits {awaited!r}, which is no future of shoal: asyncio's run in "
                    "its own loop")
            send, value = coroutine.send, awaited.result()
        except Exception as error:
            send, value = coroutine.throw, error


def _resolved(arguments, keywords):
    if _has_future(arguments) or keywords and _has_future(keywords):
        return _resolve(arguments), _resolve(keywords)
    return arguments, keywords


def _run_body(function, arguments, keywords):
    return _call_to_end(function, *_resolved(arguments, keywords))


def _copy_of(value, made):
    """A value whose arrays, lists, dictionaries, sets and bytearrays are copies, also those inside
    each other. `made`: the copies, by the numbers of the objects."""
    if id(value) in made:
        return made[id(value)]
    numpy = sys.modules.get("numpy")
    is_array = numpy is not None and isinstance(value, numpy.ndarray)
    if is_array or isinstance(value, (list, dict, set, bytearray)):
        copied = made[id(value)] = copy.copy(value)
        if isinstance(value, list):
            copied[:] = (_copy_of(item, made) for item in value)
        elif isinstance(value, dict):
            for key, item in value.items():
                copied[key] = _copy_of(item, made)
        return copied
    if isinstance(value, tuple):
        items = [_copy_of(item, made) for item in value]
        if any(item is not before for item, before in zip(items, value)):
            return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
    return value


def _run_attempts(retries, function, arguments, keywords):
    """Runs a function in attempts, each with the arguments and the context of the first one."""
    arguments, keywords = _resolved(arguments, keywords)
    context = contextvars.copy_context()

    def attempt():
        given, named = _copy_of((arguments, keywords), {})
        return context.copy().run(_run_body, function, given, named)
    return _core._run_attempts(retries, attempt)


def _wait_for_futures(value, name):
    """Replaces futures, which belong to this rank, before a call leaves it."""
    try:
        return _resolve(value)
    except _errors.CancelledError:
        raise
    except Exception as error:
        raise _errors.Error(f"an argument of {name} has failed: {error}") from error


class Task:
    """A function that runs as a task when it is called, and returns a future; made by @task."""

    def __init__(self, function, name=None, priority=0, rank=None, retries=0):
        functools.update_wrapper(self, function)
        self._function = function
        self._name = _check_name(name or _name_of(function), "a task")
        self._priority = _priority_of(priority, f"task {self._name}")
        self._rank = rank
        self._retries = _retries_of(retries, f"task {self._name}")

    def __call__(self, *arguments, **keywords):
        """Starts the task; returns the future of its result. Does not block, except for futures in
        arguments of another rank."""
        world = current_world()
        body = self._shoal_body
        if self._rank is not None and self._rank != world.rank:
            return world.call(self._rank, self, *_wait_for_futures(arguments, self._name),
                              **_wait_for_futures(keywords, self._name))
        return world._submit(contextvars.copy_context().run, (body, arguments, keywords), None,
                             self._name, self._priority, self._function)

    def _shoal_body(self, arguments, keywords):
        """Runs the function here, without a task of its own."""
        if self._retries != 0:
            return _run_attempts(self._retries, self._function, arguments, keywords)
        return _run_body(self._function, arguments, keywords)

    def with_options(self, *, name=None, priority=None, rank=None, retries=None):
        """The same function with other options, those of shoal.task()."""
        made = Task(self._function, name or self._name,
                    self._priority if priority is None else priority,
                    self._rank if rank is None else rank,
                    self._retries if retries is None else retries)
        made._base = getattr(self, "_base", self)
        return made

    def on(self, rank):
        """The same function, run on a rank."""
        return self.with_options(rank=rank)

    def map(self, *iterables):
        """Starts a task for each tuple of items of the iterables; returns a list of futures."""
        return [self(*items) for items in zip(*iterables)]

    def __get__(self, instance, owner=None):
        return self if instance is None else functools.partial(self, instance)

    def __reduce__(self):
        base = getattr(self, "_base", self)
        if base is self and _is_found_by_name(self):
            return self.__qualname__
        if base is self:
            return self._reduce_to_code()
        return _with_options, (base, self._name, self._priority, self._rank, self._retries)

    def _reduce_to_code(self):
        return Task, (self._function, self._name, self._priority, self._rank, self._retries)

    def __repr__(self):
        return f"<shoal task {self._name}>"


def _with_options(base, name, priority, rank, retries):
    return base.with_options(name=name, priority=priority, rank=rank, retries=retries)


def task(function=None, *, name=None, priority=0, rank=None, retries=0):
    """Decorator: calls of the function run as tasks, and return futures.

    Futures among the arguments, also in lists, tuples, sets and dictionaries, are replaced by their
    results before the body runs. An `async def` function may await futures.

    Parameters:
        name: in reports; default: that of the function.
        priority: larger runs first.
        rank: on which it runs; default: the caller's.
        retries: how often the body runs again after an Exception. Each attempt gets copies of the
            lists, dictionaries, sets, bytearrays and arrays of numpy among the arguments; other
            objects are the same. What an attempt sends, starts or fires happens once it has
            succeeded, and it must not wait."""
    def make(function):
        return Task(_function_of(function, "shoal.task"), name, priority, rank, retries)
    return make if function is None else make(function)


def _futures_of(futures, what, needed="_on_done"):
    """The futures that a call takes, in a list; each has the method that is needed."""
    try:
        iterator = iter(futures)
    except TypeError:
        raise _errors.CheckError(f"{what}: {futures!r} is no list of futures") from None
    futures = list(iterator)
    for future in futures:
        if not hasattr(future, needed):
            raise _errors.CheckError(
                f"{what}: {future!r} is no future of shoal: give those of tasks, calls, promises "
                "or a shoal.WorldExecutor, or a shoal.wrap_future() of concurrent.futures'")
    return futures


class _Limit:
    """The end of a time that a call has for several futures: virtual time in a simulation."""

    def __init__(self, timeout, what):
        _check_timeout(timeout, f"{what[:-2]}(timeout=)")
        world = _current.get(None)
        self._now = time.monotonic if world is None else world.now
        self._what, self._timeout = what, timeout
        self._end = None if timeout is None else self._now() + float(timeout)

    def left(self):
        """Seconds, or None without a limit."""
        return None if self._end is None else max(0.0, self._end - self._now())

    def error(self, missing, count):
        return TimeoutError(f"{self._what}: {missing} of {count} futures have no value after "
                            f"{self._timeout} seconds: wait longer, or without a timeout")


def _ends_in(future, limit):
    try:
        future.exception(limit.left())
    except TimeoutError:
        return future.done()
    except concurrent.futures.CancelledError:
        pass
    return True


def gather(futures, timeout=None):
    """The results of futures, in a list. Parks the task until all have ended. Raises the first
    exception in their order; the others count as taken.

    Parameters:
        timeout: in seconds for all of them, virtual ones in a simulation. Then TimeoutError is
            raised; all results can still be taken."""
    limit = _Limit(timeout, "shoal.gather()")
    futures = _futures_of(futures, "shoal.gather()", "result")
    results, first = [], None
    for future in futures:
        if timeout is not None and not _ends_in(future, limit):
            raise limit.error(sum(not future.done() for future in futures), len(futures)) from first
        try:
            results.append(future.result())
        except Exception as error:
            first = first or error
    if first is not None:
        raise first
    return results


def as_completed(futures, timeout=None):
    """Yields each future when it has ended, the first one first. Parks the task in between.

    Parameters:
        timeout: in seconds from this call until the last one, virtual ones in a simulation. Then
            TimeoutError is raised."""
    limit = _Limit(timeout, "shoal.as_completed()")
    return _as_completed(list(dict.fromkeys(_futures_of(futures, "shoal.as_completed()"))), limit)


def _as_completed(futures, limit):
    ended, pending = _parted(futures)
    yield from ended
    arrived, arrivals = [], _core._Semaphore(current_world(), 0, "futures that end")

    def add(future):
        arrived.append(future)
        arrivals.release()

    for future in pending:
        future._on_done(add, future)
    for index in range(len(pending)):
        if not arrivals.acquire(limit.left()):
            raise limit.error(len(pending) - index, len(futures))
        yield arrived[index]


def wait(futures, timeout=None, return_when=ALL_COMPLETED):
    """Waits for futures; returns a pair of sets: those that have ended, and the others. Parks the
    task. Does not raise what they have raised.

    Parameters:
        timeout: in seconds; virtual ones in a simulation.
        return_when: ALL_COMPLETED, FIRST_COMPLETED or FIRST_EXCEPTION."""
    if return_when not in (ALL_COMPLETED, FIRST_COMPLETED, FIRST_EXCEPTION):
        raise _errors.CheckError(
            f"shoal.wait() got return_when={return_when!r}: give shoal.ALL_COMPLETED, "
            "FIRST_COMPLETED or FIRST_EXCEPTION")
    _check_timeout(timeout, "shoal.wait(timeout=)")
    futures = list(dict.fromkeys(_futures_of(futures, "shoal.wait()")))
    ended, pending = _parted(futures)

    def is_enough(future):
        return return_when == FIRST_COMPLETED or (
            return_when == FIRST_EXCEPTION and future.exception() is not None)

    if pending and not any(map(is_enough, ended)):
        _wait_for_pending(pending, timeout, is_enough)
    done = {future for future in futures if future.done()}
    return done, {future for future in futures if future not in done}


def _parted(futures):
    """Those that have ended, and the others."""
    ended, pending = [], []
    for future in futures:
        (ended if future.done() else pending).append(future)
    return ended, pending


def _wait_for_pending(futures, timeout, is_enough):
    ended = set()
    promise = Promise("shoal.wait()")
    turn = [None]  # of setting the promise: callbacks run on several workers

    def add(future):
        ended.add(future)
        if (len(ended) == len(futures) or is_enough(future)) and _take_turn(turn):
            promise.set_result(None)

    for future in futures:
        future._on_done(add, future)
    try:
        promise.future.result(timeout)
    except TimeoutError:
        if _take_turn(turn):
            promise.set_result(None)
