"""Tasks that run when the events that they depend on have come."""

import itertools
import signal
import typing

from . import _core, _errors, _wire
from ._run import (_check_name, _function_of, _in_world, _integer_of, _name_of, _priority_of,
                   _retries_of, _team_of, current_world)
from ._sync import _check_seconds

SELF = "self"
ANY = "any"
ALL = "all"

_PEERS = {SELF: -1, ANY: -2, ALL: -3}


class Event(typing.NamedTuple):
    """An event in the hands of a task: the rank that fired it, its name, and its value."""

    source: int
    name: str
    value: object


Event.source.__doc__ = "The rank that fired it."
Event.name.__doc__ = "Its name."
Event.value.__doc__ = ("A copy of its value; the object itself of fire_object(), and None of an "
                       "event that the machine fires.")


class _Reference(typing.NamedTuple):
    """Value of an event of fire_object(): the place of the object in the table of its Events."""

    number: int
    is_persistent: bool


def _peer_of(peer, what):
    if isinstance(peer, str) and peer in _PEERS:
        return _PEERS[peer]
    return _integer_of(peer, 0, 2**31 - 1, what,
                       "no rank: give an integer, shoal.SELF, shoal.ANY or shoal.ALL")


def _target_of(target, what):
    if isinstance(target, str) and target == ANY:
        raise _errors.CheckError(f"{what} cannot be fired to shoal.ANY: give a rank, shoal.SELF or "
                                 "shoal.ALL")
    return _peer_of(target, what)


def _pairs_of(dependencies, what):
    pairs = []
    for dependency in dependencies:
        if not isinstance(dependency, tuple) or len(dependency) != 2:
            raise _errors.CheckError(
                f"{what}: the dependency {dependency!r} is no pair of a source and a name, such "
                "as (shoal.ANY, 'ready')")
        pairs.append((_peer_of(dependency[0], what), _check_name(dependency[1], what)))
    return pairs


def _descriptor_of(file, what):
    descriptor = file
    if hasattr(file, "fileno"):
        try:
            descriptor = file.fileno()
        except (OSError, ValueError) as error:  # it is closed, or has none
            raise _errors.CheckError(f"{what}: {file!r} has no open descriptor: {error}") from error
    return _integer_of(descriptor, 0, 2**31 - 1, what,
                       "no open descriptor: give an open file, a socket, or its number")


class _Locked:
    """A named lock for `with`."""

    def __init__(self, events, name):
        self._events = events
        self._name = name

    def __enter__(self):
        self._events.lock(self._name)

    def __exit__(self, *error):
        self._events.unlock(self._name)


