"""The interface of the EDAT library (Event Driven Asynchronous Tasks, EPCC) for Python, on shoal.

The calls are those of edat.h, with Python's types; docs/edat.md has the guarantees and a complete
program. Python 3.9 or newer; numpy is used only where a program has imported it.

A call that cannot be right raises TypeError, ValueError or EdatError. An exception that leaves a
task ends the process, and so do errors that the library finds itself, as with edat.h.
"""

import atexit
import contextlib
import ctypes
import itertools
import numbers
import os
import pathlib
import signal
import struct
import sys
import threading
import traceback

EDAT_NOTYPE = 0  # no payload
EDAT_NONE = 0  # no payload
EDAT_INT = 1  # int of C
EDAT_FLOAT = 2  # float of C
EDAT_DOUBLE = 3  # double of C, float of Python
EDAT_BYTE = 4  # char of C
EDAT_ADDRESS = 5  # fired by programs in C only
EDAT_LONG = 6  # long of C

EDAT_ALL = -1  # every rank
EDAT_ANY = -2  # whichever rank
EDAT_SELF = -3  # the calling rank

__all__ = [
    "EDAT_ADDRESS", "EDAT_ALL", "EDAT_ANY", "EDAT_BYTE", "EDAT_DOUBLE", "EDAT_Event", "EDAT_FLOAT",
    "EDAT_INT", "EDAT_LONG", "EDAT_Metadata", "EDAT_NONE", "EDAT_NOTYPE", "EDAT_SELF", "EdatError",
    "edatFinalise", "edatFindEvent", "edatFireEvent", "edatFirePersistentEvent",
    "edatGetNumActiveWorkers", "edatGetNumRanks", "edatGetNumThreads", "edatGetNumWorkers",
    "edatGetRank", "edatGetThread", "edatGetWorker", "edatInit", "edatInitWithConfiguration",
    "edatIsTaskSubmitted", "edatLock", "edatPauseMainThread", "edatRemoveTask", "edatRestart",
    "edatRetrieveAny", "edatSubmitNamedTask", "edatSubmitPersistentGreedyTask",
    "edatSubmitPersistentNamedGreedyTask", "edatSubmitPersistentNamedTask",
    "edatSubmitPersistentTask", "edatSubmitTask", "edatTestLock", "edatUnlock", "edatWait",
]


class EdatError(RuntimeError):
    """A call at a time or place where it cannot be made."""


# --- types of data


class _Type:
    """A type of data: its name, its type of C, and the letter that struct has for its size."""

    def __init__(self, name, ctype, code):
        self.name = name
        self.ctype = ctype
        self.code = code
        self.size_bytes = ctypes.sizeof(ctype)


_TYPES = {
    EDAT_INT: _Type("EDAT_INT", ctypes.c_int, "i"),
    EDAT_FLOAT: _Type("EDAT_FLOAT", ctypes.c_float, "f"),
    EDAT_DOUBLE: _Type("EDAT_DOUBLE", ctypes.c_double, "d"),
    EDAT_BYTE: _Type("EDAT_BYTE", ctypes.c_byte, "b"),
    EDAT_LONG: _Type("EDAT_LONG", ctypes.c_long, "q" if ctypes.sizeof(ctypes.c_long) == 8 else "i"),
}
_FIRED_TYPES = "EDAT_NOTYPE, " + ", ".join(known.name for known in _TYPES.values())
_CONTEXTS_FROM = 1000  # types of edatDefineContext
_ELEMENTS_MAX = (1 << 31) - 1  # ctypes cuts off what does not fit an int of C


def _name_of_type(data_type):
    if data_type == EDAT_NOTYPE:
        return "EDAT_NOTYPE"
    if data_type == EDAT_ADDRESS:
        return "EDAT_ADDRESS"
    return _TYPES[data_type].name if data_type in _TYPES else str(data_type)


# --- events


