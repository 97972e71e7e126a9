#pragma once
// Sparse triangular solve by tasks, each of a tile of rows, with the solution in global memory.

#include <shoal/memory.hpp>
#include <shoal/shoal.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "sparse_solve/factor.hpp"
#include "sparse_solve/tiles.hpp"

namespace sparse_solve {

/// Size of a task: see Tiles.
struct Grain {
  int block = 0;    // rows of a strip; 0: four strips for each worker of all ranks
  int levels = 16;  // in a task
};

struct Solution {
  std::vector<double> x;  // on rank 0
  double seconds = 0;
  std::uint64_t puts = 0;   // to other ranks, of all ranks
  std::uint64_t tasks = 0;  // of all ranks
};

/// Solves with a factor, any number of times. Strips of rows are dealt to the ranks, round robin. A
/// tile of a strip is solved when the elements that it needs are there; its own are put, with a
/// signal, to the ranks that need them. All ranks make their solvers in the same order.
class Solver {
 public:
  /// Finds the tasks and copies the rows of this rank. Collective.
  Solver(shoal::World& world, const LowerFactor& factor, const Grain& grain);

  /// Solves factor x = b. Collective.
  [[nodiscard]] Solution solve(const std::vector<double>& b);

 private:
  /// Consecutive elements of a tile that another rank needs.
  struct Part {
    shoal::Rank rank;
    int first = 0;
    int count = 0;
  };

  [[nodiscard]] shoal::Rank owner(int tile) const {
    return shoal::Rank(tiles_.strip_of(tile) % world_.size());
  }
  [[nodiscard]] bool is_mine(int tile) const { return owner(tile) == world_.rank(); }

  /// The rows of this rank, in the order in which they are solved.
  void copy_rows(const LowerFactor& factor);
  /// The tiles of which a tile needs elements, each once, and the elements that other ranks need
  /// from this one.
  void find_dependencies(const LowerFactor& factor);
  void make_parts(std::span<const std::array<int, 3>> sent);

  void solve_tile(int tile);
  /// Puts the elements to the ranks that need them. The last part for a rank brings the signal.
  void put(int tile);
  /// The elements are here: the tiles of this rank that need them have one dependency less.
  void announce(int tile);
  [[nodiscard]] std::vector<double> gather();

  shoal::World& world_;
  const int size_;
  const int block_;
  const Tiles tiles_;
  const double* b_ = nullptr;
  shoal::GlobalMemory memory_;
  shoal::GlobalVector<double> x_;
  const std::span<double> here_;
  LowerFactor own_;                          // rows of this rank
  std::vector<int> first_own_;               // by tile: its first row in own_
  std::vector<int> needs_;                   // by tile: how many others
  std::vector<std::vector<int>> needed_by_;  // by tile
  std::vector<std::vector<Part>> parts_;     // by tile of this rank
  shoal::TaskGraph<int> graph_;
  const shoal::ActiveMessage<int> arrived_;
  std::atomic<std::uint64_t> puts_{0};
};

}  // namespace sparse_solve
