"""Python objects as bytes of messages: pickle, protocol 5, with large buffers out of band."""

import importlib
import io
import pickle
import sys
import types

from . import _errors


class _Pickler(pickle.Pickler):
    """Sends functions that pickle cannot find by their name as their code, with cloudpickle."""

    def reducer_override(self, obj):
        if isinstance(obj, types.FunctionType) and not _is_found_by_name(obj):
            try:
                import cloudpickle
            except ImportError:
                return NotImplemented  # pickle refuses it
            return cloudpickle.loads, (cloudpickle.dumps(obj),)
        return NotImplemented


def _is_found_by_name(function):
    found = sys.modules.get(function.__module__)
    for name in function.__qualname__.split("."):
        found = getattr(found, name, None)
    return found is function


def dump(obj, what="the value"):
    """A pair of bytes and a list of buffers."""
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
        raise _errors.CheckError(
            f"{what} cannot be sent to another rank: {type(error).__name__}: {error}. Functions "
            "and classes are sent by their names: define them at the top of a module that all "
            "ranks import, or install cloudpickle to send lambdas and closures") from error


def load(body, buffers):
    return pickle.loads(body, buffers=buffers)


def dump_call(function, arguments, keywords, what):
    """As dump(), of a call. A function goes as two names: pickle takes a microsecond for it."""
    if isinstance(function, types.FunctionType) and _is_found_by_name(function):
        return dump((function.__module__, function.__qualname__, arguments, keywords), what)
    return dump((None, function, arguments, keywords), what)


def load_call(body, buffers):
    """The function, the arguments and the keywords of dump_call()."""
    module, function, arguments, keywords = load(body, buffers)
    if module is not None:
        place = sys.modules.get(module) or importlib.import_module(module)
        for name in function.split("."):
            place = getattr(place, name)
        function = place
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
