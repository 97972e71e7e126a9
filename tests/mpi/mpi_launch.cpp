#include "mpi/mpi_launch.hpp"

#include <fmt/core.h>
#include <mpi.h>

#include <array>
#include <cstddef>

namespace shoal::testing {

int report_with_mpi(int argc, char** argv, const std::function<void()>& steps) {
  int granted = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &granted);
  const int failed = report(steps);
  MPI_Finalize();
  return failed;
}

bool init_launch(int argc, char** argv, int level) {
  constexpr std::array<int, 4> kLevels{MPI_THREAD_SINGLE, MPI_THREAD_FUNNELED,
                                       MPI_THREAD_SERIALIZED, MPI_THREAD_MULTIPLE};
  const int wanted = kLevels.at(static_cast<std::size_t>(level));
  int granted = 0;
  MPI_Init_thread(&argc, &argv, wanted, &granted);
  if (granted != wanted && process_of_launch() == 0) {
    fmt::print("this MPI grants thread level {} when asked for {}\n", granted, wanted);
  }
  return granted == wanted;
}

void finalize_launch() { MPI_Finalize(); }

bool launch_is_finalized() {
  int finalized = 0;
  MPI_Finalized(&finalized);
  return finalized != 0;
}

void return_errors_of_launch() {
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
}

void abort_launch() { MPI_Abort(MPI_COMM_WORLD, 1); }

void barrier_of_launch() { MPI_Barrier(MPI_COMM_WORLD); }

int mpi_error_code() { return MPI_ERR_TAG; }

const void* communicator_of_launch() {
  static const MPI_Comm world = MPI_COMM_WORLD;
  return &world;
}

int process_of_launch() {
  int process = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &process);
  return process;
}

int processes_of_launch() {
  int count = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &count);
  return count;
}

int collective_near_count() {
  MPI_Comm near = MPI_COMM_NULL;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &near);
  int near_count = 0;
  MPI_Comm_size(near, &near_count);
  MPI_Comm_free(&near);
  MPI_Allreduce(MPI_IN_PLACE, &near_count, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  return near_count;
}

std::string collective_gather(std::string mine, int size) {
  mine.resize(static_cast<std::size_t>(size), ' ');
  const int all_count = process_of_launch() == 0 ? size * processes_of_launch() : 0;
  std::string all(static_cast<std::size_t>(all_count), ' ');
  MPI_Gather(mine.data(), size, MPI_CHAR, all.data(), size, MPI_CHAR, 0, MPI_COMM_WORLD);
  return all;
}

}  // namespace shoal::testing
