#pragma once
// The factors of the matrix products, and the check of a product.

#include <shoal/shoal.hpp>

#include <cstdint>
#include <vector>

#include "common/block_partition.hpp"
#include "common/tile_table.hpp"

namespace apps {

/// Two random square matrices A and B, of which any block can be made on any rank.
class RandomFactors {
 public:
  /// `blank`: tiles have a size and no values, for dry runs.
  RandomFactors(const BlockPartition& partition, std::uint64_t seed, bool blank)
      : partition_(partition), seed_(seed), blank_(blank) {}

  /// The tile (i, j) of A and of B.
  [[nodiscard]] Tile a(int i, int j) const;
  [[nodiscard]] Tile b(int i, int j) const;
  /// All tiles of A in the row i of tiles.
  [[nodiscard]] Tile row_of_a(int i) const;
  /// All tiles of B in the column j of tiles.
  [[nodiscard]] Tile column_of_b(int j) const;

 private:
  const BlockPartition& partition_;
  std::uint64_t seed_;
  bool blank_;
};

/// A set of tiles: all (i, j) with i in rows and j in columns.
struct TileRange {
  std::vector<int> rows;
  std::vector<int> columns;
};

/// ||C - A B||_F / (||A||_F ||B||_F), where each rank has the tiles `own` of C in its table. The
/// reference is computed anew, with the whole sum over k in one call of BLAS per tile, so that it
/// shares neither the order of summation nor any message with the result.
/// Blocks: collective. Cost: as many flops as the product itself.
double product_error(shoal::World& world, const RandomFactors& factors,
                     const BlockPartition& partition, const TileRange& own, const TileTable& c);

}  // namespace apps