class EDAT_Metadata:
    """Description of an event: data_type, number_elements, source (a rank), event_id (str)."""

    __slots__ = ("data_type", "number_elements", "source", "event_id")

    def __init__(self, data_type, number_elements, source, event_id):
        self.data_type = data_type
        self.number_elements = number_elements
        self.source = source
        self.event_id = event_id

    def __repr__(self):
        return (f"EDAT_Metadata(data_type={_name_of_type(self.data_type)}, "
                f"number_elements={self.number_elements}, source={self.source}, "
                f"event_id={self.event_id!r})")


class EDAT_Event:
    """An event that a task got. It owns its data: the program may keep and change them.

    metadata: see EDAT_Metadata. data: a bytearray, or None without a payload. An event of a context
    (fired by functions in C) has its address as an integer.
    """

    __slots__ = ("data", "metadata")

    def __init__(self, data, metadata):
        self.data = data
        self.metadata = metadata

    def get_raw_data(self, data_type=None):
        """Returns the elements as an array of ctypes on the event's data; None without a payload.

        numpy.frombuffer() takes it. With a data_type, the bytes are read as elements of that one.
        """
        wanted = self._type(data_type)
        if wanted is None or not self.data:
            return None
        if len(self.data) % wanted.size_bytes:
            raise ValueError(
                f"get_raw_data: {self._text()} has {len(self.data)} bytes, which are no whole "
                f"number of {wanted.name}: read it as {_name_of_type(self.metadata.data_type)}")
        return (wanted.ctype * (len(self.data) // wanted.size_bytes)).from_buffer(self.data)

    def get_data(self, data_type=None):
        """Returns a list of the elements, which is empty without a payload."""
        raw = self.get_raw_data(data_type)
        return [] if raw is None else list(raw)

    def get_bytes(self):
        """Returns a copy of the payload as bytes."""
        self._type(None)
        return bytes(self.data or b"")

    def get_array(self):
        """Returns a numpy array on the event's data."""
        import numpy  # here: only programs that call this need it

        raw = self.get_raw_data()
        return numpy.empty(0) if raw is None else numpy.frombuffer(raw, dtype=raw._type_)

    def __repr__(self):
        return f"EDAT_Event({self.metadata!r})"

    def _text(self):
        return f'the event "{self.metadata.event_id}" from rank {self.metadata.source}'

    def _type(self, data_type):
        if data_type is None:
            data_type = self.metadata.data_type
        if data_type == EDAT_NOTYPE:
            return None
        if isinstance(self.data, int):
            raise TypeError(f"get_raw_data: {self._text()} carries an address of C, which Python "
                            f"cannot read: its attribute data is that number")
        if data_type == EDAT_ADDRESS:
            return _ADDRESSES
        if data_type in _TYPES:
            return _TYPES[data_type]
        raise ValueError(f"get_raw_data: {data_type!r} is not a type of data: there are "
                         f"{_FIRED_TYPES}")


_ADDRESSES = _Type("EDAT_ADDRESS", ctypes.c_size_t, "")


class _CMetadata(ctypes.Structure):
    _fields_ = [("data_type", ctypes.c_int), ("number_elements", ctypes.c_int),
                ("source", ctypes.c_int), ("event_id", ctypes.c_char_p)]


class _CEvent(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("metadata", _CMetadata)]


def _text(name):
    """A name of C as str; bytes that are no UTF-8 stay what they are when they are sent on."""
    return name.decode("utf-8", "surrogateescape")


def _copied(events, count):
    """The events of a call or task, with copies of their data: those of C end with the task."""
    return [_copied_event(events[i]) for i in range(count)]


def _copied_event(event):
    about = event.metadata
    data_type, number = about.data_type, about.number_elements
    data = event.data
    if data and (data_type in _TYPES or (data_type == EDAT_ADDRESS and not _process.is_paper)):
        size_bytes = (_TYPES.get(data_type) or _ADDRESSES).size_bytes
        data = bytearray(ctypes.string_at(data, size_bytes * number))
    return EDAT_Event(data, EDAT_Metadata(data_type, number, about.source, _text(about.event_id)))


# --- the library


class _CTask(ctypes.Structure):
    _fields_ = [("function", ctypes.c_void_p), ("user", ctypes.c_void_p),
                ("name", ctypes.c_char_p), ("persistent", ctypes.c_int), ("greedy", ctypes.c_int)]


_TASK_FUNCTION = ctypes.CFUNCTYPE(None, ctypes.POINTER(_CEvent), ctypes.c_int, ctypes.c_void_p)
_EVENTS = ctypes.POINTER(_CEvent)
_INTS = ctypes.POINTER(ctypes.c_int)
_TEXTS = ctypes.POINTER(ctypes.c_char_p)
_FUNCTIONS = {
    "edatInitWithConfiguration": (None, [ctypes.c_int, _TEXTS, _TEXTS]),
    "edatFinaliseWithCode": (ctypes.c_int, []),
    "edatPauseWithCode": (ctypes.c_int, []),
    "edatRestart": (None, []),
    "edatGetRank": (ctypes.c_int, []),
    "edatGetNumRanks": (ctypes.c_int, []),
    "edatGetNumWorkers": (ctypes.c_int, []),
    "edatGetWorker": (ctypes.c_int, []),
    "edatGetNumActiveWorkers": (ctypes.c_int, []),
    "edatSubmitBoundTask": (None, [ctypes.POINTER(_CTask), ctypes.c_int, _INTS, _TEXTS]),
    "edatTakeReleasedTasks": (ctypes.c_int, [ctypes.POINTER(ctypes.c_void_p), ctypes.c_int]),
    "edatIsTaskSubmitted": (ctypes.c_int, [ctypes.c_char_p]),
    "edatRemoveTask": (ctypes.c_int, [ctypes.c_char_p]),
    "edatFireEvent": (None, [ctypes.c_void_p, ctypes.c_int, ctypes.c_int, ctypes.c_int,
                             ctypes.c_char_p]),
    "edatFirePersistentEvent": (None, [ctypes.c_void_p, ctypes.c_int, ctypes.c_int, ctypes.c_int,
                                       ctypes.c_char_p]),
    "edatWaitFor": (_EVENTS, [_INTS, ctypes.c_int, _INTS, _TEXTS]),
    "edatRetrieveAnyFor": (_EVENTS, [_INTS, ctypes.c_int, _INTS, _TEXTS]),
    "edatLock": (None, [ctypes.c_char_p]),
    "edatUnlock": (None, [ctypes.c_char_p]),
    "edatTestLock": (ctypes.c_int, [ctypes.c_char_p]),
}


def _candidates(given):
    """Files that may be the library, in the order in which they are tried."""
    if given is not None:
        return [os.fspath(given)]
    variable = os.environ.get("SHOAL_EDAT_LIBRARY", "")
    if variable:
        return [variable]
    # The package shoal beside this file has edat.h inside: one copy of the library for both.
    found = sorted(pathlib.Path(__file__).parent.glob("shoal/_core*.so"))
    # Installed: <prefix>/share/shoal/python/edat.py and <prefix>/lib*/[*/]libshoal_edat.so.
    for prefix in pathlib.Path(__file__).resolve().parents[3:4]:
        for pattern in ("lib*", "lib*/*"):
            found += sorted(prefix.glob(f"{pattern}/libshoal_edat.so"))
    return [*map(str, found), "libshoal_edat.so"]


def _load(given):
    refusals = []
    for path in _candidates(given):
        try:
            library = ctypes.CDLL(path)
        except OSError as error:
            refusals.append(f"  {path}: {error}")
            continue
        for name, (result, parameters) in _FUNCTIONS.items():
            try:
                function = getattr(library, name)
            except AttributeError:
                raise EdatError(f"edatInit: {path} has no function {name}: it is not the "
                                f"libshoal_edat.so of this edat.py") from None
            function.restype, function.argtypes = result, parameters
        return library
    raise EdatError("\n".join(
        ["edatInit: libshoal_edat.so was not found: set SHOAL_EDAT_LIBRARY to the file. Tried:",
         *refusals]))


# --- state of the process


class _Process:
    """The one run of this process."""

    def __init__(self):
        self.library = None
        self.was_begun = False
        self.pid = 0  # of the process that has the run; 0: there is none
        self.main_thread = 0
        self.is_paper = False  # EDAT_ADDRESS_RULE
        self.rank = -1  # kept for calls after edatFinalise
        self.size = 0
        self.numbers = itertools.count(1)
        self.tasks = {}  # all that the library may still call, by the `user` that it passes


_process = _Process()
_of_thread = threading.local()  # .task: the one that the thread runs
_released = (ctypes.c_void_p * 64)()
_release_lock = threading.Lock()


def _running(call):
    """The library, while a run exists; raises EdatError otherwise."""
    if not _process.pid:
        raise EdatError(f"{call}: called after edatFinalise: the run has ended"
                        if _process.was_begun else f"{call}: call edatInit first")
    if _process.pid != os.getpid():
        raise EdatError(f"{call}: this is a forked copy of the process that called edatInit: only "
                        f"that one has the run")
    return _process.library


def _in_main(call):
    library = _running(call)
    task = getattr(_of_thread, "task", None)
    if task is not None:
        raise EdatError(f"{call}: called in the task {task}: call it in the main program")
    if threading.get_ident() != _process.main_thread:
        raise EdatError(f"{call}: call it in the thread that called edatInit")
    return library


def _flush():
    """Flushes Python's buffers, which are lost if the library ends the process."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(AttributeError, OSError, ValueError):
            stream.flush()


@contextlib.contextmanager
def _waiting_in_main():
    """Lets Ctrl-C end the process during a call; Python acts on it only after the call."""
    _flush()
    is_main = threading.get_ident() == threading.main_thread().ident
    if not is_main or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _end_process(text):
    """Ends the process after an error: other threads are at work, so nothing is cleaned up."""
    with contextlib.suppress(AttributeError, OSError, ValueError):
        sys.stderr.write(text)
    _flush()
    os._exit(1)


@atexit.register
def _check_end():
    if _process.pid and _process.pid == os.getpid():
        _end_process(f"edat: error: rank {_process.rank}: the program ends without edatFinalise\n")


# --- arguments


def _name(call, what, name):
    """A name as bytes of C."""
    if isinstance(name, str):
        name = name.encode("utf-8", "surrogateescape")
    elif not isinstance(name, bytes):
        raise TypeError(f"{call}: {what} is {_kind(name)}: give str or bytes")
    if b"\0" in name:
        raise ValueError(f"{call}: {what} {name!r} contains a zero byte: leave it out")
    return name


def _kind(value):
    return "None" if value is None else f"of type {type(value).__name__}"


def _whole_number(call, what, value):
    if isinstance(value, bool) or not isinstance(value, numbers.Integral):
        raise TypeError(f"{call}: {what} is {_kind(value)}: give an int")
    return int(value)


def _rank(call, what, rank, specials, others):
    rank = _whole_number(call, what, rank)
    if rank in specials or 0 <= rank < _process.size:
        return rank
    raise ValueError(f"{call}: {what} is {'EDAT_ANY' if rank == EDAT_ANY else rank}: give "
                     f"a rank from 0 to {_process.size - 1}, {others}")


def _dependencies(call, count, pairs):
    """Arguments of C: the number, the sources and the names of the events depended on."""
    count = _whole_number(call, "the number of events", count)
    if count < 0 or len(pairs) != 2 * count:
        raise ValueError(f"{call}: the number of events is {count}, and {len(pairs)} arguments "
                         f"follow: give a source and an event identifier for each event")
    sources, names = [], []
    for source, name in zip(pairs[::2], pairs[1::2]):
        names.append(_name(call, "an event identifier", name))
        sources.append(_rank(call, f'the source of "{_text(names[-1])}"', source,
                             (EDAT_ALL, EDAT_ANY, EDAT_SELF), "EDAT_SELF, EDAT_ANY or EDAT_ALL"))
    return count, (ctypes.c_int * count)(*sources), (ctypes.c_char_p * count)(*names)


class _Payload:
    """The data of an event that is fired, as bytes in C's layout."""

    def __init__(self, call, data, data_type, count):
        self.call = call
        self.data_type = _whole_number(call, "the type of the data", data_type)
        self.count = _whole_number(call, "the number of elements", count)
        if self.data_type not in _TYPES and self.data_type != EDAT_NOTYPE:
            self._refuse_type()
        if not 0 <= self.count <= _ELEMENTS_MAX:
            raise ValueError(f"{call}: the number of elements is {self.count}: give one from 0 to "
                             f"{_ELEMENTS_MAX}")
        if self.data_type == EDAT_NOTYPE:
            self._check_no_data(data)
        else:
            self.type = _TYPES[self.data_type]
            self.bytes = self._converted(data)

    def _refuse_type(self):
        if self.data_type == EDAT_ADDRESS or self.data_type >= _CONTEXTS_FROM:
            raise TypeError(f"{self.call}: Python has no addresses to fire: keep the object in a "
                            f"dictionary, and fire its key")
        raise ValueError(f"{self.call}: {self.data_type} is not a type of data: there are "
                         f"{_FIRED_TYPES}")

    def _check_no_data(self, data):
        self.bytes = None
        if data is not None or self.count:
            raise ValueError(f"{self.call}: an event of type EDAT_NOTYPE has no data: give None "
                             f"and 0 elements, or the type of the data")

    def _converted(self, data):
        if isinstance(data, numbers.Number):
            return self._packed([data])
        if isinstance(data, (list, tuple)):
            return self._packed(data)
        if data is None:
            if self.count:
                raise ValueError(f"{self.call}: the data are None, and the number of elements is "
                                 f"{self.count}: give 0")
            return None
        try:
            view = memoryview(data)
        except TypeError:
            hint = ": encode it, and fire bytes" if isinstance(data, str) else (
                ": give a number, a list, bytes or an array")
            raise TypeError(f"{self.call}: the data are {_kind(data)}{hint}") from None
        return self._buffer(view)

    def _packed(self, values):
        self._check_count(len(values))
        try:
            # "=": also a float that is too large is an error.
            return struct.pack(f"={len(values)}{self.type.code}", *values)
        except (struct.error, OverflowError, TypeError) as error:
            raise TypeError(f"{self.call}: the data do not fit {self.type.name}: {error}") from None

    def _buffer(self, view):
        """An array's memory, unless it has to be copied for C."""
        order, code = ("@", view.format) if view.format[:1].isalpha() or view.format == "?" else (
            view.format[0], view.format[1:])
        native = order in "@=" or order == ("<" if sys.byteorder == "little" else ">")
        codes = {"EDAT_BYTE": "bBc?", "EDAT_FLOAT": "f", "EDAT_DOUBLE": "d"}.get(
            self.type.name, "hilqn")
        if not native or code not in tuple(codes) or view.itemsize != self.type.size_bytes:
            raise TypeError(f"{self.call}: elements of the format {view.format!r} with "
                            f"{view.itemsize} bytes are no {self.type.name}, which has "
                            f"{self.type.size_bytes} bytes: convert the array, or give the type of "
                            f"its elements")
        self._check_count(view.nbytes // view.itemsize)
        if view.nbytes == 0:
            return None
        if view.readonly or not view.c_contiguous:
            return view.obj if isinstance(view.obj, bytes) and view.nbytes == len(view.obj) else (
                view.tobytes())
        return (ctypes.c_char * view.nbytes).from_buffer(view)

    def _check_count(self, count):
        if count != self.count:
            raise ValueError(f"{self.call}: the data have {count} element{'s'[:count != 1]}, and "
                             f"the number of elements is {self.count}: give the elements to fire, "
                             f"and their number")

    def address(self):
        """Address of the bytes, valid while this object is kept."""
        return ctypes.cast(self.bytes, ctypes.c_void_p)


# --- start and end


def edatInit(configuration=None, libraryPath=None):
    """Starts the workers of this process, which is one rank; returns once events can be fired.

    configuration: a dictionary of options, such as {"EDAT_NUM_WORKERS": 4}. The environment goes
    before it. libraryPath: the file libshoal_edat.so, where it is not to be looked for.
    """
    call = "edatInit"
    if _process.pid:
        raise EdatError(f"{call}: edatInit was called before: call it once, and edatFinalise at "
                        f"the end")
    if configuration is None:
        configuration = {}
    if not hasattr(configuration, "items"):
        raise TypeError(f"{call}: the configuration is {_kind(configuration)}: give a dictionary")
    keys = [_name(call, "a key of the configuration", key) for key in configuration]
    values = [_value(call, key, value) for key, value in configuration.items()]
    if _process.library is None or libraryPath is not None:
        _process.library = _load(libraryPath)
    count = len(keys)
    with _waiting_in_main():
        _process.library.edatInitWithConfiguration(
            count, (ctypes.c_char_p * count)(*keys), (ctypes.c_char_p * count)(*values))
    rule = dict(zip((_text(key).upper() for key in keys), values)).get("EDAT_ADDRESS_RULE", b"")
    _process.is_paper = (os.environ.get("EDAT_ADDRESS_RULE") or _text(rule)).lower() == "paper"
    _process.rank = _process.library.edatGetRank()
    _process.size = _process.library.edatGetNumRanks()
    _process.main_thread = threading.get_ident()
    _process.was_begun = True
    _process.pid = os.getpid()


def _value(call, key, value):
    if isinstance(value, (bool, int)):
        value = str(value).lower()
    return _name(call, f"the value of {key}", value)


def edatInitWithConfiguration(configuration):
    """edatInit with a configuration."""
    edatInit(configuration)


def edatFinalise():
    """Returns when all tasks have run and all events were consumed, on all ranks.

    Raises SystemExit with the exit code of a run that has ended by an error, which is on standard
    error then.
    """
    library = _in_main("edatFinalise")
    with _waiting_in_main():
        exit_code = library.edatFinaliseWithCode()
    _process.pid = 0
    _process.tasks.clear()
    if exit_code:
        sys.exit(exit_code)


def edatPauseMainThread():
    """Returns when all tasks have run and all events were consumed, on all ranks; the program may
    go on to submit and fire. Raises SystemExit as edatFinalise does."""
    library = _in_main("edatPauseMainThread")
    with _waiting_in_main():
        exit_code = library.edatPauseWithCode()
    if exit_code:
        _process.pid = 0
        _process.tasks.clear()
        sys.exit(exit_code)
    _forget_released(library)


def edatRestart():
    """Goes on after edatPauseMainThread. Not needed here: that has made everything ready."""
    _in_main("edatRestart").edatRestart()


def edatGetRank():
    """Rank of this process; also after edatFinalise."""
    if _process.rank < 0:
        _running("edatGetRank")
    return _process.rank


def edatGetNumRanks():
    """Number of processes; also after edatFinalise."""
    if _process.rank < 0:
        _running("edatGetNumRanks")
    return _process.size


def edatGetNumWorkers():
    """Workers of this rank."""
    return _running("edatGetNumWorkers").edatGetNumWorkers()


def edatGetNumThreads():
    """edatGetNumWorkers, by its name of earlier releases."""
    return _running("edatGetNumThreads").edatGetNumWorkers()


def edatGetWorker():
    """The worker that runs the calling task, from 0; -1 outside of tasks."""
    return _running("edatGetWorker").edatGetWorker()


def edatGetThread():
    """edatGetWorker, by its name of earlier releases."""
    return _running("edatGetThread").edatGetWorker()


def edatGetNumActiveWorkers():
    """Workers of this rank that run a task right now, the caller's among them."""
    return _running("edatGetNumActiveWorkers").edatGetNumActiveWorkers()


# --- tasks


class _Task:
    """The function of a task, and its name in errors."""

    __slots__ = ("function", "name", "is_persistent")

    def __init__(self, function, name, is_persistent):
        self.function = function
        self.name = name
        self.is_persistent = is_persistent

    def __str__(self):
        function = getattr(self.function, "__qualname__", repr(self.function))
        return f"{_text(self.name)!r} ({function})" if self.name else function


@_TASK_FUNCTION
def _run_task(events, count, number):
    task = None
    try:
        task = _process.tasks[number]
        if not task.is_persistent:
            del _process.tasks[number]
        _of_thread.task = task
        task.function(_copied(events, count), count)
        _of_thread.task = None
        _flush()
    except BaseException:  # also SystemExit: nothing may leave a function that C calls
        _end_process(f"edat: error: rank {_process.rank}: an exception left the task {task}\n"
                     f"{traceback.format_exc()}")


def _forget_released(library):
    """Drops the functions of tasks that will not run any more."""
    with _release_lock:
        count = len(_released)
        while count == len(_released):
            count = library.edatTakeReleasedTasks(_released, len(_released))
            for number in _released[:count]:
                _process.tasks.pop(number, None)


def _submit(call, function, count, pairs, name=None, persistent=False, greedy=False):
    library = _running(call)
    if not callable(function):
        raise TypeError(f"{call}: the task is {_kind(function)}: give a function that takes the "
                        f"events and their number")
    count, sources, event_ids = _dependencies(call, count, pairs)
    if persistent and count == 0:
        raise ValueError(f"{call}: a persistent task that depends on nothing would run for ever: "
                         f"give it an event")
    _forget_released(library)
    number = next(_process.numbers)
    _process.tasks[number] = _Task(function, name, persistent)
    library.edatSubmitBoundTask(
        _CTask(ctypes.cast(_run_task, ctypes.c_void_p), number, name, persistent, greedy), count,
        sources, event_ids)


def _task_name(call, name):
    return _name(call, "the task's name", name)


def edatSubmitTask(fn, num_events, *args):
    """Submits a task: fn(events, num_events) is called with a list of EDAT_Event.

    args: a source and an event identifier for each of num_events.
    """
    _submit("edatSubmitTask", fn, num_events, args)


def edatSubmitNamedTask(fn, task_name, num_events, *args):
    """The same with a name, for edatIsTaskSubmitted and edatRemoveTask."""
    call = "edatSubmitNamedTask"
    _submit(call, fn, num_events, args, _task_name(call, task_name))


def edatSubmitPersistentTask(fn, num_events, *args):
    """A task that runs as often as its events come.

    It holds the events of one run; surplus ones stay free for others, and for its next run.
    """
    _submit("edatSubmitPersistentTask", fn, num_events, args, persistent=True)


def edatSubmitPersistentGreedyTask(fn, num_events, *args):
    """The same; takes all events that are free when it begins."""
    _submit("edatSubmitPersistentGreedyTask", fn, num_events, args, persistent=True, greedy=True)


def edatSubmitPersistentNamedTask(fn, task_name, num_events, *args):
    """Persistent, with a name."""
    call = "edatSubmitPersistentNamedTask"
    _submit(call, fn, num_events, args, _task_name(call, task_name), persistent=True)


def edatSubmitPersistentNamedGreedyTask(fn, task_name, num_events, *args):
    """Persistent and greedy, with a name."""
    call = "edatSubmitPersistentNamedGreedyTask"
    _submit(call, fn, num_events, args, _task_name(call, task_name), persistent=True, greedy=True)


def edatIsTaskSubmitted(task_name):
    """Whether a task of this name waits for events, or is persistent."""
    call = "edatIsTaskSubmitted"
    return bool(_running(call).edatIsTaskSubmitted(_task_name(call, task_name)))


def edatRemoveTask(task_name):
    """Takes back the earliest task of this name. Returns whether there was one."""
    call = "edatRemoveTask"
    library = _running(call)
    removed = bool(library.edatRemoveTask(_task_name(call, task_name)))
    _forget_released(library)
    return removed


# --- firing and waiting


def _fire(call, function, data, data_type, count, target, event_id):
    event_id = _name(call, "the event identifier", event_id)
    target = _rank(call, f'the target of "{_text(event_id)}"', target, (EDAT_ALL, EDAT_SELF),
                   "EDAT_SELF or EDAT_ALL")
    payload = _Payload(call, data, data_type, count)
    function(payload.address(), payload.data_type, payload.count, target, event_id)


def edatFireEvent(data, data_type, data_count, target, event_id):
    """Fires an event to a rank, EDAT_SELF or EDAT_ALL, with a copy of the data.

    data: data_count elements as a list, tuple, bytes, or array (of numpy, array, ctypes) of that
    type; or one number; or None.
    """
    call = "edatFireEvent"
    _fire(call, _running(call).edatFireEvent, data, data_type, data_count, target, event_id)


def edatFirePersistentEvent(data, data_type, data_count, target, event_id):
    """An event that is there again after each use."""
    call = "edatFirePersistentEvent"
    function = _running(call).edatFirePersistentEvent
    _fire(call, function, data, data_type, data_count, target, event_id)


def edatFindEvent(events, count, source, event_id):
    """The index of the first such event among the first `count`, or -1."""
    call = "edatFindEvent"
    _running(call)
    wanted = _text(_name(call, "the event identifier", event_id))
    rank = _rank(call, "the source", source, (EDAT_ANY, EDAT_SELF), "EDAT_SELF or EDAT_ANY")
    rank = _process.rank if rank == EDAT_SELF else rank
    count = _whole_number(call, "the number of events", count)
    if not 0 <= count <= len(events):
        raise ValueError(f"{call}: the number of events is {count}, and the list has "
                         f"{len(events)}: give a number up to that")
    for index, event in enumerate(events[:count]):
        if wanted == event.metadata.event_id and rank in (EDAT_ANY, event.metadata.source):
            return index
    return -1


def edatWait(num_events, *args):
    """Returns a list of the events, in the order of the arguments, when they have come.

    Tasks that need the same events are served first.
    """
    call = "edatWait"
    library = _running(call)
    dependencies = _dependencies(call, num_events, args)
    with _waiting_in_main():
        return _taken(library.edatWaitFor, dependencies)


def edatRetrieveAny(num_events, *args):
    """Returns a list of those that have come, without waiting."""
    call = "edatRetrieveAny"
    return _taken(_running(call).edatRetrieveAnyFor, _dependencies(call, num_events, args))


def _taken(function, dependencies):
    number = ctypes.c_int(0)
    events = function(ctypes.byref(number), *dependencies)
    return _copied(events, number.value)


# --- locks of this rank


def _lock_name(call, name):
    return _name(call, "the lock's name", name)


def edatLock(name):
    """Takes a lock of this rank; waits until it is free."""
    call = "edatLock"
    library = _running(call)
    name = _lock_name(call, name)
    with _waiting_in_main():
        library.edatLock(name)


def edatUnlock(name):
    """Releases a lock that the caller holds."""
    call = "edatUnlock"
    library = _running(call)
    name = _lock_name(call, name)
    if not library.edatTestLock(name):
        raise EdatError(f'{call}: the caller does not have the lock "{_text(name)}": call edatLock '
                        f"first, in the same task")
    library.edatUnlock(name)


def edatTestLock(name):
    """Whether the caller has this lock."""
    call = "edatTestLock"
    return bool(_running(call).edatTestLock(_lock_name(call, name)))
