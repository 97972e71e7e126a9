#pragma once
// The start of a program that is written with MPI alone. Headers only: each MPI has its own.

#include <mpi.h>

#include <algorithm>
#include <array>
#include <functional>
#include <string>
#include <vector>

#include "ranks/program.hpp"

namespace bench {

/// The process's place in MPI_COMM_WORLD. Errors end the run: MPI's default.
class MpiWorld {
 public:
  MpiWorld(int& argc, char**& argv, int thread_level) {
    int provided = 0;
    MPI_Init_thread(&argc, &argv, thread_level, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &size_);
  }
  ~MpiWorld() { MPI_Finalize(); }
  MpiWorld(const MpiWorld&) = delete;
  MpiWorld& operator=(const MpiWorld&) = delete;

  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] int size() const { return size_; }

  /// Conjunction over all ranks, on every rank.
  [[nodiscard]] static bool all_hold(bool holds) {
    int all = holds ? 1 : 0;
    MPI_Allreduce(MPI_IN_PLACE, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    return all != 0;
  }
  [[nodiscard]] static double sum(double value) {
    MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    return value;
  }
  /// The values of all ranks, on every rank.
  [[nodiscard]] std::vector<double> gather_all(double value) const {
    std::vector<double> all(static_cast<std::size_t>(size_));
    MPI_Allgather(&value, 1, MPI_DOUBLE, all.data(), 1, MPI_DOUBLE, MPI_COMM_WORLD);
    return all;
  }
  /// "Open MPI v4.1.4", or what the library says else up to a comma or a line's end.
  [[nodiscard]] static std::string library() {
    std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> text{};
    int length = 0;
    MPI_Get_library_version(text.data(), &length);
    std::string all(text.data(), static_cast<std::size_t>(length));
    std::ranges::replace(all, '\t', ' ');
    return all.substr(0, all.find_first_of(",\n"));
  }

 private:
  int rank_ = 0;
  int size_ = 0;
};

/// The arguments behind the program's name.
inline std::vector<std::string> arguments_of(int argc, char** argv) {
  return {argv + 1, argv + argc};
}

}  // namespace bench
