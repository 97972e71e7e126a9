"""Ways to wait: promises, locks, times, and counters of all ranks."""

import contextlib
import math

from . import _core, _errors, _wire
from ._run import (_call_to_end, _check_name, _function_of, _integer_of, _team_of,
                   current_world)


class Promise(_wire.OfRank):
    """The sending end of a future: any task or handler of this rank fulfils it, once. If it is
    dropped before, the future ends with BrokenPromise. A thread of the program may fulfil it, too,
    but the run does not wait for one: wrap_future() is for that.

    Parameters:
        name: in reports."""

    def __init__(self, name="a promise"):
        self._promise = _core._Promise(current_world(), _check_name(name, "shoal.Promise"))
        self._future = self._promise.future()

    @property
    def future(self):
        """The future of the promise."""
        return self._future

    def set_result(self, value):
        """Fulfils the promise with a value. Never blocks. Raises CheckError the second time."""
        self._promise.set_result(value)

    def set_exception(self, error):
        """Fulfils the promise with an exception, as set_result()."""
        if not isinstance(error, BaseException):
            raise _errors.CheckError(f"set_exception() takes an exception, and got {error!r}")
        self._promise.set_exception(error)


def _permits_of(count, what):
    return _integer_of(count, 0, 2**63 - 1, what, "no number of permits: give an integer that is "
                       "not negative")


class Semaphore(_wire.OfRank):
    """A number of permits for tasks of one rank; waiters get them in the order they came. Use it as
    `with semaphore:`.

    Parameters:
        permits: at first.
        name: in reports."""

    def __init__(self, permits, name="a semaphore"):
        permits = _permits_of(permits, "shoal.Semaphore")
        self._semaphore = _core._Semaphore(current_world(), permits,
                                           _check_name(name, "shoal.Semaphore"))

    def acquire(self):
        """Takes a permit; parks the task until there is one. Raises CheckError in a handler,
        CancelledError when the world fails."""
        self._semaphore.acquire()

    def release(self, count=1):
        """Returns permits. Never blocks."""
        self._semaphore.release(_permits_of(count, "Semaphore.release()"))

    def __enter__(self):
        self._semaphore.acquire()
        return self

    def __exit__(self, *error):
        self._semaphore.release()


class Mutex(_wire.OfRank):
    """Lock for tasks of one rank: a task that waits for it is parked. Use it as `with mutex:`.

    Parameters:
        name: in reports."""

    def __init__(self, name="a mutex"):
        self._mutex = _core._Mutex(current_world(), _check_name(name, "shoal.Mutex"))

    def lock(self):
        """Locks it; parks the task until it is free. Raises CheckError in a handler, CancelledError
        when the world fails."""
        self._mutex.lock()

    def try_lock(self):
        """Whether it was free, and is locked now. Never blocks."""
        return self._mutex.try_lock()

    def unlock(self):
        """Unlocks it: the first task that waits has it then. Never blocks. Raises CheckError for a
        task that does not have it."""
        self._mutex.unlock()

    def __enter__(self):
        self._mutex.lock()
        return self

    def __exit__(self, *error):
        self._mutex.unlock()


def sleep(seconds):
    """Parks the task for a time in seconds, virtual ones in a simulation. Raises CheckError in a
    handler, CancelledError when the world fails."""
    _check_seconds(seconds, "shoal.sleep()")
    _core._sleep(seconds)


def yield_now():
    """Parks the task until the other ready tasks of the worker have run."""
    _core._yield()


def _take_turn(turn):
    try:
        turn.pop()
        return True
    except IndexError:
        return False


def _run_after(seconds, stop, turn, function, arguments):
    try:
        stop.future.result(seconds)
    except TimeoutError:
        pass
    return _call_to_end(function, arguments, {}) if _take_turn(turn) else None


class Timer:
    """Runs function(*arguments) as a task of this rank after a time in seconds, virtual ones in a
    simulation.

    world.wait() waits for it, too, unless it is cancelled."""

    def __init__(self, seconds, function, *arguments):
        _function_of(function, "shoal.Timer")
        _check_seconds(seconds, "shoal.Timer", is_finite=True)
        self._turn = [None]  # taken by the first of the time and cancel()
        self._stop = Promise("a timer")
        # Without the timer itself: a traceback that knew its own future would keep it.
        self._future = current_world().submit(_run_after, seconds, self._stop, self._turn,
                                              function, arguments)

    def cancel(self):
        """Stops the timer; returns whether it has not run and will not run. Never blocks."""
        self._stop._promise.check_here()  # before the turn is lost
        if not _take_turn(self._turn):
            return False
        self._stop.set_result(None)
        return True

    @property
    def future(self):
        """The future of the function's result; None once cancelled."""
        return self._future


class Deadline:
    """Cancels the world, or a team, when a time in seconds has passed before the end of the block:

        with shoal.Deadline(5.0, "the input was too large"):
            world.wait()

    Waits of its tasks raise CancelledError then, and world.wait() TaskError with the reason."""

    def __init__(self, seconds, reason="its deadline has passed", team=None):
        what = "shoal.Deadline"
        _check_seconds(seconds, what)
        self._arguments = (_team_of(team, what), seconds, _check_name(reason, what, "the reason"))

    def __enter__(self):
        self._deadline = _core._Deadline(*self._arguments)
        return self

    def __exit__(self, *error):
        self._deadline.end()


class Counter(_wire.OfRank):
    """A number that tasks of all ranks count, atomically. Made in the main function, on all ranks
    in the same order; 0 at first.

    Parameters:
        name: in reports.
        team: default: the world."""

    def __init__(self, name="counter", team=None):
        from ._arrays import GlobalArray
        self._array = GlobalArray(1, int, name, team)

    def add(self, count=1):
        """Adds to it; returns the number before, which no other call returns if count is 1. Parks
        the task where the number is on another rank: it is on rank 0."""
        return self._array.fetch_add(0, count)

    @property
    def value(self):
        """The number now. Parks the task as add() does."""
        return int(self._array[0])


def _check_timeout(timeout, what):
    """A time after which a wait gives up, or None."""
    if timeout is not None:
        _check_seconds(timeout, what)


def _check_seconds(seconds, what, is_finite=False):
    number = math.nan
    if hasattr(seconds, "__float__") and not isinstance(seconds, bool):
        with contextlib.suppress(OverflowError, TypeError, ValueError):
            number = float(seconds)
    if not number >= 0:
        raise _errors.CheckError(f"{what}: a time of {seconds!r} seconds: give a number that is "
                                 "not negative")
    if is_finite and math.isinf(number):
        raise _errors.CheckError(f"{what}: a time of {seconds!r} seconds never ends, and "
                                 "world.wait() would wait for it: give a finite number")
