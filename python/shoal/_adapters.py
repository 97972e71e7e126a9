"""Interfaces of other libraries, on tasks of shoal: concurrent.futures, Dask and joblib."""

import concurrent.futures
import contextlib
import functools
import itertools
import os
import sys

from . import _core, _errors
from ._run import (_check_name, _current, _frame_place, _function_of, _invoke, current_world)
from ._runtime import Runtime
from ._sync import _take_turn
from ._tasks import _run_body


class Executor(concurrent.futures.Executor):
    """concurrent.futures.Executor on the workers of a Runtime.

        with shoal.Executor(workers=4) as executor:
            print(list(executor.map(abs, [-1, 2])))

    Tasks may wait for each other without holding a worker, by futures of shoal; a result() of
    concurrent.futures in a task holds its worker."""

    def __init__(self, workers=0, **options):
        self._runtime = Runtime(workers=workers, **options)
        self._futures = set()  # of calls that have not ended

    def submit(self, fn, /, *args, **kwargs):
        """Schedules fn(*args, **kwargs), awaited if it is `async def`; returns a
        concurrent.futures.Future."""
        _function_of(fn, "Executor.submit()")
        if not self._runtime.is_running:
            raise RuntimeError("cannot schedule new futures after shutdown")
        future = concurrent.futures.Future()
        call = functools.partial(_run_body, _invoke, (fn, args, kwargs), {})
        self._futures.add(future)
        try:
            self._runtime.submit(_fill, future, call)
        except BaseException:
            self._futures.discard(future)
            raise
        future.add_done_callback(self._futures.discard)
        return future

    def shutdown(self, wait=True, *, cancel_futures=False):
        """Ends the workers when all tasks have ended. Always waits. With cancel_futures, calls that
        have not begun are cancelled."""
        for future in list(self._futures) if cancel_futures else ():
            future.cancel()
        self._runtime.stop()


def _fill(future, call):
    if not future.set_running_or_notify_cancel():
        return
    try:
        result = call()
    except BaseException as error:
        future.set_exception(error)
    else:
        future.set_result(result)


class _Event:
    """threading.Event of one call, which parks the task that waits."""

    def __init__(self):
        self._world = current_world()
        self.clear()

    def clear(self):
        self._turn = [None]  # of setting the promise
        self._promise = _core._Promise(self._world, "concurrent.futures")

    def set(self):
        if _take_turn(self._turn):
            self._promise.set_result(None)

    def wait(self, timeout=None):
        # A future of another executor may be among those that the call waits for.
        hold = None if self._world.launch == "simulated" else _core._Hold(self._world)
        try:
            self._promise.future().result(_not_negative(timeout))
        except TimeoutError:
            return False
        except BaseException:
            _take_turn(self._turn)  # the futures keep the call, which is over
            raise
        finally:
            if hold is not None:
                hold.end()
        return True


class _Waiters(list):
    """The calls of wait() and as_completed() of concurrent.futures that wait for a future. A call
    appends its waiter in the thread that will wait; that of a task gets an event that parks."""

    def append(self, waiter):
        if _current.get(None) is not None and not isinstance(waiter.event, _Event):
            waiter.event = _Event()
        super().append(waiter)


class _RankFuture(concurrent.futures.Future):
    """A future that parks the task which waits for it."""

    def __init__(self, future):
        super().__init__()
        self._shoal = future
        self._waiters = _Waiters()
        self.set_running_or_notify_cancel()
        self._on_done = future._on_done
        self.done = future.done
        future.add_done_callback(self._take)

    def __hash__(self):
        return hash(self._shoal)

    def _take(self, future):
        error = future.exception()
        if error is not None:
            self.set_exception(error)
        else:
            self.set_result(future.result())

    def result(self, timeout=None):
        try:
            return self._shoal.result(_not_negative(timeout))
        except TimeoutError:
            if self._shoal.done():  # the task raised it
                raise
            raise concurrent.futures.TimeoutError() from None

    def exception(self, timeout=None):
        return self._shoal.exception(_not_negative(timeout))


def _not_negative(timeout):
    """concurrent.futures asks for what is left of a time: nothing, if that is over."""
    return 0 if isinstance(timeout, (int, float)) and timeout < 0 else timeout


class WorldExecutor(concurrent.futures.Executor):
    """concurrent.futures.Executor on all ranks, in a main function or a task.

        def main(world):
            if world.rank == 0:
                with shoal.WorldExecutor() as executor:
                    print(list(executor.map(work, range(100))))

    The ranks take calls in turn; functions, arguments and results are pickled. Whatever waits for
    its futures parks the task, concurrent.futures.wait() and as_completed() included."""

    def __init__(self):
        self._world = current_world()
        self._ranks = itertools.cycle(range(self._world.size))
        self._futures = set()
        self._is_open = True

    def submit(self, fn, /, *args, **kwargs):
        """Runs fn(*args, **kwargs) as a task of some rank; returns a future."""
        if not self._is_open:
            raise RuntimeError("cannot schedule new futures after shutdown")
        future = self._world.call(next(self._ranks), fn, *args, **kwargs)
        self._futures.add(future)
        future.add_done_callback(self._futures.discard)
        return _RankFuture(future)

    def shutdown(self, wait=True, *, cancel_futures=False):
        """Takes no more calls, and waits until all have ended. Calls begin at once, so that
        cancel_futures finds none to cancel."""
        self._is_open = False
        for future in list(self._futures) if wait else ():
            future.exception()


_FULFILLED = "set_result() or set_exception() by a thread of the program"


