"""Task graphs whose keys are Python objects, and the bytes by which keys are known."""

import io
import pickle
import struct

from . import _core, _errors
from ._run import current_world

_TEXT_MAX = 80  # characters of a key in reports


def encode_key(key):
    """Canonical bytes of a key: equal for equal keys, on every rank and in every process. hash()
    is not used, as it differs between processes."""
    kind = type(key)
    if key is None:
        return b"N"
    if kind in (int, bool) or (kind is float and key.is_integer()):
        return b"i%d;" % int(key)
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
    out = io.BytesIO()
    pickler = pickle.Pickler(out, protocol=5)
    pickler.fast = True  # no references between equal parts, which may be one object or two
    try:
        pickler.dump(key)
    except Exception as error:
        raise _errors.CheckError(
            f"the key {_text_of(key)} of type {kind.__name__} cannot be sent to another rank: "
            f"{error}") from error
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
    number, at = int(code[at + 1:end]), end + 1
    if kind == b"i":
        return number, at
    if kind in (b"t", b"z"):
        items = []
        for _ in range(number):
            item, at = _decode(code, at)
            items.append(item)
        return (tuple if kind == b"t" else frozenset)(items), at
    data, at = code[at:at + number], at + number
    if kind == b"s":
        return data.decode("utf-8", "surrogatepass"), at
    return (data if kind == b"b" else pickle.loads(data)), at


def _text_of(key):
    text = repr(key)
    return text if len(text) <= _TEXT_MAX else text[:_TEXT_MAX - 3] + "..."


def call_with_key(function, code):
    return function(decode_key(code))


class TaskGraph:
    """A graph of tasks that are named by keys. A task runs when it has been fulfilled as often as
    its indegree says. Made in the main function, on all ranks in the same order.

    Parameters:
        task: function of the key, which runs as a task and may wait.
        indegree: number of calls of fulfill() before a task runs, at least 1; or a function of the
            key that returns it.
        rank: function of the key that returns the rank of its task. By default the bytes of the
            key decide (encode_key()), and never hash().
        priority: function of the key; larger runs first.
        name: in reports, which also show keys.
        team: default: the world.

    Keys are values that can be hashed and pickled: numbers, strings, bytes, None, tuples and
    frozensets of them, and objects of classes of the program. Equal numbers are one key."""

    def __init__(self, task, indegree=1, *, rank=None, priority=None, name="graph", team=None):
        for what, function in (("task", task), ("rank", rank), ("priority", priority)):
            if function is not None and not callable(function):
                raise _errors.CheckError(
                    f"task graph {name!r}: {what} is {function!r}: give a function of the key")
        if not callable(indegree):
            if isinstance(indegree, bool) or not isinstance(indegree, int) or indegree < 1:
                raise _errors.CheckError(
                    f"task graph {name!r}: indegree is {indegree!r}: give a number that is at "
                    "least 1, or a function of the key")
            count = indegree
            def indegree(key):
                return count
        self._world = current_world()
        self._graph = _core._TaskGraph(team or self._world, name, self._in_world(task), indegree,
                                       rank, priority)

    def _in_world(self, task):
        from ._run import _in_world
        from ._tasks import _run_body
        world = self._world
        body = getattr(task, "_function", task)  # of a function with @task
        return lambda key: _in_world(world, _run_body, body, (key,), {})

    def fulfill(self, key, count=1):
        """Counts one dependency of a task, or several, as fulfilled, from any rank."""
        if isinstance(count, bool) or not isinstance(count, int) or not 1 <= count < 2**31:
            raise _errors.CheckError(
                f"fulfill() with count={count!r}: give a number that is at least 1")
        self._graph.fulfill(encode_key(key), _text_of(key), count)
