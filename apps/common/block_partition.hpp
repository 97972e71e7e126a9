#pragma once
// How the rows (and columns) of a matrix are cut into blocks.

#include <cstdint>
#include <vector>

namespace apps {

/// The indices 0..size-1 cut into consecutive blocks, each of at least one index.
class BlockPartition {
 public:
  /// Blocks of `block` indices; the last one may be smaller. Errors: InputError if either is < 1.
  static BlockPartition uniform(int size, int block);

  /// As many blocks as uniform(), with random sizes between (2 - rho) and rho times the average;
  /// the largest has rho times the average as nearly as integers allow. A function of the arguments
  /// only. Errors: InputError unless 1 <= rho <= 2.
  /// Source: the load-balance test of the TaskTorrent paper, section III C.
  static BlockPartition random(int size, int block, double rho, std::uint64_t seed);

  [[nodiscard]] int size() const { return offsets_.back(); }
  [[nodiscard]] int count() const { return static_cast<int>(offsets_.size()) - 1; }
  /// First index of block `b`; offset(count()) is size().
  [[nodiscard]] int offset(int b) const { return offsets_[static_cast<std::size_t>(b)]; }
  [[nodiscard]] int extent(int b) const { return offset(b + 1) - offset(b); }
  [[nodiscard]] int largest_extent() const;
  /// The block that holds `index`. Cost: O(log count()).
  [[nodiscard]] int block_of(int index) const;

 private:
  explicit BlockPartition(std::vector<int> offsets) : offsets_(std::move(offsets)) {}

  std::vector<int> offsets_;  // count() + 1 of them, ascending, from 0
};

}  // namespace apps
