"""Ranks and workers for applications that own their main loop."""

import atexit
import contextvars
import threading
import weakref

from . import _core
from ._run import (_check_name, _check_options, _current, _end_states, _function_of, _integer_of,
                   _invoke, _Main, _name_crashes, _name_of, _rank_of, _word_of)
from ._tasks import _resolved


class Runtime:
    """Ranks and workers of this process that run what any thread gives them, until stop().

        with shoal.Runtime(workers=8) as runtime:
            future = runtime.submit(work, 3)
            print(future.result())

    Parameters:
        ranks, workers: as for shoal.run().
        name: in errors.
        options: further options, as for shoal.run(), but none of simulation.

    It uses no MPI: in a process of an MPI launch, its ranks are all here. One that nobody stops
    ends, when all that was given to it has ended, when nobody refers to it any more, and at the
    exit of the interpreter."""

    def __init__(self, *, ranks=1, workers=0, name="a runtime", **options):
        what = "shoal.Runtime()"
        ranks = _integer_of(ranks, 1, 2**31 - 1, what, "no number of ranks: give 1 at least")
        workers = _integer_of(workers, 0, 2**31 - 1, what, "no number of workers: give 1 at least, "
                              "or 0 for a share of the processors")
        _check_options(options, what)
        words = []
        for key, value in options.items():
            if value is not None and value is not False:
                words.append(f"--{key.replace('_', '-')}")
                if value is not True:
                    words.append(_word_of(value))
        _name_crashes()
        self._runtime = _core._Runtime(ranks, workers, _check_name(name, what), words)
        self._worlds = [self._runtime.world(rank) for rank in range(self._runtime.size)]
        weakref.finalize(self, _drop, self._runtime)

    @property
    def size(self):
        """Number of ranks."""
        return self._runtime.size

    @property
    def is_running(self):
        """Whether work is taken: not after stop(), nor after a failure."""
        return self._runtime.is_running

    def submit(self, function, *arguments, **keywords):
        """Runs function(*arguments, **keywords) as a task of rank 0; returns its future, for which
        any thread may wait. Never blocks. Raises CheckError after stop()."""
        return self._submit(0, function, arguments, keywords)

    def submit_to(self, rank, function, *arguments, **keywords):
        """Runs a function as a task of a rank; returns its future, as submit()."""
        return self._submit(_rank_of(self, rank, "submit_to()"), function, arguments, keywords)

    def _submit(self, rank, function, arguments, keywords):
        _function_of(function, "submit()")
        work = (_in_world_of, self._worlds[rank], function, arguments, keywords)
        return self._runtime.submit(rank, contextvars.copy_context().run, work,
                                    _name_of(function), 0, function)

    def run(self, main):
        """Runs main(world) on every rank, as shoal.run(); returns the value of rank 0. Blocks the
        calling thread. Raises what main raised."""
        what = _Main(_function_of(main, "Runtime.run()"))
        try:
            self._runtime.run(what)
        finally:
            if what.errors:
                raise what.errors[min(what.errors)]
        return what.results.get(0)

    def stop(self):
        """Ends the ranks when all that was given to them has ended. Blocks the calling thread.
        Raises CheckError in a task, a main function or a handler."""
        _stop(self._runtime)

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.stop()


def _in_world_of(world, function, arguments, keywords):
    _current.set(world)
    return _invoke(function, *_resolved(arguments, keywords))


_dropped = set()  # runtimes that have not ended yet


def _stop(runtime):
    try:
        runtime.stop()
    finally:
        _dropped.discard(runtime)
        _end_states()


def _drop(runtime):
    """Ends a runtime to which nobody refers: on another thread if its end waits for the caller,
    such as the task that had the last reference."""
    if runtime.awaits_caller:
        _dropped.add(runtime)
        threading.Thread(target=_stop, args=[runtime], name="shoal: end of a runtime").start()
    else:
        _stop(runtime)


@atexit.register
def _end_dropped():
    while _dropped:
        _stop(next(iter(_dropped)))
