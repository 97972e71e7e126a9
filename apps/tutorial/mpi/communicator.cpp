// A program of MPI that calls shoal for a part of its work, on a communicator of its own.

#include <shoal/mpi.hpp>
#include <shoal/shoal.hpp>

#include <cstdio>

// [main]
int main(int argc, char** argv) {
  int level = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &level);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm half = MPI_COMM_NULL;  // the processes with even numbers, and those with odd ones
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, 0, &half);

  const int failed = shoal::run(half, argc, argv, [](shoal::World& world) {
    // MPI_Comm_rank(half, ...) is world.rank(), with one rank in each process.
    const int ranks = world.allreduce(1, [](int a, int b) { return a + b; });
    if (world.rank() == 0) std::printf("a world of %d\n", ranks);
  });

  MPI_Comm_free(&half);
  MPI_Finalize();  // shoal leaves it to the program that called MPI_Init
  return failed;
}
// [/main]
