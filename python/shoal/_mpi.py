"""Beside mpi4py: its communicators in, by shoal.run(comm=), and out, by World.comm."""

import sys

from . import _core, _errors
from ._run import state_of


def _mpi4py():
    """The module mpi4py.MPI, if the program has imported it."""
    return sys.modules.get("mpi4py.MPI")


def number_of(comm):
    """The number that Fortran has for a communicator, which all MPIs and all versions of mpi4py
    know. Refuses one that no world can run on."""
    mpi = _mpi4py()
    if mpi is None or not isinstance(comm, mpi.Comm):
        raise _errors.CheckError(
            f"shoal.run(): comm is {comm!r}: give a communicator of mpi4py, such as MPI.COMM_WORLD")
    if not mpi.Is_initialized() or mpi.Is_finalized():
        raise _errors.ConfigError(
            "shoal.run(): MPI is not initialized yet, or was finalized: call it between MPI.Init() "
            "and MPI.Finalize(), which mpi4py calls by itself unless mpi4py.rc says otherwise")
    if comm == mpi.COMM_NULL:
        raise _errors.ConfigError(
            "shoal.run() was given MPI.COMM_NULL, as a communicator is after Free(), and what "
            "Split() gives to processes without a colour: only the processes of a communicator "
            "call run()")
    try:
        is_inter = comm.Is_inter()
    except mpi.Exception as error:
        raise _errors.ConfigError(
            "shoal.run() was given a communicator that MPI does not know: was it freed "
            "already?") from error
    if is_inter:
        raise _errors.ConfigError(
            "shoal.run() was given an intercommunicator, whose two groups do not make one world: "
            "give it what its Merge() returns")
    number = comm.py2f()
    _core._check_communicator(number, mpi.Get_library_version())
    return number


class Given:
    """The communicator that the run of a world was given, or None."""

    comm = None


def _comm(world):
    """Communicator of mpi4py with the processes of the world in their order: with one rank in each,
    as is usual, its ranks are those of the world. The one of shoal.run(comm=), or MPI.COMM_WORLD.

    shoal's messages have a communicator of their own. Main functions and tasks may use this one, if
    mpi4py.MPI was imported before the run. A call that blocks holds its worker. Raises CheckError
    in a run without MPI, and without mpi4py; ConfigError where mpi4py has another MPI than shoal,
    or MPI a thread level below MPI.THREAD_MULTIPLE, except with a given comm and one worker."""
    if world.launch != "mpi":
        raise _errors.CheckError(
            f"world.comm: the ranks of this run are {world.launch}, in one process and without "
            "MPI. Start the program by mpirun, or by `python -m shoal run -n 4`")
    given = state_of(world, Given).comm
    mpi = _mpi4py()
    if mpi is None:
        raise _errors.CheckError(
            "world.comm is a communicator of mpi4py, which the program has not imported: put `from "
            "mpi4py import MPI` at its top, before shoal.run()")
    if given is None:
        _core._check_communicator(mpi.COMM_WORLD.py2f(), mpi.Get_library_version())
    is_alone = given is not None and world.worker_count == 1  # then one thread calls MPI
    if mpi.Query_thread() < mpi.THREAD_MULTIPLE and not is_alone:
        raise _errors.ConfigError(
            "world.comm: MPI was initialized with a thread level below MPI.THREAD_MULTIPLE, and "
            "only shoal may call it in this run. Let mpi4py initialize it: import mpi4py.MPI "
            "before shoal.run(), with mpi4py.rc as it is; or give the first run shared_mpi=True")
    return mpi.COMM_WORLD if given is None else given


_core.World.comm = property(_comm)
