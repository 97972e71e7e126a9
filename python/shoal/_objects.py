"""Distributed objects: a representative on each rank, whose methods any rank invokes."""

from . import _core, _errors, _wire
from ._run import _in_world, _rank_of, _team_of


class _Method:
    """A method of the representative of a rank."""

    def __init__(self, target, rank, name, function):
        self._target = target
        self._rank = rank
        self._name = name
        self._function = function  # of its class

    def _encode(self, arguments, keywords):
        what = f"an argument of {type(self._target).__name__}.{self._name}()"
        kind = _class_name(self._target)
        return _wire.dump((kind, self._name, arguments, keywords), what)

    def __call__(self, *arguments, **keywords):
        """Invokes the method; returns the future of its result."""
        return self._target._shoal.call(self._rank, self._encode(arguments, keywords),
                                        self._function)

    def send(self, *arguments, **keywords):
        """Invokes the method and ignores its result; an exception fails the world."""
        self._target._shoal.send(self._rank, self._encode(arguments, keywords), self._function)


class Proxy:
    """Base of objects that stand for one of another rank, and have methods only."""

    def __init__(self, **attributes):
        vars(self).update(attributes)

    def __setattr__(self, name, value):
        raise AttributeError(
            f"{name!r} of {self!r} cannot be written from here: give its class a method that sets "
            "it, and call that")

    def __delattr__(self, name):
        raise AttributeError(f"{name!r} of {self!r} cannot be deleted from here: give its class a "
                             "method that does it, and call that")


class _Representative(Proxy):
    """The representative of a rank, as any rank sees it."""

    def __getattr__(self, name):
        kind = type(self._target)
        function = getattr(kind, name, None)
        if name.startswith("_") or not callable(function):
            raise AttributeError(
                f"{kind.__name__} has no public method {name!r}: other ranks invoke methods, and "
                "do not read attributes")
        return _Method(self._target, self._rank, name, function)

    def __repr__(self):
        return f"<{type(self._target).__name__} on rank {self._rank}>"


class Object:
    """Base of classes of distributed objects. All ranks make the object in their main functions, in
    the same order; each has a representative of its own.

        class Bank(shoal.Object):
            def __init__(self):
                super().__init__()
                self.balance = 0

            def deposit(self, amount):
                self.balance += amount
                return self.balance

        bank = Bank()
        bank[1].deposit(5).result()
        bank[1].deposit.send(5)

    Invocations of one task on one rank run in the order in which they were made; on a rank one runs
    at a time, and while it waits, others may run. Arguments and results are pickled."""

    _made = None  # by __init__()

    def __init__(self, team=None):
        self._made = _team_of(team, type(self).__name__)
        self._shoal = _core._Object(self._team, self)

    @property
    def _team(self):
        if self._made is None:
            raise _errors.CheckError(
                f"{type(self).__name__}.__init__() has not called super().__init__(), which makes "
                "the distributed object")
        return self._made

    def __getitem__(self, rank):
        """The representative of a rank."""
        rank = _rank_of(self._team, rank, f"{type(self).__name__}[...]")
        return _Representative(_target=self, _rank=rank)

    def __len__(self):
        return self._team.size

    def __bool__(self):
        return True

    def __iter__(self):
        return (self[rank] for rank in range(len(self)))

    def fence(self):
        """Returns when all invocations, and all other work of the team, have ended on all ranks.
        Collective."""
        self._shoal.fence()

    def __reduce_ex__(self, protocol):
        raise TypeError(f"a {type(self).__name__} is a distributed object and is not sent: its "
                        "methods know it as self on each rank")


def _class_name(target):
    # Without its module, which is `__main__` in some processes only.
    return type(target).__qualname__


def invoke(world, target, body, buffers):
    """Runs an invocation of another rank."""
    rank = world.rank
    name = ""
    try:
        kind, name, arguments, keywords = _wire.load(body, buffers)
        if kind != _class_name(target):
            raise _errors.CheckError(
                f"an invocation of {kind}.{name}() met an object of {_class_name(target)} on rank "
                f"{rank}: all ranks must make their distributed objects in the same order, of the "
                "same classes")
        result = _in_world(world, _invoke_method, target, name, arguments, keywords)
        return False, _wire.dump(result, f"the result of {type(target).__name__}.{name}()")
    except _errors.CancelledError:
        raise
    except BaseException as error:
        return True, _wire.dump_error(error, rank)


def _invoke_method(target, name, arguments, keywords):
    from ._tasks import _run_body
    return _run_body(getattr(target, name), arguments, keywords)
