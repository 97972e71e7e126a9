// Worlds inside a program that has initialized MPI: several in a row, with every progress policy
// and several ranks per process; the program calls MPI before, after, and from the main function.

#include <shoal/mpi.hpp>

#include "mpi/world_battery.hpp"

namespace {

using shoal::testing::require;
using shoal::testing::run_with;

int allreduce(MPI_Comm communicator, int value) {
  int sum = 0;
  MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, communicator);
  return sum;
}

void world_of(MPI_Comm communicator, int ranks_per_process, const std::string& progress,
              const std::string& workers) {
  int processes = 0;
  MPI_Comm_size(communicator, &processes);
  const int code = run_with(
      {"--ranks-per-process", std::to_string(ranks_per_process), "--progress", progress,
       "--workers", workers},
      [&](shoal::World& world) {
        require(world.size() == processes * ranks_per_process, "{} ranks", world.size());
        require(world.launch() == shoal::Launch::mpi, "not launched by MPI");
        shoal::testing::battery(world);
        if (ranks_per_process == 1) {
          require(allreduce(communicator, 1) == processes, "MPI during the run");
        }
        shoal::testing::battery(world);
      },
      communicator);
  require(code == 0, "the world with {} ranks per process, --progress {}, {} workers ended with {}",
          ranks_per_process, progress, workers, code);
  require(allreduce(communicator, 2) == 2 * processes, "MPI after the run");
}

}  // namespace

int main(int argc, char** argv) {
  int granted = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &granted);
  const int failed = shoal::testing::report([] {
    for (const std::string progress : {"worker", "main", "thread"}) {
      for (const int ranks_per_process : {1, 3}) {
        world_of(MPI_COMM_WORLD, ranks_per_process, progress, "1");
        world_of(MPI_COMM_WORLD, ranks_per_process, progress, "2");
      }
    }
    // A part of the processes is a world of its own.
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm half = MPI_COMM_NULL;
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
    world_of(half, 1, "worker", "1");
    MPI_Comm_free(&half);
    int finalized = 1;
    MPI_Finalized(&finalized);
    require(finalized == 0, "shoal has finalized MPI, which it had not initialized");
  });
  MPI_Finalize();
  return failed;
}
