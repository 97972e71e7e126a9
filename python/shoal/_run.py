"""The start of a run: shoal.run()."""

import contextlib
import contextvars
import difflib
import faulthandler
import functools
import inspect
import operator
import os
import random
import re
import signal
import sys
import threading
import types
import warnings

from . import _core, _errors, _wire
from ._interactive import Running, Watch, is_interactive

_current = contextvars.ContextVar("shoal world")


def current_world():
    """The world of the running task, handler or main function.

    Raises CheckError outside of a run."""
    world = _current.get(None)
    if world is None:
        raise _errors.CheckError(
            "there is no world here: call this in the main function of shoal.run(), or in a task "
            "that it makes")
    return world


_states = {}  # of worlds, by the world and the class of the state


def state_of(world, kind):
    """The one object of a class that a rank has, such as a table of what it knows. It lasts until
    the run of the world has ended."""
    state = _states.get((world, kind))
    return _states.setdefault((world, kind), kind()) if state is None else state


def _end_states():
    """Drops the states of worlds whose runs have ended."""
    _placed.clear()
    for key in list(_states):
        try:
            key[0]._rank
        except _errors.CheckError:
            _states.pop(key, None)


def _check_name(name, what, of="its name"):
    """The text that a program gives, such as a name: `of`, in errors."""
    if not isinstance(name, str):
        raise _errors.CheckError(f"{what}: {of} is {name!r}: give a str")
    if not name.isascii():
        try:
            name.encode()
        except UnicodeEncodeError:
            raise _errors.CheckError(f"{what}: {of} is {name!r}, which has half of a surrogate "
                                     "pair: give a str that UTF-8 can encode") from None
    return name


def _integer_of(value, least, most, what, wrong, error=_errors.CheckError):
    """The value as an int, unless it is `wrong`: no integer, or one that is out of range."""
    try:
        number = None if isinstance(value, bool) else operator.index(value)
    except TypeError:
        number = None
    if number is None or not least <= number <= most:
        raise error(f"{what}: {value!r} is {wrong}")
    return number


def _priority_of(value, what):
    return _integer_of(value, -2**31, 2**31 - 1, what, "no priority: give an integer of 32 bits")


def _retries_of(value, what):
    return _integer_of(value, 0, 2**31 - 1, what, "no number of retries: give an integer that is "
                       "not negative")


def _rank_of(team, rank, what):
    size = team.size
    if type(rank) is int and 0 <= rank < size:
        return rank
    return _integer_of(rank, 0, size - 1, what, f"no rank: there are {size}, 0 to {size - 1}")


def _team_of(team, what):
    """The team that a program gives: by default the world."""
    if team is None:
        return current_world()
    if not isinstance(team, _core.Team):
        raise _errors.CheckError(
            f"{what}: {team!r} is no team: give the world, or what its split() has returned")
    return team


def _signature_of(function):
    """The signature of a function of the program. Raises TypeError and ValueError. That of a
    function of C is parsed, which fails in Python before 3.11.8 and 3.12.2 if a thread, or a
    destructor, does so as well meanwhile (python/cpython#106905)."""
    for _ in range(9):
        try:
            return inspect.signature(function)
        except SystemError:
            pass
    return inspect.signature(function)


_UNFINISHED = types.CoroutineType, types.GeneratorType, types.AsyncGeneratorType
_YIELDS = inspect.CO_GENERATOR | inspect.CO_ASYNC_GENERATOR


def _refuse_generator(what, has="has"):
    raise _errors.CheckError(
        f"{what} is a generator: it has `yield`, so that nothing of it {has} run. Return a list, "
        "or wait by result() in place of yield")


def _function_of(function, what, may_await=True):
    """The function of the program that a call takes, unless nothing of it would run: it is no
    function, a generator, or `async def` where nobody awaits. All calls ask here; functions that
    hide what they return are found by _call_to_end()."""
    if not callable(function):
        raise _errors.CheckError(f"{what}: {function!r} cannot be called: give a function")
    flags = getattr(getattr(function, "__code__", None), "co_flags", 0)
    if flags & _YIELDS:
        _refuse_generator(f"{what}: {_name_of(function)}", "would")
    if flags & inspect.CO_COROUTINE and not may_await:
        raise _errors.CheckError(f"{what}: {_name_of(function)} is `async def`, and nobody awaits "
                                 "it: give a plain function")
    return function


