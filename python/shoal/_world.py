"""Methods of World and Future that are written in Python."""

import contextvars
import copy
import functools
import sys
import types
import zlib

from . import _core, _errors, _wire
from ._run import _call_to_end, _check_name, _function_of, _integer_of, _name_of, _rank_of
from ._sync import _check_timeout
from ._tasks import _run_body


def submit(world, function, *arguments, **keywords):
    """Runs function(*arguments, **keywords) as a task of this rank; returns its future. Never
    blocks."""
    _function_of(function, "submit()")
    return world._submit(contextvars.copy_context().run,
                         (_run_body, function, arguments, keywords), None, _name_of(function), 0,
                         function)


def spawn(world, function, *arguments, **keywords):
    """Runs function(*arguments, **keywords) as a task of this rank of which nobody asks the result.
    An exception fails the world. Never blocks."""
    _function_of(function, "spawn()")
    world._spawn(contextvars.copy_context().run, (_run_body, function, arguments, keywords), None,
                 _name_of(function), 0, function)


def call(world, rank, function, *arguments, **keywords):
    """Runs function(*arguments, **keywords) as a task of another rank; returns its future.

    The function, the arguments and the result are pickled. An exception comes back with its type,
    and with the traceback of that rank as its __cause__. Parks the task while too much is under way
    to the rank. Raises CheckError for a rank that there is not, and for arguments that cannot be
    sent."""
    return world._call(rank, function, arguments, keywords)


def send(world, rank, function, *arguments, **keywords):
    """Sends an active message: function(*arguments, **keywords) runs as a handler on the rank.

    Handlers of one sender start in the order sent, one at a time. They must be short and must not
    wait; an exception fails the world. shoal.current_world() is the world there. Parks the task as
    call(), and raises the same."""
    world._send(rank, function, arguments, keywords)


def send_task(world, rank, function, *arguments, **keywords):
    """As send(), but the function runs as a task, which may wait."""
    world._send_task(rank, function, arguments, keywords)


def split(world, colour, key=0, name=""):
    """Makes a team for each colour, of the ranks that give it, ordered by key and rank; with a
    negative colour the caller is in none. Collective, in the main function: CheckError elsewhere.
    Parks the caller. The team ends with that function."""
    what, wrong = "split()", "give an integer of 32 bits"
    return world._split(_integer_of(colour, -2**31, 2**31 - 1, what, f"no colour: {wrong}"),
                        _integer_of(key, -2**31, 2**31 - 1, what, f"no key: {wrong}"),
                        _check_name(name, what))


def cancel(world, reason="no reason was given"):
    """Cancels the work of the team on all its ranks: tasks that have not begun are dropped, those
    that wait get a CancelledError, and wait() raises a TaskError with the reason. Tasks that run go
    on. Any thread may call it. Never blocks."""
    world._cancel(_check_name(reason, "cancel()", "the reason"))


def allgather(world, value):
    """The values of all ranks, in a list in the order of ranks. Collective; parks the caller."""
    return world._allgather(value)


def gather(world, value, root=0):
    """The values of all ranks, in a list, on rank `root`; None elsewhere. Collective; parks the
    caller."""
    return world._gather(value, _rank_of(world, root, "gather()"))


def broadcast(world, value, root=0):
    """The value of rank `root`, on every rank. Collective; parks the caller."""
    return world._broadcast(value, _rank_of(world, root, "broadcast()"))


def SUM(a, b):
    """Operation of allreduce(): the sum; of arrays, element by element."""
    return a + b


def PRODUCT(a, b):
    """Operation of allreduce(): the product; of arrays, element by element."""
    return a * b


def MIN(a, b):
    """Operation of allreduce(): the smaller value; of arrays, element by element."""
    return min(a, b)


def MAX(a, b):
    """Operation of allreduce(): the larger value; of arrays, element by element."""
    return max(a, b)


_SIGNS = {SUM: "+", PRODUCT: "*", MIN: "<", MAX: ">"}
_KINDS = dict.fromkeys("bhilqn", "i") | dict.fromkeys("fd", "f")


def _view_of(value, what):
    """A memoryview of an array, or None for other values."""
    if isinstance(value, (bytes, bytearray, str)):
        return None
    try:
        view = memoryview(value)
    except TypeError:
        return None
    except ValueError as error:  # of numpy: times, for instance
        raise _errors.CheckError(f"{what} of an array whose memory is not shared: {error}. Give a "
                                 "list, or an array of numbers") from None
    return view if view.ndim else None


def _copy_of(array, what):
    """A copy of an array, contiguous in C order."""
    if isinstance(array, memoryview):
        letter = _wire.letter_of(array)
        if letter is None:
            raise _errors.CheckError(
                f"{what} of a memoryview of elements {array.format!r}: give the array that it is a "
                "view of, or a memoryview of numbers in the byte order of this machine")
        copied = memoryview(bytearray(array))
        return copied.cast(letter) if 0 in array.shape else copied.cast(letter, array.shape)
    result = copy.copy(array)
    if not memoryview(result).c_contiguous:
        raise _errors.CheckError(f"{what} of an array that is not contiguous: give a copy of it in "
                                 "C order")
    return result


