"""Sequential task flow: tasks in program order, with the data that they read and write."""

import copy
import functools
import inspect
import sys

from . import _core, _errors, _wire
from ._run import (_call_to_end, _check_name, _function_of, _in_world, _integer_of, _name_of,
                   _priority_of, _rank_of, _retries_of, _signature_of, _team_of, current_world)
from ._tasks import _resolved


class Mode:
    """How a task uses a datum: shoal.read, write, read_write, commutative or scratch."""

    def __init__(self, name, letter, doc):
        self.name = name
        self.letter = letter
        self.__doc__ = doc

    def __repr__(self):
        return f"shoal.{self.name}"


read = Mode("read", "r", "The task reads the value; arrays are read-only.")
write = Mode("write", "w", "The task writes the whole value, and does not need the old one.")
read_write = Mode("read_write", "u", "The task reads and writes the value.")
commutative = Mode("commutative", "c", "As read_write, in any order among commutative tasks.")
scratch = Mode("scratch", "s", "Memory of the shape of the datum for the time of the task.")

_CONSTANT = (int, float, complex, str, bytes)
_CHANGES = (write, read_write, commutative, scratch)


def _is_array(value):
    numpy = sys.modules.get("numpy")
    return numpy is not None and isinstance(value, numpy.ndarray)


def _is_constant(value):
    numpy = sys.modules.get("numpy")
    return isinstance(value, _CONSTANT) or numpy is not None and isinstance(value, numpy.generic)


def _as_readable(value):
    if _is_array(value):
        value = value.view()
        value.flags.writeable = False
    return value


def adopt(old, new):
    """The value of a datum after `new` has come for it: the old array, with the new elements, if
    there is one that they fit."""
    if new is old:
        return old
    if _is_array(old) and _is_array(new) and old.shape == new.shape and old.flags.writeable:
        import numpy
        if numpy.can_cast(new.dtype, old.dtype, "same_kind"):
            old[...] = new
            return old
    return new


def _memory_of(array):
    """Identity of the memory of an array: equal for equal views of one memory."""
    about = array.__array_interface__
    return about["data"][0], array.shape, array.strides, array.dtype.str


class Datum:
    """A value that a flow knows, the same one on all ranks; made by Flow.data().

    Attributes: name; owner, the rank where it lives."""

    def __init__(self, flow, datum, name, owner, array, form):
        self._flow = flow
        self._datum = datum
        self._array = array  # of the program; None: there is none
        self._form = form  # shape and type of the elements of an array
        self.name = name
        self.owner = owner

    def get(self):
        """A copy of the value, on every rank. Collective; parks the caller."""
        return self._flow.get(self)

    def _check(self, value, task):
        """Refuses a value that does not fit in the array."""
        if self._form is None:
            return
        import numpy
        if _is_array(value) and value.shape == self._form[0] and numpy.can_cast(
                value.dtype, self._form[1], "same_kind"):
            return
        text = f"{value.dtype}{value.shape}" if _is_array(value) else repr(value)
        raise _errors.CheckError(
            f"flow task {task} returns {text} for {self.name!r}, an array "
            f"{self._form[1]}{self._form[0]}: return one that fits, or change it in place")

    def _blank(self):
        """An array of the shape of the datum, for a task that writes it."""
        if self._form is None:
            return None
        import numpy
        return numpy.zeros(*self._form)

    def __repr__(self):
        return f"<shoal datum {self.name!r} of rank {self.owner}>"

    def __reduce_ex__(self, protocol):
        raise TypeError("a Datum belongs to its flow and is not sent: give it to tasks of the flow")


class Tiles:
    """Tiles of an array, which are data of their own: A[i, j]; made by Flow.tiles().

    Attributes: name; shape, the number of tiles in each dimension."""

    def __init__(self, name, shape, tiles):
        self.name = name
        self.shape = shape
        self._tiles = tiles

    def __getitem__(self, index):
        index = index if isinstance(index, tuple) else (index,)
        try:
            return self._tiles[index]
        except (KeyError, TypeError):
            raise IndexError(f"{self.name!r} has no tile {index}: it has {self.shape}") from None

    def __iter__(self):
        return iter(self._tiles.values())

    def __len__(self):
        return len(self._tiles)