def _complete(result, what):
    """The result of a function: of an `async def` function, that of its coroutine."""
    if isinstance(result, types.CoroutineType):
        from . import _tasks
        return _tasks._drive(result)
    if isinstance(result, _UNFINISHED):
        _refuse_generator(what)
    return result


def _complete_in(context, result, function):
    """As _call_to_end(), where the function has been called in a context."""
    if isinstance(result, _UNFINISHED):
        return context.run(_complete, result, _name_of(function))
    return result


def _call_to_end(function, arguments, keywords):
    """Calls a function of the program, and awaits its coroutine."""
    result = function(*arguments, **keywords)
    if isinstance(result, _UNFINISHED):
        return _complete(result, _name_of(function))
    return result


class _Main:
    """A main function, with its results and errors on the ranks of this process."""

    def __init__(self, function, waits=False, comm=None):
        self.function = self.__wrapped__ = function
        self.waits = waits  # for all work of the world, so that its failure is an exception
        self.comm = comm  # of mpi4py, or None
        self.context = contextvars.copy_context()
        self.running = Running()
        self.results = {}
        self.errors = {}
        self.exit = None  # of sys.exit() in a main function

    def __call__(self, world):
        rank = world.rank
        try:
            with self.running.entered(world):
                try:
                    result = _complete(self.function(world), "the main function")
                finally:
                    world._close_to_threads()
                if self.waits:
                    world._await_end()
        except SystemExit as error:
            self.exit = error
            if error.code is None or isinstance(error.code, int):
                return error.code or 0
            return 1  # the interpreter prints the text
        except BaseException as error:
            self.errors[rank] = error
            raise
        self.results[rank] = result
        return 0


def _run_main(main, world):
    if main.comm is not None:
        from ._mpi import Given
        state_of(world, Given).comm = main.comm

    def run_in_context():
        _current.set(world)
        code = main(world)
        sys.stdout.flush()
        return code
    return main.context.copy().run(run_in_context)


def _in_world(world, function, *arguments):
    return contextvars.Context().run(_call_in, world, function, arguments)


def _call_in(world, function, arguments):
    _current.set(world)
    return function(*arguments)


def _check_call(world, rank, function, what, name):
    """The rank, of a call or a message that need not be right."""
    what = f"{what} {_name_of(_function_of(function, name))}"
    return _rank_of(world, rank, what)


def _make_context(world):
    """A context in which the world is the current one, for plain calls of other ranks."""
    context = contextvars.Context()
    context.run(_current.set, world)
    return context


def _serve(world, body, buffers):
    """Runs a call of another rank."""
    try:
        function, arguments, keywords = _wire.load_call(body, buffers)
        result = _in_world(world, _invoke, function, arguments, keywords)
        return False, _wire.dump(result, "the result of", function)
    except BaseException as error:
        return _refuse(world, error)


def _finish_call(world, context, result, function):
    """As _serve(), of a call that has returned in a context."""
    try:
        return False, _wire.dump(_complete_in(context, result, function), "the result of", function)
    except BaseException as error:
        return _refuse(world, error)


def _refuse(world, error):
    """The answer to a call that has raised."""
    if isinstance(error, _errors.CancelledError):
        raise error
    return True, _wire.dump_error(error, world.rank)


def _deliver(world, body, buffers):
    """Runs the handler of a message."""
    function, arguments, keywords = _wire.load_call(body, buffers)
    _in_world(world, _invoke, function, arguments, keywords)


def _invoke(function, arguments, keywords):
    body = getattr(function, "_shoal_body", None)  # of a task, which would make another one
    if body is not None:
        return body(arguments, keywords)
    return _call_to_end(function, arguments, keywords)


def _name_of(function):
    return getattr(function, "__qualname__", None) or repr(function)


_placed = set()  # names of tasks whose places the trace of the run has


def _place_of(name, function):
    """Where the function of the tasks of a name is, for a trace: the last parts of its path, and
    the line. None: the trace knows it, or it is no function of Python."""
    if name in _placed:
        return None
    _placed.add(name)
    if isinstance(function, functools.partial):
        function = function.func
    code = getattr(inspect.unwrap(function), "__code__", None)
    if code is None:
        return None
    return _line_of(code, code.co_firstlineno)


def _line_of(code, line):
    return f"{'/'.join(code.co_filename.split('/')[-3:])}:{line}"


