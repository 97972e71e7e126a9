"""Asynchronous distributed tasks: ranks with workers, in one process, over MPI, or simulated.

    import shoal

    @shoal.task
    def square(x):
        return x * x

    def main(world):
        futures = [square.on(i % world.size)(i) for i in range(10)]
        return sum(shoal.gather(futures))

    print(shoal.run(main, ranks=2))

A task may wait anywhere: its frame is parked, and its worker runs other tasks.
"""

import sys as _sys

from ._core import Future, Team, World
from ._core import version as __version__
from ._errors import (BrokenPromise, CancelledError, CheckError, ConfigError, DecodeError, Error,
                      RemoteError, RemoteTraceback, RetryError, StuckError, TaskError,
                      TransportError)
from ._run import current_world, run
from ._interactive import TraceReport
from ._runtime import Runtime
from ._sync import Counter, Deadline, Mutex, Promise, Semaphore, Timer, sleep, yield_now
from ._tasks import (ALL_COMPLETED, FIRST_COMPLETED, FIRST_EXCEPTION, Task, as_completed, gather,
                     task, wait)
from ._world import MAX, MIN, PRODUCT, SUM
from . import _mpi  # World.comm
from ._actors import Actor
from ._adapters import Executor, WorldExecutor, dask_get, register_joblib, wrap_future
from ._arrays import GlobalArray
from ._caches import Cache, GlobalVar
from ._events import ALL, ANY, SELF, Event, Events
from ._flow import Datum, Flow, Tiles, commutative, flow_task, read, read_write, scratch, write
from ._graph import TaskGraph
from ._objects import Object

# A free-threaded Python enables its GIL for a module that does not say it can do without, such as
# _core, unless it was told not to.
if not getattr(_sys, "_is_gil_enabled", lambda: True)():
    raise ImportError("shoal: this Python runs without its GIL, which tasks need: start it without "
                      "PYTHON_GIL=0 and -X gil=0")

__all__ = [
    "ALL", "ALL_COMPLETED", "ANY", "Actor", "BrokenPromise", "Cache", "CancelledError",
    "CheckError", "ConfigError", "Counter", "Datum", "Deadline", "DecodeError", "Error", "Event",
    "Events", "Executor", "FIRST_COMPLETED", "FIRST_EXCEPTION", "Flow", "Future", "GlobalArray",
    "GlobalVar", "MAX", "MIN", "Mutex", "Object", "PRODUCT", "Promise", "RemoteError",
    "RemoteTraceback", "RetryError", "Runtime", "SELF", "SUM", "Semaphore", "StuckError", "Task",
    "TaskError", "TaskGraph", "Team", "Tiles", "Timer", "TraceReport", "TransportError", "World",
    "WorldExecutor", "as_completed", "commutative", "current_world", "dask_get", "flow_task",
    "gather", "read", "read_write", "register_joblib", "run", "scratch", "sleep", "task", "wait",
    "wrap_future", "write", "yield_now",
]
