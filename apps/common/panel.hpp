#pragma once
// Many tiles as one dense matrix, and back.

#include "common/block_partition.hpp"
#include "common/random_factors.hpp"
#include "common/tile_table.hpp"

namespace apps {

/// The tiles of `range`, which are all in the table, side by side.
Tile assemble(const TileTable& tiles, const BlockPartition& partition, const TileRange& range);

/// Copies the parts of `panel` into the tiles of `range`, which are all in the table.
void scatter(const Tile& panel, TileTable& tiles, const BlockPartition& partition,
             const TileRange& range);

}  // namespace apps