_PACKAGE = os.path.dirname(__file__) + os.sep


def _is_own(frame):
    return frame.f_code.co_filename.startswith(_PACKAGE)


def _awaiting(coroutine):
    """The innermost frame of the program in a coroutine that awaits, or None."""
    found = None
    while isinstance(coroutine, types.CoroutineType):
        frame = coroutine.cr_frame
        if frame is not None and not _is_own(frame):
            found = frame
        coroutine = coroutine.cr_await
    return found


def _frame_place(frame):
    """Where the program is in a frame and its callers, for reports; None: nowhere."""
    while frame is not None and _is_own(frame):
        if "coroutine" in frame.f_code.co_varnames:  # _drive(), outside of what it drives
            inner = _awaiting(frame.f_locals["coroutine"])
            if inner is not None:
                frame = inner
                break
        frame = frame.f_back
    return frame and f"{_line_of(frame.f_code, frame.f_lineno)} in {frame.f_code.co_qualname}"


def _call_with_key(function, code):
    from . import _graph
    return _graph.call_with_key(function, code)


def _call_with_inputs(function, code, inputs):
    from . import _graph
    return _graph.call_with_inputs(function, code, inputs)


def _adopt(old, new):
    from . import _flow
    return _flow.adopt(old, new)


def _invoke_object(world, target, body, buffers):
    from . import _objects
    return _objects.invoke(world, target, body, buffers)


_core._set_hooks({
    "invoke": _invoke_object,
    "adopt": _adopt,
    "call_with_inputs": _call_with_inputs,
    "call_with_key": _call_with_key,
    "run_main": _run_main,
    "check_call": _check_call,
    "dump_call": _wire.dump_call,
    "is_found_by_name": _wire._is_found_by_name,
    "find_function": _wire.find_function,
    "make_context": _make_context,
    "invoke_any": _invoke,
    "serve": _serve,
    "refuse": _refuse,
    "finish_call": _finish_call,
    "complete": _complete_in,
    "deliver": _deliver,
    "load": _wire.load,
    "load_error": _wire.load_error,
    "dump": _wire.dump,
    "is_constant": _wire.is_constant,
    "place_of": _place_of,
    "frame_place": _frame_place,
    "modules": sys.modules,
    "function_type": types.FunctionType,
})


def _word_of(value):
    if value is True:
        return "on"
    return str(value)


def _check_options(options, what):
    known = [name.replace("-", "_") for name in _core._option_names()]
    for name in options:
        if name not in known:
            near = difflib.get_close_matches(name, known, 1)
            meant = f": did you mean {near[0]!r}?" if near else "."
            raise _errors.ConfigError(f"{what} has no option {name!r}{meant} The command "
                                      "`python -m shoal info -- --help` lists the options")


class _Variables:
    """SHOAL_ variables of the options that the call gives. They are defaults of the program: the
    environment wins over them, and the command line over both."""

    def __init__(self, options):
        self.options = {}
        self.names = {}  # of the parameters
        for name, value in options.items():
            if value is None or value is False:
                continue
            variable = f"SHOAL_{name.upper()}"
            if variable not in os.environ:
                self.options[variable] = _word_of(value)
                self.names[variable] = name

    def __enter__(self):
        os.environ.update(self.options)

    def __exit__(self, kind, error, traceback):
        for name in self.options:
            os.environ.pop(name, None)
        if isinstance(error, _errors.ConfigError) and len(error.args) == 1:
            found = re.fullmatch(r"environment variable (\w+): (.*)", str(error.args[0]), re.DOTALL)
            if found and found[1] in self.names:
                error.args = (f"shoal.run({self.names[found[1]]}=): {found[2]}",)


def _make_deterministic(seed):
    random.seed(seed)
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        numpy.random.seed(seed % 2**32)
    if sys.flags.hash_randomization and os.environ.get("PYTHONHASHSEED", "random") == "random":
        warnings.warn(
            "a simulation repeats only in part: hash() of strings, and with it the order of sets, "
            "differs in each process. Start it by `python -m shoal run --sim`, or set "
            "PYTHONHASHSEED=0", RuntimeWarning, stacklevel=3)


