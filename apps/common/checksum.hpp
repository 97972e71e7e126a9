#pragma once
// A 64-bit hash of the bits of a matrix that does not depend on the distribution of its tiles.

#include <cstdint>

#include "common/tile.hpp"

namespace apps {

/// Hash of the bits of the tile (i, j). The checksum of a matrix is the sum (modulo 2^64) over its
/// tiles: the position is part of each hash, so the order in which they are added does not matter.
[[nodiscard]] std::uint64_t checksum(const Tile& tile, int i, int j);

}  // namespace apps
