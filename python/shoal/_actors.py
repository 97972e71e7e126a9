"""Named actors: objects on one rank that any rank finds by their names."""

import collections
import threading
import zlib

from . import _errors, _wire
from ._objects import Proxy
from ._run import _check_name, _rank_of, current_world, state_of
from ._sync import Promise


class _Directory:
    """Table of the actors of a rank: its own, the ranks of others, and calls that wait for their
    results."""

    def __init__(self):
        self.lock = threading.Lock()  # held for a moment, and never during a wait
        self.actors = {}  # of this rank, by names
        self.ranks = {}  # promises of ranks, by names whose home is this rank
        self.calls = {}  # promises of results, by numbers
        self.count = 0


def _directory():
    return state_of(current_world(), _Directory)


class _Living:
    """An actor on its rank."""

    def __init__(self, target):
        self.target = target
        self.queue = collections.deque()
        self.is_running = False


def _home_of(name, world):
    return zlib.crc32(name.encode()) % world.size


def _rank_promise(name):
    directory = _directory()
    with directory.lock:
        promise = directory.ranks.get(name)
        if promise is None:
            promise = directory.ranks[name] = Promise(f"actor {name!r}")
    return promise


def _register(name, rank):
    promise = _rank_promise(name)
    if promise.future.done():
        raise _errors.CheckError(
            f"a second actor {name!r}: rank {promise.future.result()} has one already: find it by "
            f"shoal.Actor({name!r}), or give this one another name")
    promise.set_result(rank)


def _find(name):
    return _rank_promise(name).future.result()


def _create(name, kind, arguments, keywords):
    world = current_world()
    living = _Living(kind(*arguments, **keywords))
    living = _directory().actors.setdefault(name, living)  # of a second one, that of the first
    world.call(_home_of(name, world), _register, name, world.rank).result()


def _arrive(name, number, source, method, arguments, keywords):
    """Handler of a call: queues it."""
    directory = _directory()
    living = directory.actors[name]
    with directory.lock:
        living.queue.append((number, source, method, arguments, keywords))
        if living.is_running:
            return
        living.is_running = True
    current_world().spawn(_work, name, living)


def _work(name, living):
    """Runs the calls of an actor, one after the other."""
    world, directory = current_world(), _directory()
    while True:
        with directory.lock:
            if not living.queue:
                living.is_running = False
                return
            number, source, method, arguments, keywords = living.queue.popleft()
        try:
            outcome = False, _call(living.target, name, method, arguments, keywords)
        except Exception as error:
            if source is None:
                raise
            outcome = True, _pickled_error(error, world.rank)
        if source is not None:
            _answer_to(world, source, number, outcome)


def _call(target, name, method, arguments, keywords):
    from ._tasks import _run_body
    found = getattr(target, method, None)
    if method.startswith("_") or not callable(found):
        raise AttributeError(
            f"actor {name!r}, a {type(target).__name__}, has no public method {method!r}")
    return _run_body(found, arguments, keywords)


def _pickled_error(error, rank):
    body, buffers = _wire.dump_error(error, rank)
    return bytes(body), [bytes(buffer) for buffer in buffers]


def _answer_to(world, source, number, outcome):
    try:
        world.send(source, _answer, number, *outcome)
    except _errors.CheckError as error:  # of a result that cannot be pickled
        world.send(source, _answer, number, True, _pickled_error(error, world.rank))


def _answer(number, is_error, value):
    """Handler of a result."""
    promise = _directory().calls.pop(number)
    if is_error:
        promise.set_exception(_wire.load_error(*value))
    else:
        promise.set_result(value)


class _ActorMethod:
    def __init__(self, actor, name):
        self._actor = actor
        self._name = name

    def __call__(self, *arguments, **keywords):
        """Calls the method; returns the future of its result."""
        directory = _directory()
        promise = Promise(f"{self._name}() of actor {self._actor.name!r}")
        with directory.lock:
            directory.count += 1
            number = directory.count
            directory.calls[number] = promise
        try:
            self._send(number, current_world().rank, arguments, keywords)
        except BaseException:
            del directory.calls[number]
            raise
        return promise.future

    def send(self, *arguments, **keywords):
        """Calls the method and ignores its result; an exception fails the world."""
        self._send(0, None, arguments, keywords)

    def _send(self, number, source, arguments, keywords):
        current_world().send(self._actor.rank, _arrive, self._actor.name, number, source,
                             self._name, arguments, keywords)


class Actor(Proxy):
    """A named object on one rank, as any rank sees it: its methods return futures. It can be sent.

        shoal.Actor.create("totals", Totals, rank=1)
        totals = shoal.Actor("totals")          # on any rank
        totals.add(5).result()

    Calls of one task run in the order in which they were made, and one runs at a time: a call that
    waits for another one of the same actor waits for ever. Arguments and results are pickled.

    Attributes: name; rank, where it lives."""

    def __init__(self, name):
        """Finds an actor. Parks the task until it has been created."""
        world = current_world()
        home = _home_of(_check_name(name, "shoal.Actor"), world)
        super().__init__(name=name, rank=world.call(home, _find, name).result())

    @classmethod
    def create(cls, name, kind, *arguments, rank=None, **keywords):
        """Makes kind(*arguments, **keywords) on a rank, by default one that the name decides;
        returns the actor. Parks the task. Raises CheckError if there is one of that name."""
        world = current_world()
        if not callable(kind):
            raise _errors.CheckError(
                f"actor {name!r}: {kind!r} cannot be called: give a class, and its arguments")
        home = _home_of(_check_name(name, "shoal.Actor"), world)
        rank = home if rank is None else _rank_of(world, rank, f"actor {name!r}")
        world.call(rank, _create, name, kind, arguments, keywords).result()
        return _actor_of(name, rank)

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(f"actor {self.name!r} has no public method {name!r}")
        return _ActorMethod(self, name)

    def __reduce__(self):
        return _actor_of, (self.name, self.rank)

    def __repr__(self):
        return f"<shoal actor {self.name!r} on rank {self.rank}>"


def _actor_of(name, rank):
    made = object.__new__(Actor)
    Proxy.__init__(made, name=name, rank=rank)
    return made