@contextlib.contextmanager
def _default_interrupts():
    """Lets Ctrl-C end the process while the main thread is in a run, where it runs no Python."""
    before = signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _interrupts_of(running, is_simulated):
    """Ctrl-C during a run: it ends the process, or in an interactive interpreter the run. Where the
    program has a handler of its own, it gets the signal when the run has ended."""
    if threading.current_thread() is not threading.main_thread() or (
            signal.getsignal(signal.SIGINT) is not signal.default_int_handler):
        return contextlib.nullcontext()
    if not is_interactive():
        return _default_interrupts()
    # Simulated ranks run Python on the main thread, which raises the KeyboardInterrupt there.
    return contextlib.nullcontext() if is_simulated else Watch(running)


def _name_crashes():
    """Lets a segmentation fault say in which function of Python it is."""
    if not faulthandler.is_enabled():
        # Standard error may be no file, as in a notebook.
        with contextlib.suppress(AttributeError, OSError, RuntimeError, ValueError):
            faulthandler.enable()


def _number_of_comm(comm, processes, is_simulated):
    """The number of a communicator of mpi4py; None without one."""
    if comm is None:
        return None
    if processes is not None:
        raise _errors.ConfigError(
            "shoal.run() was given comm and processes: the processes of a communicator are there "
            "already. Leave one of the two away")
    if is_simulated:
        raise _errors.ConfigError(
            "shoal.run() was given comm in a simulation, which has all its ranks in one process: "
            "leave comm away there, and give the number of ranks by ranks=")
    from . import _mpi
    return _mpi.number_of(comm)


def run(main, *, ranks=None, workers=None, processes=None, comm=None, args=None, **options):
    """Runs main(world) on every rank, and returns what it returned on rank 0.

    Parameters:
        main: function of a World, called once on each rank. When it returns, the rank waits until
            all tasks and messages have ended.
        ranks: number of ranks in this process; default 1. Ignored under mpirun and with comm: the
            processes are the ranks there.
        workers: threads of each rank that run tasks; by default the processors are shared out.
        processes: number of processes to start, each with one rank, in place of ranks in this one.
            They import the program, so that the call must stand behind
            `if __name__ == "__main__":`; from a notebook, main goes there by the package
            cloudpickle, as lambdas and closures do. Simulated runs have that many ranks here.
        comm: communicator of mpi4py whose processes are the ranks, and all call run(); world.comm
            is it then.
        args: words of the command line, by default those of the process; `--help` lists the
            options, and world.args has the others.
        options: further options, as on the command line with _ for -: sim=True, sim_seed=7.
            Options of the command line and SHOAL_ variables win over these parameters.

    Returns the value of main on rank 0; None in processes of an MPI launch without rank 0.

    Raises what main raised on the first rank of this process that raised; Error if the run failed
    otherwise (standard error has the reason); ConfigError inside a run, and for a comm that no
    world can run on."""
    if not callable(main):
        raise _errors.CheckError(
            f"shoal.run() takes a function of a world, and got {main!r}: give it the function "
            "itself, as in shoal.run(main)")
    if _current.get(None) is not None:
        raise _errors.ConfigError(
            "shoal.run() was called inside a run, by a main function, a task or a handler: one "
            "world cannot wait for another on its own workers. Call it before or after")
    from . import _launch
    if args is None:
        args = [] if is_interactive() else sys.argv[1:]
    _check_options(options, "shoal.run()")
    words = [sys.argv[0] if sys.argv and sys.argv[0] else "python", *map(str, args)]
    options["workers"] = workers
    with _Variables(options):
        is_simulated, seed = _core._parse(words)
    number = _number_of_comm(comm, processes, is_simulated)
    if processes is not None:
        if is_simulated:
            ranks = processes
        elif _launch.is_server() or not _core._is_launched():
            return _launch.run_processes(main, processes, args, options)
    if number is not None or _core._is_launched():
        ranks = None
    what = _Main(main, waits=True, comm=comm)
    _name_crashes()
    sys.stdout.flush()
    if is_simulated:
        _make_deterministic(seed)
    with _Variables({"ranks": ranks, **options}):
        try:
            with _interrupts_of(what.running, is_simulated):
                code = _core._run(what, words, number)
        finally:
            _end_states()
    if what.errors:
        failed = [rank for rank, error in what.errors.items()
                  if not isinstance(error, _errors.TaskError)] or list(what.errors)
        raise what.errors[min(failed)]
    if code != 0:
        if what.exit is not None:
            raise what.exit
        raise _errors.Error(f"the run ended with {code}: standard error has the reason")
    return what.results.get(0)
