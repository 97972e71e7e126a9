// One process of several gets no thread for its second worker: used by kill_rank.cmake.

#include <shoal/mpi.hpp>

#include "support/thread_limit.hpp"

#include <optional>

int main(int argc, char** argv) {
  int granted = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &granted);
  int process = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &process);
  std::optional<shoal::testing::ThreadLimit> limit;
  if (process == 1) limit.emplace(1);  // for the watch
  const int code =
      shoal::run(MPI_COMM_WORLD, argc, argv, [](shoal::World& world) { world.wait(); });
  limit.reset();
  MPI_Finalize();
  return code;
}
