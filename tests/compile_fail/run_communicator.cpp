// expect: shoal::run\(\) on a communicator of MPI: include <shoal/mpi.hpp>, and link an MPI
// lines: <= 8
#include <shoal/shoal.hpp>

int main(int argc, char** argv) {
  const int communicator = 0x44000000;
  return shoal::run(communicator, argc, argv, [](shoal::World&) {});
}
