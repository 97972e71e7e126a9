#include "common/checksum.hpp"

#include <bit>

#include "common/random_matrix.hpp"

namespace apps {

std::uint64_t checksum(const Tile& tile, int i, int j) {
  std::uint64_t hash = mix_bits(static_cast<std::uint64_t>(i)) ^ static_cast<std::uint64_t>(j);
  for (const double value : tile.values()) {
    hash = mix_bits(hash ^ std::bit_cast<std::uint64_t>(value));
  }
  return hash;
}

}  // namespace apps
