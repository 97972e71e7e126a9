"""Task graphs whose keys are Python objects, and the bytes by which keys are known."""

import io
import numbers
import pickle
import struct

from . import _core, _errors, _wire
from ._run import (_check_name, _function_of, _integer_of, _signature_of, _team_of,
                   current_world)

_TEXT_MAX = 80  # characters of a key in reports


def encode_key(key):
    """Canonical bytes of a key: equal for equal keys, on every rank and in every process. hash()
    is not used, as it differs between processes. Numbers, strings and bytes are known by their
    values, whatever their types."""
    kind = type(key)
    if key is None:
        return b"N"
    if kind in (int, bool) or (kind is float and key.is_integer()):
        return b"i%x;" % int(key)  # decimal digits of large numbers are limited
    if kind is float:
        return b"f" + struct.pack("<d", key)
    if kind is str:
        return _with_length(b"s", key.encode("utf-8", "surrogatepass"))
    if kind is bytes:
        return _with_length(b"b", key)
    if kind is tuple:
        return b"t%d;" % len(key) + b"".join(map(encode_key, key))
    if kind is frozenset:
        return b"z%d;" % len(key) + b"".join(sorted(map(encode_key, key)))
    try:
        hash(key)
    except TypeError:
        raise _errors.CheckError(
            f"the key {_text_of(key)} of type {kind.__name__} cannot be hashed: give a value that "
            "does not change, such as a tuple in place of a list") from None
    code = _code_of_value(key)
    if code is not None:
        return code
    try:
        return _pickled(key)
    except Exception as error:
        raise _errors.CheckError(
            f"the key {_text_of(key)} of type {kind.__name__} cannot be sent to another rank: "
            f"{error}: give a value that can be pickled") from error


def _plain_value(key):
    """The int, float, str or bytes that is the same key of a dict as a value of another type, such
    as a number of numpy or a member of an IntEnum; None if there is none."""
    if isinstance(key, numbers.Complex) and key.imag == 0:
        key = key.real
    if isinstance(key, str):
        candidates = (str.__str__,)
    elif isinstance(key, bytes):
        candidates = (bytes,)
    elif isinstance(key, numbers.Number) or type(key).__name__ in ("bool_", "bool"):  # of numpy
        candidates = (int, float)
    else:
        return None
    for candidate in candidates:
        try:
            plain = candidate(key)
            if plain == key and hash(plain) == hash(key):
                return plain
        except (ArithmeticError, TypeError, ValueError):  # of infinity, or it is not real
            pass
    return None


def _code_of_value(key):
    """Canonical bytes of a number, a str or bytes of another type; None if it is none of them."""
    plain = _plain_value(key)
    if plain is not None:
        return encode_key(plain)
    try:  # of decimal and fractions
        ratio = key.as_integer_ratio() if isinstance(key, numbers.Number) else None
    except (ArithmeticError, AttributeError, ValueError):
        ratio = None
    return None if ratio is None else b"q2;" + b"".join(map(encode_key, ratio))


class _Pickler(pickle.Pickler):
    """Parts of a key whose bytes pickle does not decide by their values get canonical ones."""

    def persistent_id(self, part):
        kind = type(part)
        if kind is dict:
            return b"d%d;" % len(part) + b"".join(
                sorted(encode_key(name) + _pickled(value) for name, value in part.items()))
        if kind is set:
            return b"y" + encode_key(frozenset(part))[1:]
        if kind in (int, bool, float, str, bytes, frozenset):
            return encode_key(part)
        if isinstance(part, (set, frozenset)):
            raise TypeError(f"the order of a {kind.__name__} depends on hash(): use a frozenset")
        return _code_of_value(part)


class _Unpickler(pickle.Unpickler):
    def persistent_load(self, code):
        return decode_key(code)


def _pickled(part):
    out = io.BytesIO()
    pickler = _Pickler(out, protocol=5)
    pickler.fast = True  # no references between equal parts, which may be one object or two
    pickler.dump(part)
    return _with_length(b"p", out.getvalue())


def _with_length(kind, data):
    return kind + b"%d;" % len(data) + data


