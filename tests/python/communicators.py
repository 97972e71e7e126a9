"""Beside mpi4py in one process: communicators in and out, and wrong ones."""

import sys

import mpi4py

if "serialized" in sys.argv:
    mpi4py.rc.thread_level = "serialized"

from mpi4py import MPI

import shoal
from support import refuses


def where():
    return shoal.current_world().rank


def works(world):
    """Messages of both libraries at once."""
    comm = world.comm
    assert (comm.rank, comm.size) == (world.rank, world.size), (comm.rank, comm.size, world)
    before, after = (world.rank - 1) % world.size, (world.rank + 1) % world.size
    futures = [world.call(after, where) for _ in range(20)]
    for number in range(20):
        request = comm.isend((world.rank, number), dest=after, tag=number)
        assert comm.recv(source=before, tag=number) == (before, number)
        request.wait()
    assert shoal.gather(futures) == [after] * 20
    world.barrier()  # others have their answers: the next call may hold the only worker
    assert comm.allreduce(world.rank) == sum(range(world.size))
    assert world.submit(lambda: shoal.current_world().comm).result() is comm
    assert world.allgather(MPI.COMM_WORLD.rank) == comm.allgather(MPI.COMM_WORLD.rank)
    return comm


def raises(world):
    if world.rank == world.size - 1:
        raise LookupError("no more bananas")


def without_mpi(world):
    refuses(shoal.CheckError, "without MPI", getattr, world, "comm")
    return world.size


def below_multiple(world):
    """Where several threads would call MPI, only shoal may."""
    refuses(shoal.ConfigError, "thread level below", getattr, world, "comm")


def run_as_in_the_guide():
    # [half]
    def main(world):
        total = world.comm.allreduce(world.rank)  # world.comm is that of `half`
        assert total == sum(range(world.size))

    half = MPI.COMM_WORLD.Split(MPI.COMM_WORLD.rank % 2)
    shoal.run(main, comm=half)
    # [/half]
    half.Free()


def run_on(comm):
    """A run on a communicator, whose rank 0 gets the result."""
    result = shoal.run(works, comm=comm)
    assert result is (comm if comm.rank == 0 else None), result


def run_on_parts():
    """Worlds of some processes each, at once, in another order."""
    me = MPI.COMM_WORLD.rank
    half = MPI.COMM_WORLD.Split(me % 2, -me)
    run_on(half)
    if me % 2 == 0:
        run_on(half)
    half.Free()
    run_as_in_the_guide()
    run_on(MPI.COMM_WORLD)
    assert (shoal.run(works) is MPI.COMM_WORLD) == (me == 0)
    if MPI.COMM_WORLD.size > 2:  # a failure is one of the world that it is in
        part = MPI.COMM_WORLD.Split(me == 0, me)
        if me == 0:
            run_on(part)
        else:
            refuses((LookupError, shoal.TaskError), "no more bananas", shoal.run, raises, comm=part)


def check_refusals():
    refuses(shoal.CheckError, "comm is 3", shoal.run, works, comm=3)
    refuses(shoal.ConfigError, "COMM_NULL", shoal.run, works, comm=MPI.COMM_NULL)
    freed = MPI.COMM_WORLD.Dup()
    other_name = MPI.Comm.f2py(freed.py2f())
    freed.Free()
    refuses(shoal.ConfigError, "COMM_NULL", shoal.run, works, comm=freed)
    if "MPICH" in MPI.Get_library_version():  # Open MPI reads memory that it has freed
        refuses(shoal.ConfigError, "was it freed", shoal.run, works, comm=other_name)
    refuses(shoal.ConfigError, "comm and processes", shoal.run, works, comm=MPI.COMM_SELF,
            processes=2)
    refuses(shoal.ConfigError, "comm in a simulation", shoal.run, works, comm=MPI.COMM_SELF,
            sim=True)
    if MPI.COMM_WORLD.size > 1:
        is_odd = MPI.COMM_WORLD.rank % 2
        part = MPI.COMM_WORLD.Split(is_odd)
        both = part.Create_intercomm(0, MPI.COMM_WORLD, 1 - is_odd)
        refuses(shoal.ConfigError, "intercommunicator", shoal.run, works, comm=both)
        both.Free()
    version = MPI.Get_library_version
    MPI.Get_library_version = lambda: "Another MPI 1.0, of nobody"
    refuses(shoal.ConfigError, "communicator of Another MPI 1.0 was given.* uses [A-Z]", shoal.run,
            works, comm=MPI.COMM_SELF)
    MPI.Get_library_version = version


if __name__ == "__main__":
    if "--sim" in sys.argv:
        shoal.run(without_mpi)
        refuses(shoal.ConfigError, "comm in a simulation", shoal.run, works, comm=MPI.COMM_SELF)
    elif MPI.COMM_WORLD.size == 1:  # without a launcher
        assert shoal.run(without_mpi, ranks=2) == 2
        check_refusals()
        run_on(MPI.COMM_SELF)
        assert shoal.run(without_mpi, ranks=2) == 2
    elif "serialized" in sys.argv:
        for comm in (None, MPI.COMM_WORLD):
            shoal.run(below_multiple, comm=comm, workers=2)
        shoal.run(works, comm=MPI.COMM_WORLD, workers=1)
    else:
        check_refusals()
        run_on_parts()
    if MPI.COMM_WORLD.rank == 0:
        print("good")
