"""Processes that shoal.run(main, processes=N) starts, and their end."""

import contextlib
import functools
import inspect
import io
import os
import pathlib
import pickle
import signal
import subprocess
import sys
import tempfile

from . import _errors, _wire
from ._interactive import is_interactive
from ._run import _integer_of
from ._tasks import Task

_FOLDER = "PYTHON_SHOAL_FOLDER"  # of a call: main goes there, and the result comes back
_GRACE = 0.5  # seconds for a launcher to end its processes after Ctrl-C


def is_server():
    """Whether shoal.run(processes=) has started this process."""
    return _FOLDER in os.environ


def _refuse(text):
    raise _errors.ConfigError(f"shoal.run(processes=): {text}")


def _command(count):
    from . import __main__ as commands
    if commands._both_are_installed():
        _refuse(commands._BOTH)
    launcher = next(iter(commands._launchers()), None)
    if launcher is None:
        _refuse("there is no launcher of MPI. Install one (pip install mpich, or that of the "
                "system), or run all ranks in this process by ranks= in place of processes=")
    environment = dict(os.environ)
    commands._use_own_mpi(launcher, environment)
    return [*commands._launch_command(launcher, count), sys.executable, "-m", "shoal._launch"], \
        environment


def _dump_main(call, is_script):
    """Bytes of main and its parameters: main by its name if the processes can import the program,
    else its code."""
    if is_script:
        with contextlib.suppress(Exception):  # pickle raises many types
            return pickle.dumps(call)
    try:
        import cloudpickle
    except ImportError:
        _refuse(f"{call[0]!r} is no function at the top of a module, and its code is sent by the "
                "package cloudpickle, which is not installed: pip install cloudpickle")

    class Pickler(cloudpickle.Pickler):
        """Sends tasks of `__main__` by their code, as it sends functions."""

        def reducer_override(self, obj):
            if isinstance(obj, Task) and obj.__module__ == "__main__":
                return obj._reduce_to_code()
            return super().reducer_override(obj)

    out = io.BytesIO()
    Pickler(out).dump(call)
    return out.getvalue()


def _program():
    """The program that is running: a pair of its module's name, where it was started as one
    (`python -m pkg.program`), and of its path; None in an interactive interpreter."""
    main = sys.modules.get("__main__")
    path = getattr(main, "__file__", None)
    if is_interactive() or not os.path.exists(path):
        return None
    name = getattr(getattr(main, "__spec__", None), "name", "__main__")
    return None if name == "__main__" else name, os.path.abspath(path)


def run_processes(main, count, args, options):
    """Runs main on `count` new processes; returns what it returned on rank 0."""
    count = _integer_of(count, 1, 2**31 - 1, "shoal.run(processes=)", "no number of processes: "
                        "give an integer that is at least 1", _errors.ConfigError)
    if is_server():
        _refuse("the program calls it again while its processes import it: put the call behind "
                "`if __name__ == '__main__':`")
    program = _program()
    sys.modules.setdefault("__mp_main__", sys.modules["__main__"])  # of classes of results
    with tempfile.TemporaryDirectory(prefix="shoal-python-") as name:
        folder = pathlib.Path(name)
        call = (main, {"args": args, **options})
        (folder / "main").write_bytes(_dump_main(call, program is not None))
        (folder / "program").write_bytes(pickle.dumps((program, sys.path, sys.argv)))
        command, environment = _command(count)
        environment[_FOLDER] = name
        code = _wait_for(command, environment, folder)
        return _result(folder, code)


def _wait_for(command, environment, folder):
    """Runs a launcher to its end; Ctrl-C ends its processes."""
    sys.stdout.flush()
    is_shown = _program() is None  # a notebook shows what this process prints
    process = subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE if is_shown else None,
                               stderr=subprocess.STDOUT if is_shown else None, text=True,
                               errors="replace", start_new_session=True)
    try:
        for line in process.stdout if is_shown else ():
            print(line, end="", flush=True)
        return process.wait()
    except BaseException:
        _end(process, folder)
        raise


def _end(process, folder):
    """Ends a launcher and its processes, in an orderly way if they do so soon."""
    with contextlib.suppress(ProcessLookupError):
        process.send_signal(signal.SIGTERM)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(_GRACE)
    for path in folder.glob("process.*"):  # those of this machine
        with contextlib.suppress(ProcessLookupError, ValueError):
            os.kill(int(path.suffix[1:]), signal.SIGKILL)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _result(folder, code):
    errors = sorted(folder.glob("error.*"))
    if errors:
        raise _wire.load_error(*pickle.loads(errors[0].read_bytes()))
    result = folder / "result"
    if not result.exists():
        raise _errors.Error(f"the processes ended with {code}, and without a result: standard "
                            "error has the reason")
    is_error, pair = pickle.loads(result.read_bytes())
    if is_error:
        raise _errors.CheckError(pair)
    return _wire.load(*pair)


# --- the processes

def _plain(pair):
    body, buffers = pair
    return bytes(body), [bytearray(buffer) for buffer in buffers]


def _import_program(name, path):
    """Imports the program as multiprocessing does: as `__main__`, without the code behind
    `if __name__ == "__main__"`. One that was started as a module is found as one, so that its
    relative imports work."""
    import runpy
    import types
    module = types.ModuleType("__mp_main__")
    found = (runpy.run_path(path, run_name="__mp_main__") if name is None
             else runpy.run_module(name, run_name="__mp_main__"))
    module.__dict__.update(found)
    module.__file__ = path
    sys.modules["__main__"] = sys.modules["__mp_main__"] = module


def _name_globals(main):
    """Makes a `__main__` of the functions and classes that came with main, from an interactive
    interpreter: calls of other processes, and values that go back, name them."""
    import types
    module = types.ModuleType("__main__")
    while isinstance(main, functools.partial):
        main = main.func
    module.__dict__.update(getattr(inspect.unwrap(main), "__globals__", {}))
    sys.modules["__main__"] = module


def _serve():
    folder = pathlib.Path(os.environ[_FOLDER])
    (folder / f"process.{os.getpid()}").touch()
    program, paths, words = pickle.loads((folder / "program").read_bytes())
    sys.path[:], sys.argv[:] = paths, words
    if program is not None:
        _import_program(*program)
    main, options = pickle.loads((folder / "main").read_bytes())
    if program is None:
        _name_globals(main)
    from ._run import _complete, run
    rank = []

    @functools.wraps(main)
    def main_of_rank(world):
        rank.append(world.rank)
        result = _complete(main(world), "the main function")
        if world.rank == 0:
            _write_result(folder, result, main)
        return None

    try:
        run(main_of_rank, **options)
    except Exception as error:  # one that tells of the failure of another rank comes last
        here = rank[0] if rank else 0
        path = folder / f"error.{isinstance(error, _errors.TaskError):d}.{here:06}"
        part = path.with_name("part" + path.name)
        part.write_bytes(pickle.dumps(_plain(_wire.dump_error(error, here))))
        part.rename(path)


def _write_result(folder, result, main):
    try:
        outcome = False, _plain(_wire.dump(result, f"the result of {main!r}"))
    except _errors.CheckError as error:
        outcome = True, str(error)
    (folder / "result").write_bytes(pickle.dumps(outcome))


if __name__ == "__main__":
    _serve()
