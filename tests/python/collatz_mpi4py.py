"""The program of mpi4py in docs/from_python.md: the number below 1000 with most steps to 1."""


def steps(n):
    count = 0
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        count += 1
    return count


# [main]
from mpi4py import MPI

comm = MPI.COMM_WORLD
mine = range(1 + comm.rank, 1000, comm.size)
best = comm.reduce(max((steps(n), n) for n in mine), op=MPI.MAX, root=0)
if comm.rank == 0:
    print("%d steps from %d" % best)
# [/main]
