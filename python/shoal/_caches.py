"""Copies of values of other ranks, kept until the program says that they are out of date."""

import threading

from . import _core, _errors, _wire
from ._objects import Object
from ._run import _call_to_end, _check_name, _function_of, _integer_of, _rank_of, _team_of
from ._sync import Promise


class Cache(_wire.OfRank):
    """Values by keys, each fetched once and kept until invalidate(). Each rank has copies of its
    own; requests for one key at the same time share a fetch.

        cache = shoal.Cache(lambda key: table[owner(key)].find(key))
        value = cache.get("x")

    Parameters:
        fetch: function of a key that returns its value, or a future of it. It may wait.
        items_max: number of copies that are kept: the one that was not used for longest goes first.
            Default: all.
        name: in reports.

    Attributes: hits and misses, the numbers of get() with and without a copy.

    Keys can be hashed. All that get a copy share it: do not change it."""

    def __init__(self, fetch, *, items_max=None, name="a cache"):
        _function_of(fetch, "shoal.Cache")
        if items_max is not None:
            items_max = _integer_of(items_max, 1, 2**63 - 1, "shoal.Cache: items_max",
                                    "no number of copies: give 1 at least")
        self._fetch = fetch
        self._items_max = items_max
        self._name = _check_name(name, "shoal.Cache")
        self._lock = threading.Lock()  # held for a moment, and never during a wait
        self._futures = {}  # by keys; the one that was used last is the last one
        self.hits = 0
        self.misses = 0

    def get(self, key):
        """The value of a key. Parks the task during a fetch; raises what fetch() raises."""
        with self._lock:
            future = self._futures.pop(key, None)
            if future is not None:
                self._futures[key] = future
                self.hits += 1
            else:
                promise = Promise(self._name)
                self._futures[key] = promise.future
                self.misses += 1
                self._evict()
        if future is not None:
            return future.result()
        return self._fill(key, promise)

    def _fill(self, key, promise):
        try:
            value = _call_to_end(self._fetch, (key,), {})
            if isinstance(value, _core.Future):
                value = value.result()
        except BaseException as error:
            self._drop(key, promise.future)
            if isinstance(error, Exception):
                promise.set_exception(error)
                promise.future.exception()  # one that nobody asks would fail the run
            raise
        promise.set_result(value)
        return value

    def _drop(self, key, future):
        with self._lock:
            if self._futures.get(key) is future:
                del self._futures[key]

    def _evict(self):
        while self._items_max is not None and len(self._futures) > self._items_max:
            del self._futures[next(iter(self._futures))]

    def invalidate(self, *keys):
        """Drops the copies of keys, or all, on this rank: the next get() fetches them again. Never
        blocks."""
        with self._lock:
            for key in keys or list(self._futures):
                self._futures.pop(key, None)

    def collective_invalidate(self, team=None):
        """Drops all copies on all ranks; changes of all ranks before it are seen after it.
        Collective; parks the caller."""
        _team_of(team, "collective_invalidate()").barrier()
        self.invalidate()

    def __len__(self):
        return len(self._futures)


class _Place(Object):
    def __init__(self, value, team):
        self.value = value
        super().__init__(team)

    def read(self):
        return self.value


class GlobalVar(_wire.OfRank):
    """A value of one rank that all ranks read. Made in the main function, on all ranks in the same
    order. Others keep a copy until refresh(), which the program calls after a change.

    Parameters:
        value: at first; that of the owner counts.
        owner: the rank that has it.
        team: default: the world."""

    def __init__(self, value=None, owner=0, team=None):
        self._team = _team_of(team, "shoal.GlobalVar")
        self._owner = _rank_of(self._team, owner, "shoal.GlobalVar: the owner")
        self._place = _Place(value if self._is_here() else None, self._team)
        self._cache = Cache(lambda key: self._place[self._owner].read(), name="a global variable")

    def _is_here(self):
        return self._team.rank == self._owner

    @property
    def owner(self):
        """The rank that has the value, and may set() it."""
        return self._owner

    def get(self):
        """The value. Parks the task if this rank has no copy. All that get it share it: do not
        change it."""
        return self._place.value if self._is_here() else self._cache.get(None)

    def set(self, value):
        """Sets the value, on the owner only: CheckError elsewhere. Others get it after their
        refresh()."""
        if not self._is_here():
            raise _errors.CheckError(
                f"set() of a shoal.GlobalVar of rank {self._owner} on rank {self._team.rank}: only "
                "its owner writes it")
        self._place.value = value

    def refresh(self):
        """Drops the copy of this rank: the next get() fetches the value again. Never blocks."""
        self._cache.invalidate()