def wrap_future(future, name=None):
    """A future with the result or the exception of a concurrent.futures.Future, which a thread of
    the program fulfils. Tasks and main functions wait for it without holding a worker, and the run
    does not end before: no StuckError, as that thread still works. The future of a thread that
    never fulfils it is named by the stall report; if it is dropped instead, the exception is a
    BrokenPromise. Never blocks.

    A simulation has no other threads: a task of it waits in real time there, while all others
    stand still. So what fulfils the future must not wait for simulated work.

    Parameters:
        name: in reports; default: the place of the call."""
    if isinstance(future, _core.Future):
        return future
    if isinstance(future, _RankFuture):
        return future._shoal
    what = "shoal.wrap_future()"
    if not isinstance(future, concurrent.futures.Future):
        raise _errors.CheckError(
            f"{what}: {future!r} is no future of concurrent.futures: make one, which a thread "
            "fulfils by set_result(), or take that of an executor or of "
            "asyncio.run_coroutine_threadsafe()")
    if name is None:
        name = f"the future of a thread, wrapped at {_frame_place(sys._getframe(1))}"
    _check_name(name, what)
    world = current_world()
    if future.done() or world.launch == "simulated":
        return world._submit(future.result, (), None, name, 0, wrap_future)
    promise = _core._Promise(world, _FULFILLED)
    arrival = promise.future()
    future.add_done_callback(functools.partial(_arrive, promise))
    return world._submit(_await_thread, (world, arrival), None, name, 0, wrap_future)


def _arrive(promise, future):
    with contextlib.suppress(_errors.CheckError):  # the run has failed, and ended
        promise.set_result(future)


def _await_thread(world, arrival):
    hold = _core._Hold(world)
    try:
        future = arrival.result()
    finally:
        hold.end()
    return future.result()


# --- Dask

def dask_get(graph, keys, *, workers=0):
    """Scheduler of Dask: dask.compute(value, scheduler=shoal.dask_get).

    In a run the tasks are those of the calling rank; elsewhere, those of a Runtime of its own with
    so many workers (0: one for each processor).

    Parameters:
        graph: a graph of Dask.
        keys: the keys of the results, in nested lists."""
    if _current.get(None) is not None:
        return _compute(current_world().submit, graph, keys)
    with Runtime(workers=workers) as runtime:
        return _compute(runtime.submit, graph, keys)


def _compute(submit, graph, keys):
    from dask.core import toposort
    from dask.utils import ensure_dict
    from dask._task_spec import convert_legacy_graph
    if hasattr(graph, "__dask_graph__"):  # an expression, since Dask 2025
        graph = graph.__dask_graph__()
    nodes = convert_legacy_graph(ensure_dict(graph))
    needs = {key: _needs(node) for key, node in nodes.items()}
    futures = {}
    for key in toposort(dict.fromkeys(_flat(keys)), needs):
        futures[key] = submit(nodes[key], {need: futures[need] for need in needs[key]})
    failed = [future.exception() for future in futures.values()]
    for error in filter(None, failed):
        raise error
    return _results(keys, futures)


def _flat(keys):
    if not isinstance(keys, list):
        return [keys]
    return [key for part in keys for key in _flat(part)]


def _needs(node):
    """The keys that a node depends on, in the order of its arguments: names of Dask may be random,
    and with them the order of sets, and a simulation must repeat."""
    from dask._task_spec import Alias, GraphNode, TaskRef
    found = dict.fromkeys([node.target] if isinstance(node, Alias) else [])

    def look(value):
        if isinstance(value, TaskRef):
            found[value.key] = None
        elif isinstance(value, GraphNode):
            found.update(dict.fromkeys(_needs(value)))
        elif isinstance(value, (list, tuple)):
            for item in value:
                look(item)
        elif isinstance(value, dict):
            look(list(value.values()))

    look(getattr(node, "args", ()))
    look(getattr(node, "kwargs", None))
    needs = [key for key in found if key in node.dependencies]
    return needs + sorted(node.dependencies.difference(needs), key=str)


def _results(keys, futures):
    if isinstance(keys, list):
        return tuple(_results(key, futures) for key in keys)
    return futures[keys].result()


# --- joblib

def register_joblib():
    """Makes "shoal" known to joblib: `with joblib.parallel_config("shoal", n_jobs=4):`.

    Calls run as tasks of this process, on n_jobs workers."""
    from joblib.parallel import AutoBatchingMixin, ParallelBackendBase, register_parallel_backend

    class Backend(AutoBatchingMixin, ParallelBackendBase):
        supports_retrieve_callback = True
        supports_sharedmem = True
        uses_threads = True
        _executor = None

        def effective_n_jobs(self, n_jobs):
            if n_jobs == 0:
                raise ValueError("n_jobs is 0: give a number of workers, or -1 for all processors")
            count = os.cpu_count() or 1
            return 1 if n_jobs is None else n_jobs if n_jobs > 0 else max(1, count + 1 + n_jobs)

        def configure(self, n_jobs=1, parallel=None, **options):
            self.parallel = parallel
            workers = self.effective_n_jobs(n_jobs)
            self._executor = Executor(workers=workers)
            return workers

        def submit(self, func, callback=None):
            future = self._executor.submit(func)
            if callback is not None:
                future.add_done_callback(callback)
            return future

        apply_async = submit

        def retrieve_result_callback(self, out):
            return out.result()

        def terminate(self):
            if self._executor is not None:
                self._executor.shutdown()
                self._executor = None

        def abort_everything(self, ensure_ready=True):
            self.terminate()
            if ensure_ready:
                self.configure(self.parallel.n_jobs, self.parallel)

    register_parallel_backend("shoal", Backend)
