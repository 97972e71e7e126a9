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

from ._core import Future, Team, World
from ._core import version as __version__
from ._errors import (BrokenPromise, CancelledError, CheckError, ConfigError, DecodeError, Error,
                      RemoteError, RemoteTraceback, StuckError, TaskError, TransportError)
from ._run import current_world, run
from ._runtime import Executor, Runtime
from ._tasks import (ALL_COMPLETED, FIRST_COMPLETED, FIRST_EXCEPTION, Mutex, Promise, Semaphore,
                     Task, as_completed, gather, sleep, task, wait, yield_now)
from ._arrays import GlobalArray
from ._events import ALL, ANY, SELF, Event, Events
from ._graph import TaskGraph
from ._objects import Object
from ._world import MAX, MIN, PRODUCT, SUM

__all__ = [
    "ALL", "ALL_COMPLETED", "ANY", "BrokenPromise", "CancelledError", "CheckError", "ConfigError",
    "DecodeError", "Error", "Event", "Events", "Executor", "FIRST_COMPLETED", "FIRST_EXCEPTION",
    "Future", "GlobalArray", "MAX", "MIN", "Mutex", "Object", "PRODUCT", "Promise", "RemoteError",
    "RemoteTraceback", "Runtime", "SELF", "SUM", "Semaphore", "StuckError", "Task", "TaskError",
    "TaskGraph", "Team", "TransportError", "World", "as_completed", "current_world", "gather",
    "run", "sleep", "task", "wait", "yield_now",
]
