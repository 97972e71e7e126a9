#include "common/block_partition.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "common/input_error.hpp"
#include "common/random_matrix.hpp"

namespace apps {
namespace {

void check_sizes(int size, int block) {
  if (size < 1) throw InputError(fmt::format("the matrix size must be at least 1, not {}", size));
  if (block < 1) throw InputError(fmt::format("the tile size must be at least 1, not {}", block));
}

/// Changes `extents`, except the one at `fixed`, by ones within [low, high] until they sum to
/// `size`. Terminates, because such a sum exists: low * count <= size <= high * count, and `fixed`
/// was chosen to leave at least `low` for each other block.
void adjust_sum(std::vector<int>& extents, std::size_t fixed, int size, int low, int high) {
  int surplus = -size;
  for (const int extent : extents) surplus += extent;
  for (std::size_t b = 0; surplus != 0; b = (b + 1) % extents.size()) {
    if (b == fixed) continue;
    const int step = surplus > 0 ? -1 : 1;
    if (extents[b] + step < low || extents[b] + step > high) continue;
    extents[b] += step;
    surplus += step;
  }
}

}  // namespace

BlockPartition BlockPartition::uniform(int size, int block) {
  check_sizes(size, block);
  std::vector<int> offsets;
  for (std::int64_t offset = 0; offset < size; offset += block) {
    offsets.push_back(static_cast<int>(offset));
  }
  offsets.push_back(size);
  return BlockPartition(std::move(offsets));
}

BlockPartition BlockPartition::random(int size, int block, double rho, std::uint64_t seed) {
  check_sizes(size, block);
  if (!(rho >= 1 && rho <= 2)) {
    throw InputError(fmt::format("the ratio of random block sizes must be in 1..2, not {}", rho));
  }
  const int count = uniform(size, block).count();
  if (count == 1) return uniform(size, block);
  const double average = static_cast<double>(size) / count;
  const int low = std::max(1, static_cast<int>((2 - rho) * average));
  const int high = static_cast<int>(std::ceil(rho * average));

  std::vector<int> extents;
  for (int b = 0; b < count; ++b) {
    const double factor = 2 - rho + 2 * (rho - 1) * random_unit(seed, b, count);
    extents.push_back(std::clamp(static_cast<int>(std::lround(factor * average)), low, high));
  }
  const auto largest = std::max_element(extents.begin(), extents.end());
  *largest = std::min(high, size - low * (count - 1));
  adjust_sum(extents, static_cast<std::size_t>(largest - extents.begin()), size, low, high);

  std::vector<int> offsets{0};
  for (const int extent : extents) offsets.push_back(offsets.back() + extent);
  return BlockPartition(std::move(offsets));
}

int BlockPartition::largest_extent() const {
  int largest = 0;
  for (int b = 0; b < count(); ++b) largest = std::max(largest, extent(b));
  return largest;
}

int BlockPartition::block_of(int index) const {
  const auto after = std::upper_bound(offsets_.begin(), offsets_.end(), index);
  return static_cast<int>(after - offsets_.begin()) - 1;
}

}  // namespace apps
