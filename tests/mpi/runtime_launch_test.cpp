// A program that leaves MPI to shoal: launched, it is a world of all processes.

#include <mpi.h>

#include "mpi/world_battery.hpp"

int main(int argc, char** argv) {
  const int code = shoal::run(argc, argv, [](shoal::World& world) {
    using shoal::testing::require;
    int processes = 0;
    MPI_Comm_size(MPI_COMM_WORLD, &processes);
    require(world.size() == processes, "{} ranks, {} processes", world.size(), processes);
    require(world.launch() == shoal::Launch::mpi, "not launched by MPI");
    shoal::testing::battery(world);
  });
  int finalized = 0;
  MPI_Finalized(&finalized);
  return code != 0 || finalized == 0 ? 1 : 0;
}