class FlowTask:
    """A function whose calls are tasks of a flow; made by @flow.task or @shoal.flow_task."""

    def __init__(self, function, modes, flow, name, priority, rank, retries):
        functools.update_wrapper(self, function)
        self._function = function
        self._signature = _signature_of(function)
        self._modes = modes
        self._flow = flow
        self._name = _check_name(name or _name_of(function).rpartition(".")[2], "a flow task")
        self._priority = _priority_of(priority, f"flow task {self._name}")
        self._rank = rank
        self._retries = _retries_of(retries, f"flow task {self._name}")
        self._codelet = _core._Codelet(self._name)
        for parameter, mode in modes.items():
            if not isinstance(mode, Mode):
                raise _errors.CheckError(
                    f"flow task {self._name}: {parameter}={mode!r} is no mode: give shoal.read, "
                    "write, read_write, commutative or scratch")
            if parameter not in self._signature.parameters:
                raise _errors.CheckError(
                    f"flow task {self._name}: it has no parameter {parameter!r}, but a mode for it")

    def on(self, rank):
        """The same task, run on a rank wherever its data live."""
        return self.with_options(rank=rank)

    def with_options(self, *, name=None, priority=None, rank=None, retries=None):
        """The same task with other options."""
        made = copy.copy(self)
        if name is not None and name != self._name:
            made._name, made._codelet = name, _core._Codelet(_check_name(name, "a flow task"))
        made._priority = self._priority if priority is None else _priority_of(
            priority, f"flow task {made._name}")
        made._rank = self._rank if rank is None else rank
        made._retries = self._retries if retries is None else _retries_of(
            retries, f"flow task {made._name}")
        return made

    def __call__(self, *arguments, **keywords):
        """Inserts the task, on all ranks in the same order; it runs on one. Returns nothing: tasks
        inserted later see what it writes, and Flow.get() returns it. Parks the caller while too
        many tasks are under way."""
        bound = self._signature.bind(*arguments, **keywords)
        flow = self._flow_of(bound.arguments.values())
        names, data = [], []
        for parameter, value in bound.arguments.items():
            if parameter in self._modes:
                names.append(parameter)
                data.append(flow._datum_of(value, f"{self._name}({parameter}=)"))
            elif isinstance(value, (Datum, Tiles)):
                raise _errors.CheckError(
                    f"flow task {self._name}: {parameter} is {value!r}, but has no mode: say "
                    f"@flow.task({parameter}=shoal.read), or another one")
        if not data:
            raise _errors.CheckError(
                f"flow task {self._name} has no data: give it one with a mode, or make it a "
                "shoal.task")
        body = functools.partial(self._run, flow._world, bound, names, data)
        rank = None if self._rank is None else _rank_of(flow._team, self._rank,
                                                        f"flow task {self._name}")
        flow._flow.insert(self._codelet, [datum._datum for datum in data],
                          "".join(self._modes[name].letter for name in names), body,
                          self._priority, rank, self._retries, self._function)

    def _flow_of(self, values):
        for value in values:
            if self._flow is None and isinstance(value, Datum):
                return value._flow
        if self._flow is None:
            raise _errors.CheckError(
                f"flow task {self._name}: none of its arguments is a datum: register values by "
                "Flow.data() or Flow.tiles()")
        return self._flow

    def _run(self, world, bound, names, data, values):
        """Runs the function on values of its data; returns the values afterwards."""
        for index, (name, datum) in enumerate(zip(names, data)):
            if values[index] is None and self._modes[name] in _CHANGES:
                values[index] = datum._blank()
        others = {name: value for name, value in bound.arguments.items() if name not in names}
        arguments = bound.arguments | _resolved((), others)[1]
        for name, value in zip(names, values):
            arguments[name] = value if self._modes[name] in _CHANGES else _as_readable(value)
        call = inspect.BoundArguments(self._signature, arguments)
        result = _in_world(world, _call_to_end, self._function, call.args, call.kwargs)
        self._store(names, data, values, result)
        return values

    def _store(self, names, data, values, result):
        changed = [index for index, name in enumerate(names)
                   if self._modes[name] in (write, read_write, commutative)]
        if result is None:
            for index in changed:
                value, mode = values[index], self._modes[names[index]]
                if _is_constant(value) or value is None and mode is write:
                    raise _errors.CheckError(
                        f"flow task {self._name} has not written {names[index]!r}: what was there, "
                        f"{value!r}, cannot be changed in place, so return its value")
            return
        news = result if isinstance(result, tuple) and len(changed) > 1 else (result,)
        if len(news) != len(changed):
            raise _errors.CheckError(
                f"flow task {self._name} returns {len(news)} values, and changes {len(changed)} "
                "data: return one value for each in the order of the parameters, or None to keep "
                "what it has changed in place")
        for index, new in zip(changed, news):
            data[index]._check(new, self._name)
            values[index] = adopt(values[index], new)

    def __repr__(self):
        return f"<shoal flow task {self._name}>"


