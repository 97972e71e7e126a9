"""Tasks that run when the events that they depend on have come."""

import typing

from . import _core, _errors, _wire
from ._run import _in_world, _name_of, current_world

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
Event.value.__doc__ = "A copy of its value."


def _peer_of(peer, what):
    if isinstance(peer, str) and peer in _PEERS:
        return _PEERS[peer]
    if isinstance(peer, bool) or not isinstance(peer, int) or peer < 0:
        raise _errors.CheckError(
            f"{what}: {peer!r} is no rank: give an integer, shoal.SELF, shoal.ANY or shoal.ALL")
    return peer


def _name_of_event(name, what):
    if not isinstance(name, str):
        raise _errors.CheckError(f"{what}: the name of the event is {name!r}: give a str")
    return name


def _pairs_of(dependencies, what):
    pairs = []
    for dependency in dependencies:
        if not isinstance(dependency, tuple) or len(dependency) != 2:
            raise _errors.CheckError(
                f"{what}: the dependency {dependency!r} is no pair of a source and a name, such "
                "as (shoal.ANY, 'ready')")
        pairs.append((_peer_of(dependency[0], what), _name_of_event(dependency[1], what)))
    return pairs


class Events:
    """Tasks and events of a rank. Made in the main function, on all ranks in the same order.

    A task names the events that it depends on by source and name, and runs once it has them all.
    world.wait() returns when, on all ranks, tasks have run and events have been consumed.

    Parameters:
        name: in reports.
        team: default: the world."""

    def __init__(self, name="events", team=None):
        self._world = current_world()
        self._events = _core._Events(team or self._world, name)

    def submit(self, dependencies, function, *, name=None, persistent=False, greedy=False,
               priority=0):
        """Runs function(events) once its dependencies are met; at once if there are none.

        Parameters:
            dependencies: pairs of a source (a rank, shoal.SELF, ANY or ALL) and a name.
            function: gets a list of Event in the order of the dependencies; with ALL, one for
                each rank.
            persistent: runs as often as its dependencies are met.
            greedy: persistent only: takes all events that fit until it begins to run."""
        what = "Events.submit()"
        if not callable(function):
            raise _errors.CheckError(f"{what}: {function!r} cannot be called: give a function")
        world = self._world

        def run(events):
            from ._tasks import _run_body
            _in_world(world, _run_body, function, ([Event(*event) for event in events],), {})

        self._events.submit(_pairs_of(dependencies, what), run, name or _name_of(function),
                            persistent, greedy, priority, function)

    def fire(self, target, name, value=None, *, persistent=False):
        """Fires an event to a rank, shoal.SELF or shoal.ALL, with a copy of the value, which is
        pickled. A persistent one is there again on the target as soon as a task has got it. Parks
        the task while too much is under way to the target."""
        what = f"the event {name!r}"
        self._events.fire(_peer_of(target, what), _name_of_event(name, what),
                          _wire.dump(value, f"the value of {what}"), persistent)

    def fire_after(self, seconds, target, name, value=None):
        """Fires an event once a time in seconds has passed, virtual ones in a simulation; returns a
        number for cancel(). Does not wait."""
        what = f"the event {name!r}"
        return self._events.fire_after(seconds, _peer_of(target, what),
                                       _name_of_event(name, what),
                                       _wire.dump(value, f"the value of {what}"))

    def cancel(self, number):
        """Cancels an event of fire_after(); returns whether it was not fired yet."""
        return self._events.cancel(number)

    def wait(self, dependencies):
        """Parks the task until the events are there, and returns them in a list. Raises CheckError
        in a handler, CancelledError when the world fails."""
        pairs = _pairs_of(dependencies, "Events.wait()")
        return [Event(*event) for event in self._events.wait(pairs, False)]

    def wait_any(self, dependencies):
        """Parks the task until an event for one of the dependencies is there, and returns it."""
        pairs = _pairs_of(dependencies, "Events.wait_any()")
        return Event(*self._events.wait(pairs, True)[0])

    def retrieve_any(self, dependencies):
        """The first event that has arrived for each dependency, if there is one, in a list. Never
        blocks."""
        pairs = _pairs_of(dependencies, "Events.retrieve_any()")
        return [Event(*event) for event in self._events.retrieve_any(pairs)]

    def remove(self, task_name):
        """Removes the earliest submitted task of a name; returns whether there was one."""
        return self._events.remove(task_name)

    def is_submitted(self, task_name):
        """Whether a task of this name waits for events, or is persistent."""
        return self._events.is_submitted(task_name)