def decode_key(code):
    """The key of canonical bytes. Numbers that are whole are int."""
    key, end = _decode(code, 0)
    if end != len(code):
        raise _errors.DecodeError(f"bytes are left behind a key: {code!r}")
    return key


def _decode(code, at):
    kind = code[at:at + 1]
    if kind == b"N":
        return None, at + 1
    if kind == b"f":
        return struct.unpack_from("<d", code, at + 1)[0], at + 9
    end = code.index(b";", at)
    number, at = int(code[at + 1:end], 16 if kind == b"i" else 10), end + 1
    if kind == b"i":
        return number, at
    if container := _CONTAINERS.get(kind):
        items = []
        for _ in range(2 * number if container is _dict_of else number):
            item, at = _decode(code, at)
            items.append(item)
        return container(items), at
    data, at = code[at:at + number], at + number
    if kind == b"s":
        return data.decode("utf-8", "surrogatepass"), at
    return (data if kind == b"b" else _Unpickler(io.BytesIO(data)).load()), at


def _dict_of(items):
    return dict(zip(items[::2], items[1::2]))


def _ratio_of(items):
    import fractions
    return fractions.Fraction(*items)


_CONTAINERS = {b"t": tuple, b"z": frozenset, b"y": set, b"d": _dict_of, b"q": _ratio_of}


def _text_of(key):
    try:
        text = repr(key)
    except ValueError:  # a number with too many digits
        text = f"a {type(key).__name__}"
    return text if len(text) <= _TEXT_MAX else text[:_TEXT_MAX - 3] + "..."


def call_with_key(function, code):
    return function(decode_key(code))


def call_with_inputs(function, code, inputs):
    """Runs a task with the values that have come for its inputs, as (name, body, buffers)."""
    key = decode_key(code)
    return function(key, [(name, _wire.load(body, buffers)) for name, body, buffers in inputs])


class _Inputs:
    """Parameters of a task behind its key: those that take one value, and the one, as *parts, that
    takes all that come."""

    def __init__(self, task, graph):
        self._graph = graph
        self.names, self.defaults, self.rest = [], {}, None
        self.keywords = set()  # that are given by name only
        try:
            key, *parameters = _signature_of(task).parameters.values()
        except (TypeError, ValueError):  # a function of C, or one without parameters
            return
        if key.kind is key.VAR_POSITIONAL:  # it takes whatever comes
            return
        for parameter in parameters:
            if parameter.kind is parameter.VAR_POSITIONAL:
                self.rest = parameter.name
            elif parameter.kind is parameter.VAR_KEYWORD:
                continue
            else:
                self.names.append(parameter.name)
                if parameter.default is not parameter.empty:
                    self.defaults[parameter.name] = parameter.default
                if parameter.kind is parameter.KEYWORD_ONLY:
                    self.keywords.add(parameter.name)

    def __bool__(self):
        return bool(self.names or self.rest)

    @property
    def are_counted(self):
        """Whether each task gets as many values as there are inputs."""
        return self.rest is None and not self.defaults

    def check(self, name):
        if name != self.rest and name not in self.names:
            known = ", ".join(map(repr, filter(None, [*self.names, self.rest])))
            raise _errors.CheckError(
                f"task graph {self._graph!r} has no input {name!r}: parameters of its task behind "
                f"the key are its inputs{': ' + known if known else ', and there is none'}")

    def place(self, key, values):
        """Positional and keyword arguments of a task."""
        given, rest = {}, []
        for name, value in values:
            if name == self.rest:
                rest.append(value)
            elif name in given:
                raise _errors.CheckError(
                    f"task graph {self._graph!r}: two values were sent to input {name!r} of task "
                    f"{_text_of(key)}: send one, or take several by a parameter *{name}")
            else:
                given[name] = value
        given = self.defaults | given
        missing = [name for name in self.names if name not in given]
        if missing:
            raise _errors.CheckError(
                f"task graph {self._graph!r}: task {_text_of(key)} has all its dependencies, but "
                f"no value for {', '.join(map(repr, missing))}: send one, or give the parameter a "
                "default")
        first = [given.pop(name) for name in self.names if name not in self.keywords]
        return (*first, *rest), given


