"""Python objects as bytes of messages: pickle, protocol 5, with large buffers out of band; numbers
and short texts in bytes of their own, which take a tenth of the time."""

import importlib
import io
import pickle
import sys
import types

from . import _core, _errors


PLAIN = frozenset((int, float, complex, bool, str, bytes, type(None)))
_PICKLE = 0x80  # first byte of a pickle, and of no plain value


class _Pickler(pickle.Pickler):
    """Sends functions and classes that pickle cannot find by their name as their code, with
    cloudpickle, and what gives others its memory, but cannot be pickled, as that memory."""

    def reducer_override(self, obj):
        if isinstance(obj, memoryview) and (letter := letter_of(obj)) is not None:
            memory = pickle.PickleBuffer(obj) if obj.c_contiguous else obj.tobytes()
            return _view, (memory, letter, obj.shape)
        if hasattr(type(obj), "__dlpack__") and type(obj).__reduce_ex__ is object.__reduce_ex__:
            import numpy
            return numpy.asarray, (numpy.from_dlpack(obj),)
        if isinstance(obj, (types.FunctionType, type)) and not _is_found_by_name(obj):
            try:
                import cloudpickle
            except ImportError:
                return NotImplemented  # pickle refuses it
            return cloudpickle.loads, (cloudpickle.dumps(obj),)
        return NotImplemented


_NATIVE = ("", "@", "=", "<" if sys.byteorder == "little" else ">")
_STANDARD = {"l": "i", "L": "I"}  # letters of other sizes in formats that begin with =, < or >


def letter_of(view):
    """The format of the elements of a memoryview, in the form that cast() takes, without an order
    of bytes; None for another order than that of this machine, and for elements that it does not
    know."""
    order, letter = view.format[:-1], view.format[-1:]
    if order not in (*_NATIVE, *"<>!" * (view.itemsize == 1)) or letter not in "cbB?hHiIlLqQnNfdP":
        return None
    return letter if order in ("", "@") else _STANDARD.get(letter, letter)


def _view(memory, format, shape):
    if 0 in shape:
        return memoryview(b"")
    return memoryview(memory).cast("B").cast(format, shape)


def _is_found_by_name(function):
    found = sys.modules.get(function.__module__)
    path = getattr(function, "__qualname__", "")  # "": of a partial function with @task
    if getattr(found, path, None) is function:
        return True
    for name in path.split("."):
        found = getattr(found, name, None)
    return found is function


def dump(obj, what="the value", function=None):
    """A pair of bytes and a list of buffers. Errors call it `what`, with the name of a function."""
    body = _core._dump_plain(obj)
    if body is not None:
        return body, []
    buffers = []
    try:
        body = pickle.dumps(obj, 5, buffer_callback=buffers.append)
        return body, [buffer.raw() for buffer in buffers] if buffers else buffers
    except Exception:  # it has a function without a name, or cannot be sent
        buffers.clear()
    out = io.BytesIO()
    try:
        _Pickler(out, protocol=5, buffer_callback=buffers.append).dump(obj)
        return out.getbuffer(), [buffer.raw() for buffer in buffers]
    except Exception as error:  # pickle raises many types
        if function is not None:
            what = f"{what} {getattr(function, '__qualname__', None) or repr(function)}"
        remedy = "" if " is not sent: " in str(error) else (
            ". Functions and classes are sent by their names: define them at the top of a module "
            "that all ranks import, or install cloudpickle to send lambdas and closures")
        raise _errors.CheckError(f"{what} cannot be sent to another rank: {type(error).__name__}: "
                                 f"{error}{remedy}") from error


class OfRank:
    """Base of objects that each rank has of its own."""

    def __reduce_ex__(self, protocol):
        raise TypeError(f"a {type(self).__name__} belongs to its rank and is not sent: use that of "
                        "the rank where the function runs")


def load(body, buffers):
    if type(body) is bytes and body[0] != _PICKLE:
        return _core._load_plain(body)
    return pickle.loads(body, buffers=buffers)


def is_constant(buffer):
    """Whether nobody can write to read-only memory: no array that refers to it is writeable."""
    while True:
        if isinstance(buffer, (bytes, _core.Bytes)):
            return True
        if isinstance(buffer, memoryview):
            is_writeable, buffer = not buffer.readonly, buffer.obj
        else:  # an array of numpy, else it may be anything
            is_writeable = getattr(getattr(buffer, "flags", None), "writeable", True)
            buffer = getattr(buffer, "base", None)
        if is_writeable or buffer is None:
            return not is_writeable


def dump_call(function, arguments, keywords, what):
    """As dump(), of a call that is not plain. A function goes as two names: pickle takes a
    microsecond for it."""
    if type(function) is types.FunctionType and _is_found_by_name(function):
        call = function.__module__, function.__qualname__, arguments, keywords
    else:
        call = None, function, arguments, keywords
    return dump(call, what, function)


def find_function(module, name):
    """The function that has these names, as dump_call() and plain calls give them."""
    place = sys.modules.get(module) or importlib.import_module(module)
    found = getattr(place, name, None)
    if found is None:
        found = place
        for part in name.split("."):
            found = getattr(found, part)
    return found


def load_call(body, buffers):
    """The function, the arguments and the keywords of dump_call()."""
    module, function, arguments, keywords = load(body, buffers)
    if module is not None:
        function = find_function(module, function)
    return function, arguments, keywords


def dump_error(error, rank):
    """An exception with its traceback as text, in a form that every rank can load."""
    text = _errors.format_exception(error)
    try:
        pair = dump((error, rank, text))
        load(pair[0], [bytes(buffer) for buffer in pair[1]])  # many exceptions only seem to pickle
        return pair
    except Exception:
        return dump((None, rank, text))


def load_error(body, buffers):
    error, rank, text = load(body, buffers)
    if error is None:
        return _errors.RemoteError(f"an exception on rank {rank}, which cannot be sent:\n{text}")
    error.__cause__ = _errors.RemoteTraceback(rank, text)
    return error