def _shape_text(view):
    return f" of shape {view.shape}" if view.ndim > 1 else ""


def _sign_of(operation):
    return _SIGNS.get(operation) if isinstance(operation, types.FunctionType) else None


def _element_of(value, operation, what):
    """The kind of the elements of an array that is combined without Python; None for other
    values."""
    _function_of(operation, what, False)
    view = _view_of(value, what) if _sign_of(operation) else None
    if view is None:
        return None
    kind = _KINDS.get(_wire.letter_of(view))
    if kind is None or view.itemsize not in (4, 8):
        raise _errors.CheckError(
            f"{what} of an array of elements {view.format!r}: give one of signed integers or "
            "floating-point numbers of 4 or 8 bytes, in the byte order of this machine")
    return kind


def _rows_of(world, view, what):
    """The number of rows of an array for each rank."""
    rows, rest = divmod(view.shape[0], world.size)
    if rest:
        raise _errors.CheckError(
            f"{what} of an array of shape {view.shape} on {world.size} ranks: give as many rows "
            "for each rank")
    return rows


def _code_of(code):
    """What functions of one code have in common, in every process: names of local variables do not
    count."""
    return (code.co_argcount, code.co_flags, code.co_code, code.co_names,
            [_code_of(one) if isinstance(one, types.CodeType) else
             sorted(map(repr, one)) if isinstance(one, frozenset) else repr(one)
             for one in code.co_consts])


def _text_of_operation(operation):
    """The same text on all ranks, for equal operations: a name, and for a function that is not
    found by it, such as a lambda, a number made of its code."""
    for name in ("__qualname__", "__name__"):
        text = getattr(operation, name, None)
        if isinstance(text, str):
            code = getattr(operation, "__code__", None)
            if not isinstance(code, types.CodeType) or _wire._is_found_by_name(operation):
                return text
            return f"{text}, code {zlib.crc32(repr(_code_of(code)).encode()):08x}"
    return type(operation).__qualname__


def _combine(world, kind, value, operation, root=0):
    """The results of an operation on this rank, in a list."""
    what = f"{kind.name}()"
    element = _element_of(value, operation, what)
    if element is None:
        return world._combine(kind, value, operation, _text_of_operation(operation), root)
    result = _copy_of(value, what)
    world._combine_array(kind, result, element, _SIGNS[operation],
                         _shape_text(memoryview(result)), _text_of_operation(operation), root)
    return [result]


_Combining = _core.Team._Combining


def reduce(world, value, operation, root=0):
    """The values of all ranks, combined by operation(a, b) in the order of ranks, on rank `root`;
    None elsewhere. Collective; parks the caller. Operations and arrays as for allreduce()."""
    root = _rank_of(world, root, "reduce()")
    results = _combine(world, _Combining.reduce, value, operation, root)
    return results[0] if world.rank == root else None


def allreduce(world, value, operation):
    """The values of all ranks, combined by operation(a, b) in the order of ranks. Collective;
    parks the caller. The operation runs in a handler: it must not wait. Ranks with operations of
    other names, with lambdas of other code, or with arrays of other types or shapes, fail the team.

    With SUM, PRODUCT, MIN or MAX, arrays (numpy arrays, array.array: anything with the buffer
    protocol) of equal lengths are combined element by element, without Python; the result is a new
    array. They are contiguous in C order, and their elements signed integers or floating-point
    numbers of 4 or 8 bytes: CheckError for others."""
    return _combine(world, _Combining.allreduce, value, operation)[0]


def scan(world, value, operation):
    """The values of the ranks from 0 to this one, combined by operation(a, b). Collective; parks
    the caller. Operations and arrays as for allreduce()."""
    return _combine(world, _Combining.scan, value, operation)[0]


def exclusive_scan(world, value, operation, initial):
    """`initial` and the values of the ranks below this one, combined by operation(a, b): `initial`
    itself on rank 0. Collective; parks the caller. Operations as for allreduce(); arrays need one
    that takes them as objects, such as numpy.add: CheckError with SUM, PRODUCT, MIN and MAX."""
    what = "exclusive_scan()"
    _function_of(operation, what, False)
    if _sign_of(operation) and _view_of(value, what) is not None:
        raise _errors.CheckError(
            f"{what} of an array by {operation.__name__}: give an operation that takes arrays as "
            "objects, such as numpy.add, or call scan()")
    before = world._combine(_Combining.scan, value, operation, _text_of_operation(operation), 0)[1:]
    return operation(initial, before[0]) if before else initial


def _list_for(world, values, what):
    """A list with a value for each rank."""
    try:
        values = list(values)
    except TypeError:
        raise _errors.CheckError(f"{what}: {values!r} is no list: give a value for each "
                                 "rank") from None
    if len(values) != world.size:
        raise _errors.CheckError(f"{what} got {len(values)} values for {world.size} ranks: give "
                                 "one for each")
    return values