class Events(_wire.OfRank):
    """Tasks and events of a rank. Made in the main function, on all ranks in the same order.

    A task names the events that it depends on by source and name, and runs once it has them all.
    world.wait() returns when, on all ranks, tasks have run and events have been consumed.

    Parameters:
        name: in reports.
        team: default: the world."""

    def __init__(self, name="events", team=None):
        self._world = current_world()
        self._events = _core._Events(_team_of(team, "shoal.Events"),
                                     _check_name(name, "shoal.Events"))
        self._objects = {}  # of fire_object(), by numbers, until an event has brought them
        self._numbers = itertools.count()

    def _list_of(self, arrived):
        events = self._peek(arrived)
        self._forget(arrived)
        return events

    def _peek(self, arrived):
        return [Event(source, name, self._objects[value.number] if type(value) is _Reference
                      else value) for source, name, value in arrived]

    def _forget(self, arrived):
        """Drops the objects that these events have brought."""
        for _, _, value in arrived:
            if type(value) is _Reference and not value.is_persistent:
                del self._objects[value.number]

    def submit(self, dependencies, function, *, name=None, persistent=False, greedy=False,
               priority=0, retries=0):
        """Runs function(events) once its dependencies are met; at once if there are none.

        Parameters:
            dependencies: pairs of a source (a rank, shoal.SELF, ANY or ALL) and a name.
            function: gets a list of Event in the order of the dependencies; with ALL, one for
                each rank.
            persistent: runs as often as its dependencies are met.
            greedy: persistent only: takes all events that fit until it begins to run.
            priority: larger runs first.
            retries: how often function runs again after an Exception. Each attempt gets the values
                as they were fired; the object of fire_object() is the same one. What an attempt
                sends, starts or fires happens once it has succeeded, and it must not wait."""
        what = "Events.submit()"
        _function_of(function, what)
        retries = _retries_of(retries, what)
        world = self._world

        def run(arrived):
            from ._tasks import _run_body
            events = self._list_of(arrived) if retries == 0 else self._peek(arrived)
            _in_world(world, _run_body, function, (events,), {})
            if retries != 0:
                self._forget(arrived)

        self._events.submit(_pairs_of(dependencies, what), run,
                            _check_name(name or _name_of(function), what, "the task's name"),
                            bool(persistent), bool(greedy), _priority_of(priority, what), retries,
                            function)

    def fire(self, target, name, value=None, *, persistent=False):
        """Fires an event to a rank, shoal.SELF or shoal.ALL, with a copy of the value, which is
        pickled. A persistent one is there again on the target as soon as a task has got it. Parks
        the task while too much is under way to the target."""
        what = f"the event {name!r}"
        self._events.fire(_target_of(target, what), _check_name(name, what),
                          _wire.dump(value, f"the value of {what}"), bool(persistent))

    def fire_object(self, name, value, *, persistent=False):
        """Fires an event to this rank with the object itself: no copy is made, and it need not be
        one that can be pickled. The task that gets the event has the object until it fires it
        again. Never blocks."""
        what = f"the event {name!r}"
        _check_name(name, what)
        reference = _Reference(next(self._numbers), bool(persistent))
        self._objects[reference.number] = value
        try:
            self._events.fire(_PEERS[SELF], name, _wire.dump(reference), reference.is_persistent)
        except Exception:
            self._objects.pop(reference.number, None)
            raise

    def fire_after(self, seconds, target, name, value=None):
        """Fires an event once a time in seconds has passed, virtual ones in a simulation; returns a
        number for cancel(). Does not wait."""
        what = f"the event {name!r}"
        _check_seconds(seconds, what, is_finite=True)
        return self._events.fire_after(seconds, _target_of(target, what), _check_name(name, what),
                                       _wire.dump(value, f"the value of {what}"))

    def fire_when_readable(self, file, target, name):
        """Fires an event, without a value, once there is something to read from a file, or its
        other end was closed; returns a number for cancel(). Never blocks, and reads nothing.

        Such an event of the machine happens once, and keeps the world going until it has been
        fired or cancelled. Raises CheckError in a simulation, where nothing happens outside, and
        Error for what cannot be watched.

        Parameters:
            file: a descriptor, or an object with fileno(), such as a socket: keep it open until
                the event was fired."""
        what = f"the event {name!r}"
        return self._events.fire_when_readable(
            _descriptor_of(file, what), _target_of(target, what), _check_name(name, what))

    def fire_on_signal(self, number, target, name):
        """Fires an event, without a value, when this process gets a signal, such as
        signal.SIGUSR2, in place of the signal's default action; returns a number for cancel().
        Never blocks.

        Raises as fire_when_readable(): Error for a signal that has a handler of signal.signal(),
        and for SIGKILL and SIGSTOP, which no process can catch."""
        what = f"the event {name!r}"
        number = _integer_of(number, 1, signal.NSIG - 1, what,
                             "no signal: give one of the module signal")
        return self._events.fire_on_signal(number, _target_of(target, what),
                                           _check_name(name, what))

    def fire_when_memory_above(self, size_bytes, target, name):
        """Fires an event, without a value, when the resident memory of this process exceeds a
        number of bytes; returns a number for cancel(). Never blocks. Raises as
        fire_when_readable()."""
        what = f"the event {name!r}"
        size_bytes = _integer_of(size_bytes, 1, 2**63 - 1, what,
                                 "no size: give a number of bytes, at least 1")
        return self._events.fire_when_memory_above(size_bytes, _target_of(target, what),
                                                   _check_name(name, what))

    def cancel(self, number):
        """Cancels an event of fire_after() or of the machine, by the number that the call has
        returned; returns whether it was not fired yet."""
        return self._events.cancel(_integer_of(
            number, 0, 2**64 - 1, "Events.cancel()", "no number of an event: give one that "
            "fire_after() or an event of the machine has returned"))

    def wait(self, dependencies):
        """Parks the task until the events are there, and returns them in a list. The named locks of
        the task are released meanwhile. Raises CheckError in a handler, CancelledError when the
        world fails."""
        return self._list_of(self._events.wait(_pairs_of(dependencies, "Events.wait()"), False))

    def wait_any(self, dependencies):
        """Parks the task until an event for one of the dependencies is there, and returns it."""
        pairs = _pairs_of(dependencies, "Events.wait_any()")
        return self._list_of(self._events.wait(pairs, True))[0]

    def retrieve_any(self, dependencies):
        """The first event that has arrived for each dependency, if there is one, in a list. Never
        blocks."""
        pairs = _pairs_of(dependencies, "Events.retrieve_any()")
        return self._list_of(self._events.retrieve_any(pairs))

    def lock(self, name):
        """Takes the lock of a name, of this rank; parks the task until it is free. A task that ends
        releases its locks. Raises CheckError in a handler, and where the task holds the lock;
        CancelledError when the world fails."""
        self._events.lock(_check_name(name, "Events.lock()", "the lock's name"))

    def try_lock(self, name):
        """Whether the lock was free, and is held now. Never blocks."""
        return self._events.try_lock(_check_name(name, "Events.try_lock()", "the lock's name"))

    def unlock(self, name):
        """Releases the lock of a name. Never blocks. Raises CheckError unless the task holds it."""
        self._events.unlock(_check_name(name, "Events.unlock()", "the lock's name"))

    def locked(self, name):
        """Holds the lock of a name for a block: `with events.locked("results"):`."""
        return _Locked(self, _check_name(name, "Events.locked()", "the lock's name"))

    def remove(self, task_name):
        """Removes the earliest submitted task of a name; returns whether there was one."""
        return self._events.remove(_check_name(task_name, "Events.remove()", "the task's name"))

    def is_submitted(self, task_name):
        """Whether a task of this name waits for events, or is persistent."""
        return self._events.is_submitted(
            _check_name(task_name, "Events.is_submitted()", "the task's name"))