class TaskGraph(_wire.OfRank):
    """A graph of tasks that are named by keys. A task runs when it has been fulfilled as often as
    its indegree says. Made in the main function, on all ranks in the same order.

        def run(key, left, right):
            ...
        graph = shoal.TaskGraph(run)
        graph.send((1, 2), left=3.5)

    Parameters:
        task: function of the key, which runs as a task and may wait. Further parameters are inputs,
            which send() brings from any rank; one with a default is optional, and *parts takes all
            values that are sent to `parts`, in no particular order.
        indegree: number of dependencies of a task, at least 1, or a function of the key that
            returns it: fulfill() counts as one, and each value of send(). Default: the number of
            inputs, or 1 without inputs.
        rank: function of the key that returns the rank of its task, the same on all ranks: a task
            that comes to another one is a CheckError. By default the bytes of the key decide
            (encode_key()), and never hash().
        priority: function of the key; larger runs first.
        name: in reports, which also show keys.
        team: default: the world.

    Keys are values that can be hashed and pickled: numbers, strings, bytes, None, tuples and
    frozensets of them, and objects of classes of the program. Equal numbers are one key."""

    def __init__(self, task, indegree=None, *, rank=None, priority=None, name="graph", team=None):
        _check_name(name, "shoal.TaskGraph")
        _function_of(task, f"task graph {name!r}: task")
        for what, function in (("rank", rank), ("priority", priority)):
            if function is not None:
                _function_of(function, f"task graph {name!r}: {what}", False)
        self._inputs = _Inputs(getattr(task, "_function", task), name)
        if indegree is None:
            if not self._inputs.are_counted:
                raise _errors.CheckError(
                    f"task graph {name!r}: its task has an optional input, or takes several values "
                    "by one parameter: give indegree=, a number or a function of the key")
            indegree = len(self._inputs.names) or 1
        if not callable(indegree):
            count = _integer_of(
                indegree, 1, 2**31 - 1, f"task graph {name!r}: indegree",
                "no number of dependencies: give 1 at least, or a function of the key")
            def indegree(key):
                return count
        _function_of(indegree, f"task graph {name!r}: indegree", False)
        self._world = current_world()
        team = _team_of(team, "shoal.TaskGraph")
        self._graph = _core._TaskGraph(team, name, self._in_world(task, rank, team.rank), indegree,
                                       rank, priority, bool(self._inputs), task)

    def _in_world(self, task, rank, here):
        from ._run import _in_world
        from ._tasks import _run_body
        world, place = self._world, self._inputs.place
        body = getattr(task, "_function", task)  # of a function with @task

        def run(key, values=()):
            if rank is not None and rank(key) != here:  # another rank has sent it here
                raise _errors.CheckError(
                    f"task graph {self._inputs._graph!r}: task {_text_of(key)} has come to rank "
                    f"{here}, where rank= says {rank(key)}: give the same function on all ranks, "
                    "one that depends on the key only")
            given, named = place(key, values)
            _in_world(world, _run_body, body, (key, *given), named)

        return run

    def fulfill(self, key, count=1):
        """Counts one dependency of a task, or several, as fulfilled, from any rank. Parks the task
        while too much is under way to the rank of the key."""
        count = _integer_of(count, 1, 2**31 - 1, "fulfill(): count",
                            "no number of dependencies: give 1 at least")
        self._graph.fulfill(encode_key(key), _text_of(key), count)

    def send(self, key, /, **values):
        """Sends values to inputs of a task, from any rank: each counts as one dependency. They are
        pickled, so that the task gets values of its own. Parks the task as fulfill(). Raises
        CheckError for an input that there is not, and for a value that cannot be sent."""
        self.send_all([key], **values)

    def send_all(self, keys, /, **values):
        """Sends values to inputs of several tasks, as send(). A value travels once to each of their
        ranks."""
        keys = [(encode_key(key), _text_of(key)) for key in keys]
        if not values:
            raise _errors.CheckError("send() without a value: name an input, as in "
                                     "graph.send(key, left=3), or call fulfill()")
        for name in values:
            self._inputs.check(name)
        if keys:
            for name, value in values.items():
                self._graph.send(keys, name, _wire.dump(value, f"input {name!r} of a task"))