def alltoall(world, values):
    """Sends values[i] to rank i, for all i; returns the list of the values that all ranks have sent
    to this one, in the order of ranks. Collective; parks the caller.

    Of an array, rank i gets the i-th part, as many rows for each rank; the result is an array of
    the same shape, of the parts for this rank. All ranks give arrays of one type and shape,
    contiguous in C order: CheckError, or a failure of the team, for others."""
    what = "alltoall()"
    view = _view_of(values, what)
    if view is None:
        return world._alltoall(_list_for(world, values, what), "")
    if "O" in view.format:
        raise _errors.CheckError(f"{what} of an array of objects: give a list with a value for "
                                 "each rank")
    _rows_of(world, view, what)
    result = _copy_of(values, what)
    source = values if view.c_contiguous else _copy_of(values, what)
    world._alltoall_array(source, result, f"{getattr(values, 'dtype', view.format)}"
                          f"{_shape_text(view)}")
    return result


def reduce_scatter(world, values, operation):
    """Sends values[i] to rank i, for all i; returns the values that all ranks have sent to this
    one, combined by operation(a, b) in the order of ranks. Collective; parks the caller.

    Of an array, with SUM, PRODUCT, MIN or MAX, rank i gets the i-th part of what allreduce() would
    return, as many rows for each rank. Operations and arrays as there."""
    what = "reduce_scatter()"
    element = _element_of(values, operation, what)
    text = _text_of_operation(operation)
    if element is None:
        return functools.reduce(operation,
                                world._alltoall(_list_for(world, values, what), text))
    source = _copy_of(values, what)
    result = _copy_of(source[:_rows_of(world, memoryview(source), what)], what)
    world._reduce_scatter_array(source, result, element, _SIGNS[operation],
                                _shape_text(memoryview(source)), text)
    return result


for _function in (submit, spawn, call, send, send_task, split, cancel, allgather, gather, broadcast,
                  reduce, allreduce, scan, exclusive_scan, alltoall, reduce_scatter):
    setattr(_core.Team, _function.__name__, _function)


def _world_repr(world):
    kind = type(world).__name__.lower()
    try:
        return f"<shoal {kind}, rank {world._rank} of {world.size}>"
    except _errors.CheckError:
        return f"<shoal {kind} of a run that has ended>"


def _no_pickle(world, protocol=None):
    raise TypeError("a World belongs to its rank and is not sent: call shoal.current_world() there")


_core.Team.__repr__ = _world_repr
_core.Team.__reduce_ex__ = _no_pickle


def result(future, timeout=None):
    """Waits for the value and returns it; raises the exception of the task.

    Parks the calling task. Raises TimeoutError after `timeout` seconds (virtual ones in a
    simulation) without a value, CheckError in a handler, CancelledError when the world fails."""
    _check_timeout(timeout, "result(timeout=)")
    return future._result(timeout)


def exception(future, timeout=None):
    """Waits as result(), and returns the exception of the task, or None. Raises TimeoutError,
    CheckError and CancelledError as result()."""
    _check_timeout(timeout, "exception(timeout=)")
    future._wait(timeout)
    try:
        future._result(None)
    except Exception as error:
        return error
    return None


def add_done_callback(future, callback):
    """Runs callback(future) as a task of this rank, in the context of the caller, once the future
    has a value or an exception. Never blocks."""
    _function_of(callback, "add_done_callback()")
    future._on_done(_tell, (contextvars.copy_context(), callback, future))


def _tell(call):
    context, callback, future = call
    context.run(_call_to_end, callback, (future,), {})


def _wake(waiter):
    if not waiter.done():
        waiter.set_result(None)


def _wake_in(place):
    loop, waiter = place
    if not loop.is_closed():
        loop.call_soon_threadsafe(_wake, waiter)


def _await(future):
    """In a coroutine of a task the future parks the task, and so it does in a loop of asyncio that
    a task runs, which would keep the worker; in another loop it suspends the coroutine."""
    if not future.done():
        asyncio = sys.modules.get("asyncio")
        loop = asyncio and asyncio._get_running_loop()  # that of the thread, or None
        if loop is None:
            yield future
        elif not _core._on_worker():
            waiter = loop.create_future()
            future._on_done(_wake_in, (loop, waiter))
            yield from waiter
    return future.result()


def _future_repr(future):
    return f"<shoal future, {'done' if future.done() else 'pending'}>"


def _no_pickle_future(future, protocol=None):
    raise TypeError("a Future belongs to its rank and is not sent: wait for its result(), and send "
                    "that")


for _function in (result, exception, add_done_callback):
    setattr(_core.Future, _function.__name__, _function)
_core.Future.get = result
_core.Future.__await__ = _await
_core.Future.__repr__ = _future_repr
_core.Future.__reduce_ex__ = _no_pickle_future