def flow_task(function=None, *, name=None, priority=0, rank=None, retries=0, _flow=None, **modes):
    """Decorator: calls of the function insert tasks into the flow of their data, on all ranks in
    the same order.

        @shoal.flow_task(a=shoal.read, b=shoal.read_write)
        def add(a, b, factor=1):
            b += factor * a

    Parameters with a mode are data: the function gets their values. It changes arrays and other
    mutable values in place, or returns new values: one for each datum that it changes, in the order
    of the parameters. Others are values of the rank that runs the task. It runs on the owner of the
    data that it changes.

    Parameters:
        name: in reports; default: that of the function.
        priority: larger runs first.
        rank: on which it runs.
        retries: how often the body runs again after an Exception, with the values from before.
            What an attempt sends, starts or fires happens once it has succeeded, and it must not
            wait.
        others: the modes of the parameters of the function."""
    def make(function):
        return FlowTask(_function_of(function, "shoal.flow_task"), modes, _flow, name, priority,
                        rank, retries)
    return make if function is None else make(function)


class Flow(_wire.OfRank):
    """Tasks in program order: the result is that of running them one after the other. Made in the
    main function, on all ranks in the same order, with the same data and the same tasks.

    Values travel by themselves, once to each rank whose tasks read them.

    Parameters:
        name: in reports.
        team: default: the world.
        tasks_max: inserted tasks of a rank that have not ended; the inserter waits beyond.
        check_reads: whether tasks are checked not to change what they only read."""

    def __init__(self, name="flow", team=None, *, tasks_max=4096, check_reads=False):
        self._world = current_world()
        self._team = _team_of(team, "shoal.Flow")
        _check_name(name, "shoal.Flow")
        tasks_max = _integer_of(tasks_max, 1, 2**63 - 1, f"flow {name!r}: tasks_max",
                                "no number of tasks: give 1 at least")
        self._flow = _core._Flow(self._team, name, tasks_max, bool(check_reads))
        self._name = name
        self._count = 0
        self._places = {}  # data of arrays, by _memory_of()

    def data(self, value=None, owner=0, name=None):
        """Registers a value; returns its Datum. Collective.

        Parameters:
            value: anything that can be pickled; it counts on the owner. Of an array, all ranks give
                one of the same shape and type: tasks of the owner change that of the owner itself,
                and no other code uses it until the flow has ended. None: no value before a task
                writes it.
            owner: the rank where it lives, and where tasks that change it run.
            name: in reports."""
        name = _check_name(name or f"datum {self._count}", f"flow {self._name!r}",
                           "the datum's name")
        if not _is_array(value):
            return self._register(value, None, owner, name)
        self._check_array(value, name)
        return self._register(value, (value.shape, value.dtype), owner, name)

    def _register(self, value, form, owner, name):
        self._count += 1
        owner = _rank_of(self._team, owner, f"flow {self._name!r}: the owner of {name!r}")
        array = value if _is_array(value) else None
        text = "" if form is None else f"{form[1]}{form[0]}"
        made = Datum(self, self._flow.data(value, owner, name, text), name, owner, array, form)
        if array is not None:
            self._places[_memory_of(array)] = made
        return made

    def tiles(self, array, tile, owner=None, name="A", dtype=float):
        """Registers the tiles of an array as data of their own; returns them as Tiles. Collective.

        Parameters:
            array: numpy array of any number of dimensions, of the same shape on all ranks: tiles
                are views of it. Or a shape: tiles of zeros in memory of the flow.
            tile: shape of a tile; the last ones may be smaller.
            owner: function of the indices of a tile that returns its rank; default: the ranks in
                turn.
            name, dtype: in reports; of the elements if a shape is given."""
        import itertools
        import numpy
        shape = tuple(array) if isinstance(array, (tuple, list)) else numpy.shape(array)
        _check_name(name, f"flow {self._name!r}: tiles()")
        what = f"flow {self._name!r}: tiles of {tile} for {name!r}, an array of {shape}"
        tile = tile if isinstance(tile, (tuple, list)) else (tile, )
        tile = tuple(_integer_of(n, 1, 2**63 - 1, what, "no size: give a positive size for each "
                                 "dimension") for n in tile)
        if len(tile) != len(shape):
            raise _errors.CheckError(f"{what}: give a positive size for each dimension")
        if owner is not None:
            _function_of(owner, f"flow {self._name!r}: the owner of tiles of {name!r}", False)
        if _is_array(array):
            self._check_array(array, name)
        grid = tuple(-(-size // step) for size, step in zip(shape, tile))
        made = {}
        for number, index in enumerate(itertools.product(*map(range, grid))):
            part = tuple(slice(i * step, min((i + 1) * step, size))
                         for i, step, size in zip(index, tile, shape))
            rank = number % self._team.size if owner is None else owner(*index)
            form = (tuple(one.stop - one.start for one in part), numpy.dtype(dtype))
            value = None
            if _is_array(array):
                value, form = array[part], (form[0], array.dtype)
            elif rank == self._team.rank:
                value = numpy.zeros(*form)
            made[index] = self._register(value, form, rank,
                                         f"{name}[{','.join(map(str, index))}]")
        return Tiles(name, grid, made)

    def _check_array(self, array, name):
        import numpy
        if not array.flags.writeable:
            raise _errors.CheckError(
                f"flow {self._name!r}: the array of {name!r} is read-only: give a copy of it")
        for other in self._places.values():
            if other._array is not None and numpy.may_share_memory(array, other._array) and (
                    numpy.shares_memory(array, other._array)):
                raise _errors.CheckError(
                    f"flow {self._name!r}: the array of {name!r} shares memory with "
                    f"{other.name!r}, which the flow knows: register parts that do not overlap")

    def _datum_of(self, value, what):
        if isinstance(value, Datum):
            if value._flow is not self:
                raise _errors.CheckError(f"{what} got {value!r} of another flow: register it here")
            return value
        if _is_array(value) and _memory_of(value) in self._places:
            return self._places[_memory_of(value)]
        text = f"an array of shape {value.shape}" if _is_array(value) else repr(value)
        raise _errors.CheckError(
            f"{what} got {text}, which is no datum of flow {self._name!r}: register it by "
            "flow.data(value, owner=), or arrays in parts by flow.tiles()")

    def task(self, function=None, **options):
        """Decorator, as shoal.flow_task(), of tasks of this flow: they also take the arrays that
        were registered, and equal views of them, in place of their data."""
        return flow_task(function, _flow=self, **options)

    def wait(self, datum=None):
        """Returns when the tasks of this rank have ended: all, or those that use a datum. Parks the
        caller. Raises TaskError if one has failed."""
        if datum is None:
            self._flow.wait()
        else:
            self._flow.wait_for(self._datum_of(datum, "wait()")._datum)

    def get(self, datum):
        """A copy of the value of a datum, on every rank. Collective; parks the caller."""
        return self._flow.value(self._datum_of(datum, "get()")._datum)

    def unregister(self, datum):
        """Ends a datum: its value returns to its owner, where the program may use the array again.
        Collective; parks the caller on that rank."""
        datum = self._datum_of(datum, "unregister()")
        self._flow.unregister(datum._datum)
        if datum._array is not None:
            self._places.pop(_memory_of(datum._array), None)
            datum._array = None

    def migrate(self, datum, rank):
        """Makes a rank the owner of a datum for the tasks inserted from now on. Collective;
        does not wait."""
        datum = self._datum_of(datum, "migrate()")
        datum.owner = _rank_of(self._team, rank, f"flow {self._name!r}: migrate()")
        self._flow.migrate(datum._datum, datum.owner)

    def __repr__(self):
        return f"<shoal flow {self._name!r} of {self._count} data>"
